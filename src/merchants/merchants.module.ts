import { Module } from '@nestjs/common';
import { Reads, TimeZones } from '../platform/database/reads.js';
import { MerchantsService } from './merchants.service.js';
import { CampaignsService } from './campaigns.service.js';
import { CampaignsController, PolicyController } from './policy.controller.js';

const TIME_ZONES = { provide: TimeZones, useExisting: MerchantsService };

@Module({
  controllers: [PolicyController, CampaignsController],
  providers: [MerchantsService, CampaignsService, TIME_ZONES, Reads],
  exports: [MerchantsService, CampaignsService, Reads],
})
export class MerchantsModule {}
