import { createHmac, hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { RateLimitPolicy } from './policies.js';

/**
 * The keys of counters. The store gets an HMAC instead of the parts: addresses and emails are few enough to be guessed
 * behind a plain hash.
 */
@Injectable()
export class CounterKeys {
  readonly #secret: Buffer;

  constructor(config: Config) {
    this.#secret = Buffer.from(hkdfSync('sha256', config.JWT_SECRET, '', 'cashback rate limits', 32));
  }

  /**
   * @param parts what is counted, such as a user and a network; as JSON no two lists of parts look alike.
   * @returns 64 hexadecimal digits.
   */
  of({ name }: RateLimitPolicy, ...parts: string[]): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify([name, ...parts]))
      .digest('hex');
  }
}
