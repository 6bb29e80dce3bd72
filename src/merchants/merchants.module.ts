import { Module } from '@nestjs/common';
import { Reads, TimeZones } from '../platform/database/reads.js';
import { MerchantsService } from './merchants.service.js';
import { PolicyController } from './policy.controller.js';

const TIME_ZONES = { provide: TimeZones, useExisting: MerchantsService };

@Module({
  controllers: [PolicyController],
  providers: [MerchantsService, TIME_ZONES, Reads],
  exports: [MerchantsService, Reads],
})
export class MerchantsModule {}
