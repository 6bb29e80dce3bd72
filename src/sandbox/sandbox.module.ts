import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { ApiUsersModule } from '../auth/api-users.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { EventsModule } from '../events/events.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { ReportsModule } from '../reports/reports.module.js';
import { ClockMoves } from './clock-moves.service.js';
import { SandboxClockModule } from './sandbox-clock.module.js';
import { SandboxMerchants } from './sandbox-merchants.service.js';
import { SandboxClockController, SandboxMerchantsController } from './sandbox.controller.js';
import { StandingClockInterceptor } from './standing-clock.interceptor.js';

/** What only a sandbox has: merchants for everybody, and a clock for each of them. */
@Module({
  imports: [
    SandboxClockModule,
    ApiUsersModule,
    MerchantsModule,
    OrdersModule,
    CashbackModule,
    EventsModule,
    ReportsModule,
  ],
  controllers: [SandboxMerchantsController, SandboxClockController],
  providers: [ClockMoves, SandboxMerchants, { provide: APP_INTERCEPTOR, useClass: StandingClockInterceptor }],
})
export class SandboxModule {}
