import { Global, Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { AuthModule } from '../auth/auth.module.js';
import { CashbackModule } from '../cashback/cashback.module.js';
import { EventsModule } from '../events/events.module.js';
import { MerchantsModule } from '../merchants/merchants.module.js';
import { OrdersModule } from '../orders/orders.module.js';
import { Clock } from '../platform/values/time.js';
import { ReportsModule } from '../reports/reports.module.js';
import { ClockLocks, SandboxClock } from './clock-locks.service.js';
import { ClockMoves } from './clock-moves.service.js';
import { SandboxMerchants } from './sandbox-merchants.service.js';
import { SandboxClockController, SandboxMerchantsController, StandingClockInterceptor } from './sandbox.controller.js';

const PROVIDERS = [SandboxClock, { provide: Clock, useExisting: SandboxClock }, ClockLocks];

/** In place of `ClockModule`. */
@Global()
@Module({ providers: PROVIDERS, exports: PROVIDERS })
export class SandboxClockModule {}

/** What only a sandbox has: merchants for everybody, and a clock for each of them. */
@Module({
  imports: [SandboxClockModule, AuthModule, MerchantsModule, OrdersModule, CashbackModule, EventsModule, ReportsModule],
  controllers: [SandboxMerchantsController, SandboxClockController],
  providers: [ClockMoves, SandboxMerchants, { provide: APP_INTERCEPTOR, useClass: StandingClockInterceptor }],
})
export class SandboxModule {}
