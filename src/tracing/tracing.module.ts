import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { finishTracing } from './tracing.js';

/** Sends the remaining spans at shutdown, after all requests have been answered. */
@Module({})
export class TracingModule implements OnApplicationShutdown {
  onApplicationShutdown(): Promise<void> {
    return finishTracing();
  }
}
