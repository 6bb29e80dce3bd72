import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { derivedKeys } from '../config/signing-secrets.js';
import type { RequestedOrder } from './order-input.js';

/**
 * Digests of the content that orders were created with. They recognize a replay after the document was erased from the
 * order. A plain hash could be reversed by trying all documents, so the digest uses a key that is not in the database.
 */
@Injectable()
export class ContentDigests {
  /** The key of the current secret comes first. */
  readonly #keys: [KeyObject, ...KeyObject[]];

  constructor(config: Config) {
    this.#keys = derivedKeys(config, 'cashback order content');
  }

  /** Returns the digest of an order's content, 32 bytes. Equivalent contents have the same digest. */
  of(content: RequestedOrder): Buffer {
    return digest(this.#keys[0], content);
  }

  /** Returns whether the digest is that of the content. */
  matches(content: RequestedOrder, expected: Buffer | null): boolean {
    return expected !== null && this.#keys.some((key) => timingSafeEqual(digest(key, content), expected));
  }
}

/**
 * Members are in a fixed order, because the database reorders JSON members. Members that earlier releases did not have
 * are absent by default, so that the digests of those releases still match.
 */
function digest(key: KeyObject, order: RequestedOrder): Buffer {
  const { externalId, document, totalCents, eligibleTotalCents, items, paymentMethods, requestedExpiry } = order;
  const content = [
    externalId,
    document,
    totalCents,
    items.map(({ id, priceCents, description, quantity = 1 }) => [
      id,
      priceCents,
      description ?? null,
      ...(quantity === 1 ? [] : [quantity]),
    ]),
    paymentMethods.map(({ id, amountCents }) => [id, amountCents]),
    ...(requestedExpiry === undefined ? [] : [requestedExpiry.toISOString()]),
    ...(eligibleTotalCents === null ? [] : [{ eligibleTotalCents }]),
  ];
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}
