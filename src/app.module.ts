import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AccessTokenGuard, PermissionGuard } from './auth/caller.guard.js';
import { AuthModule } from './auth/auth.module.js';
import { ClockModule } from './common/clock.js';
import { type Config, ConfigModule } from './config/config.js';
import { DatabaseModule, REQUEST_QUERY_TIMEOUT_MS } from './database/database.module.js';
import { EventsModule } from './events/events.module.js';
import { HttpModule } from './http/http.module.js';
import { Admission } from './http/admission.js';
import { BodyGuard } from './http/body.js';
import { HealthModule } from './health/health.module.js';
import { PrivacyModule } from './privacy/privacy.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { RateLimitGuard } from './rate-limits/rate-limit.guard.js';
import { RateLimitsModule } from './rate-limits/rate-limits.module.js';
import { ReconcileModule } from './reconcile/reconcile.module.js';
import { ReportsModule } from './reports/reports.module.js';
import { SandboxModule } from './sandbox/sandbox.module.js';
import { SCHEMA } from './schema.js';
import { SweepsModule } from './sweeps/sweeps.module.js';
import { TracingModule } from './tracing/tracing.js';
import { WalletsModule } from './wallets/wallets.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** The guards of every route, in the order in which they run. A body can take ten seconds. */
const GUARDS = [AccessTokenGuard, RateLimitGuard, PermissionGuard, BodyGuard, AccessTokenGuard, PermissionGuard];

@Module({})
export class AppModule {
  static with(config: Readonly<Config>): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        config.SANDBOX ? SandboxModule : ClockModule,
        DatabaseModule.with(SCHEMA, REQUEST_QUERY_TIMEOUT_MS),
        HttpModule,
        RateLimitsModule,
        AuthModule,
        OrdersModule,
        WalletsModule,
        EventsModule,
        PrivacyModule,
        WebhooksModule,
        ReportsModule,
        SweepsModule,
        HealthModule,
        MetricsModule,
        ReconcileModule,
        TracingModule,
      ],
      providers: [
        ...GUARDS.map((useClass) => ({ provide: APP_GUARD, useClass })),
        { provide: APP_INTERCEPTOR, useExisting: Admission },
      ],
    };
  }
}
