import { Global, Module } from '@nestjs/common';
import { KnownCallers } from './known-callers.js';
import { RequestQueues } from './request-queues.js';
import { Uploads } from './uploads.js';

/** What the guards of `AppModule` share. */
@Global()
@Module({ providers: [KnownCallers, RequestQueues, Uploads], exports: [KnownCallers, RequestQueues, Uploads] })
export class HttpModule {}
