import { Module } from '@nestjs/common';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { ReportsController } from './reports.controller.js';
import { SumsService } from './sums.service.js';

/** Reports over all customers of a merchant, and the sums that they read. */
@Module({
  imports: [MerchantsModule],
  controllers: [ReportsController],
  providers: [SumsService],
  exports: [SumsService],
})
export class ReportsModule {}
