import { Global, Injectable, Module } from '@nestjs/common';

/** The only source of the current time, so that tests can control it. */
@Injectable()
export class Clock {
  /**
   * @param _merchantId whose orders, cashback and days are dated. Without it, the time is the service's own: that of
   *   tokens, limits, leases, sweeps and logs.
   */
  now(_merchantId?: string): Date {
    return new Date();
  }
}

@Global()
@Module({ providers: [Clock], exports: [Clock] })
export class ClockModule {}

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms);
}
