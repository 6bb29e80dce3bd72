import { Global, Module } from '@nestjs/common';
import { Clock } from '../common/clock.js';
import { ClockLocks } from './clock-locks.service.js';
import { SandboxClock } from './sandbox-clock.js';

const PROVIDERS = [SandboxClock, { provide: Clock, useExisting: SandboxClock }, ClockLocks];

/** In place of `ClockModule`. */
@Global()
@Module({ providers: PROVIDERS, exports: PROVIDERS })
export class SandboxClockModule {}
