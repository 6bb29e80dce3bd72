import { createHmac, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { derivedKeys } from '../config/signing-secrets.js';
import type { RateLimitPolicy } from './policies.js';

/**
 * The keys of counters. They are HMACs, because a plain hash of an address or an email can be reversed by trying all
 * candidates.
 */
@Injectable()
export class CounterKeys {
  /** The key of the signing secret comes first. */
  readonly #secrets: [KeyObject, ...KeyObject[]];

  constructor(config: Config) {
    this.#secrets = derivedKeys(config, 'cashback rate limits');
  }

  /**
   * Returns the key, followed by those that instances with another JWT_SECRET use for the same subject: 64 hexadecimal
   * digits each.
   *
   * @param parts the subject that is counted, such as a user and a network.
   */
  all({ name }: RateLimitPolicy, ...parts: string[]): [string, ...string[]] {
    const text = JSON.stringify([name, ...parts]);
    const [current, ...previous] = this.#secrets;
    const keyWith = (secret: KeyObject): string => createHmac('sha256', secret).update(text).digest('hex');
    return [keyWith(current), ...previous.map(keyWith)];
  }
}
