import { Module } from '@nestjs/common';
import { MerchantsService } from './merchants.service.js';
import { PolicyController } from './policy.controller.js';

@Module({ controllers: [PolicyController], providers: [MerchantsService], exports: [MerchantsService] })
export class MerchantsModule {}
