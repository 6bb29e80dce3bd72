import { createHmac, hkdfSync } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { signingSecrets } from '../config/signing-secrets.js';
import type { RateLimitPolicy } from './policies.js';

/**
 * The keys of counters. The store gets an HMAC instead of the parts: addresses and emails are few enough to be guessed
 * behind a plain hash.
 */
@Injectable()
export class CounterKeys {
  /** The one of the secret that signs comes first. */
  readonly #secrets: [Buffer, ...Buffer[]];

  constructor(config: Config) {
    const [current, ...previous] = signingSecrets(config);
    this.#secrets = [keyFrom(current), ...previous.map(keyFrom)];
  }

  /**
   * @param parts what is counted, such as a user and a network; as JSON no two lists of parts look alike.
   * @returns 64 hexadecimal digits.
   */
  of(policy: RateLimitPolicy, ...parts: string[]): string {
    return this.all(policy, ...parts)[0];
  }

  /** The key, and then those under which instances with another JWT_SECRET count the same. */
  all({ name }: RateLimitPolicy, ...parts: string[]): [string, ...string[]] {
    const text = JSON.stringify([name, ...parts]);
    const [current, ...previous] = this.#secrets;
    const keyWith = (secret: Buffer): string => createHmac('sha256', secret).update(text).digest('hex');
    return [keyWith(current), ...previous.map(keyWith)];
  }
}

function keyFrom(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'cashback rate limits', 32));
}
