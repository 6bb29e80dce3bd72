import { Global, Module } from '@nestjs/common';
import { KnownCallers } from './known-callers.js';
import { RequestQueues } from './request-queues.js';

/** What the guards of `AppModule` share. */
@Global()
@Module({ providers: [KnownCallers, RequestQueues], exports: [KnownCallers, RequestQueues] })
export class HttpModule {}
