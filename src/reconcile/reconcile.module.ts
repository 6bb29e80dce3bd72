import { Module } from '@nestjs/common';
import { ReconcileService } from './reconcile.service.js';

@Module({ providers: [ReconcileService], exports: [ReconcileService] })
export class ReconcileModule {}
