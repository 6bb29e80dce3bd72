import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { signingSecrets } from '../config/signing-secrets.js';
import type { RequestedOrder } from './order-input.js';

/**
 * Digests of the content that orders were created with. They recognize a replay once the order no longer has the
 * document. There are few enough documents to try them all, so the digest needs a key that is not in the database.
 */
@Injectable()
export class ContentDigests {
  readonly #current: Buffer;
  readonly #accepted: readonly Buffer[];

  constructor(config: Config) {
    const [current, ...previous] = signingSecrets(config);
    this.#current = keyFrom(current);
    this.#accepted = [this.#current, ...previous.map(keyFrom)];
  }

  /** Returns the digest of an order's content, 32 bytes. Contents that mean the same have the same digest. */
  of(content: RequestedOrder): Buffer {
    return digest(this.#current, content);
  }

  /** Returns whether a digest is of that content. */
  matches(content: RequestedOrder, expected: Buffer | null): boolean {
    return expected !== null && this.#accepted.some((key) => timingSafeEqual(digest(key, content), expected));
  }
}

function keyFrom(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'cashback order content', 32));
}

/** Members in a fixed order, as the database keeps JSON in an order of its own. */
function digest(key: Buffer, { externalId, document, totalCents, items, paymentMethods }: RequestedOrder): Buffer {
  const content = [
    externalId,
    document,
    totalCents,
    items.map(({ id, priceCents, description }) => [id, priceCents, description ?? null]),
    paymentMethods.map(({ id, amountCents }) => [id, amountCents]),
  ];
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}
