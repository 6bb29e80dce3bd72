import { Global, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { KnownCallers } from './known-callers.js';
import { RequestBodyInterceptor } from './request-body.interceptor.js';
import { RequestQueueGuard } from './request-queue.guard.js';
import { RequestQueues } from './request-queues.js';

/** What happens around every handler. It is imported before the module of the access token, as guards run in that order. */
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
