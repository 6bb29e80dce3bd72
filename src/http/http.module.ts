import { Global, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { KnownCallers } from './known-callers.js';
import { RequestBodyInterceptor } from './request-body.interceptor.js';
import { RequestQueueGuard } from './request-queue.guard.js';
import { RequestQueues } from './request-queues.js';

/** Guards and interceptors of every route. Imported before `AuthModule`, because guards run in the order of imports. */
@Global()
@Module({
  providers: [
    KnownCallers,
    RequestQueues,
    { provide: APP_GUARD, useClass: RequestQueueGuard },
    { provide: APP_INTERCEPTOR, useClass: RequestBodyInterceptor },
  ],
  exports: [RequestQueues],
})
export class HttpModule {}
