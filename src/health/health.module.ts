import { Module } from '@nestjs/common';
import { DatabaseKind } from './database-kind.js';
import { Drain } from './drain.js';
import { HealthController } from './health.controller.js';

@Module({ controllers: [HealthController], providers: [DatabaseKind, Drain] })
export class HealthModule {}
