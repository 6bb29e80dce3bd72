import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { differingMetadata } from '../common/metadata.js';
import type { Fault } from '../common/problem.js';
import { Config } from '../config/config.js';
import { derivedKeys } from '../config/signing-secrets.js';
import type { RequestedOrder } from './order-content.js';
import type { Order, OrderPaymentMethod } from './order.entity.js';

/** The part of an order that decides whether a request is a replay. */
type OrderContent = Omit<RequestedOrder, 'externalId'> & Pick<Order, 'expiresAt'>;

const DIFFERS = 'differs from the earlier request';

/** Returns the members in which two requests with the same `external_id` differ. `"150"` and `"150.00"` are equal. */
export function differences(sent: RequestedOrder, existing: OrderContent): Fault[] {
  return [
    ...differing('/document', sent.document, existing.document),
    ...differing('/total', sent.totalCents, existing.totalCents),
    ...differing('/eligible_total', sent.eligibleTotalCents, existing.eligibleTotalCents),
    ...differingLists('/items', sent.items, existing.items, {
      id: 'id',
      priceCents: 'price',
      description: 'description',
      quantity: 'quantity',
    }),
    ...differingPaymentMethods(sent.paymentMethods, existing.paymentMethods),
    ...differingMetadata(sent.metadata, existing.metadata).map((pointer) => ({ pointer, detail: DIFFERS })),
    ...differingExpiry(sent.requestedExpiresAt, existing),
  ];
}

/** A request may repeat the expiry that the order was created with, or have its current one, or none. */
function differingExpiry(sent: Date | null, { requestedExpiresAt, expiresAt }: OrderContent): Fault[] {
  const isSame = sent === null || [requestedExpiresAt, expiresAt].some((known) => known?.getTime() === sent.getTime());
  return isSame ? [] : [{ pointer: '/expires_at', detail: DIFFERS }];
}

/** Returns the members in which two lists of payment methods differ. */
export function differingPaymentMethods(
  sent: readonly OrderPaymentMethod[],
  existing: readonly OrderPaymentMethod[],
): Fault[] {
  return differingLists('/payment_methods', sent, existing, { id: 'id', amountCents: 'amount' });
}

function differing(pointer: string, sent: unknown, existing: unknown): Fault[] {
  return sent === existing ? [] : [{ pointer, detail: DIFFERS }];
}

/** @param members the members to compare, each with its name in JSON. */
function differingLists<T extends object>(
  pointer: string,
  sent: readonly T[],
  existing: readonly T[],
  members: { [K in keyof Required<T>]: string },
): Fault[] {
  if (sent.length !== existing.length)
    return [{ pointer, detail: `has ${sent.length} elements; the earlier request had ${existing.length}` }];
  const names = Object.entries(members) as [keyof T, string][];
  return sent.flatMap((element, at) =>
    names.flatMap(([member, name]) => differing(`${pointer}/${at}/${name}`, element[member], existing[at]?.[member])),
  );
}

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
  matches(content: RequestedOrder, expected: Buffer): boolean {
    return this.#keys.some((key) => timingSafeEqual(digest(key, content), expected));
  }
}

/**
 * Members are in a fixed order, because the database reorders JSON members. Stored digests must stay valid, so a new
 * member is appended, and only where an order has it.
 */
function digest(key: KeyObject, order: RequestedOrder): Buffer {
  const { externalId, document, totalCents, eligibleTotalCents, items, paymentMethods } = order;
  const content = [
    externalId,
    document,
    totalCents,
    eligibleTotalCents,
    items.map(({ id, priceCents, description = null, quantity = 1 }) => [id, priceCents, description, quantity]),
    paymentMethods.map(({ id, amountCents }) => [id, amountCents]),
    order.requestedExpiresAt,
    order.metadata && Object.entries(order.metadata),
  ];
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}
