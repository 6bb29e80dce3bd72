import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { finishTracing } from './tracing.js';

/** By the time this is called, every request has been answered. */
@Module({})
export class TracingModule implements OnApplicationShutdown {
  onApplicationShutdown(): Promise<void> {
    return finishTracing();
  }
}
