import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { formatMoney, parseMoney, sumCents } from '../common/money.js';
import { type Fault, Problem } from '../common/problem.js';
import { Config } from '../config/config.js';
import { derivedKeys } from '../config/signing-secrets.js';
import type { CreateOrderDto, OrderContentDto, PaymentMethodDto } from './dto/create-order.dto.js';
import type { Order, OrderPaymentMethod } from './order.entity.js';

/** The part of an order that an amendment replaces. */
export type AmendableContent = Pick<Order, 'totalCents' | 'eligibleTotalCents' | 'items' | 'paymentMethods'>;

/** The part of an order that comes from the request. */
export interface RequestedOrder extends AmendableContent, Pick<Order, 'externalId' | 'document'> {
  /** When the order is to expire, if the caller says so. */
  requestedExpiry?: Date;
}

/**
 * Reads a request whose members have been validated individually.
 *
 * @throws Problem payments_exceed_total.
 */
export function readOrder(request: CreateOrderDto): RequestedOrder {
  return {
    externalId: request.external_id,
    document: request.document,
    ...readContent(request),
    ...(typeof request.expires_at === 'string' && { requestedExpiry: new Date(request.expires_at) }),
  };
}

/**
 * Reads the content of an order. Its members have been validated individually.
 *
 * @throws Problem payments_exceed_total.
 */
export function readContent(request: OrderContentDto): AmendableContent {
  const totalCents = parseMoney(request.total);
  return {
    totalCents,
    eligibleTotalCents: readEligibleTotal(request.eligible_total, totalCents),
    items: request.items.map(({ id, price, description, quantity }) => ({
      id,
      priceCents: parseMoney(price),
      ...(typeof description === 'string' && { description }),
      ...(typeof quantity === 'number' && quantity !== 1 && { quantity }),
    })),
    paymentMethods: readPaymentMethods(request.payment_methods, totalCents),
  };
}

/** @returns centavos; null if the whole total is eligible, so that an omitted member equals the total. */
function readEligibleTotal(eligibleTotal: string | null | undefined, totalCents: number): number | null {
  const eligibleTotalCents = typeof eligibleTotal === 'string' ? parseMoney(eligibleTotal) : totalCents;
  return eligibleTotalCents === totalCents ? null : eligibleTotalCents;
}

/** @throws Problem payments_exceed_total. */
export function readPaymentMethods(methods: readonly PaymentMethodDto[], totalCents: number): OrderPaymentMethod[] {
  const read = methods.map(({ id, amount }) => ({ id, amountCents: parseMoney(amount) }));
  const paidCents = sumCents(read.map(({ amountCents }) => amountCents));
  if (paidCents > totalCents) {
    const detail = `the payment methods add up to ${formatMoney(paidCents)}, which exceeds the total of ${formatMoney(totalCents)}`;
    throw new Problem('payments_exceed_total', {
      detail,
      errors: [{ pointer: '/payment_methods', detail: `must add up to at most ${formatMoney(totalCents)}` }],
    });
  }
  return read;
}

/** The part of an order that decides whether a request is a replay. */
type OrderContent = Pick<
  Order,
  'document' | 'totalCents' | 'eligibleTotalCents' | 'items' | 'paymentMethods' | 'expiresAt'
>;

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
    ...(sent.requestedExpiry ? differing('/expires_at', +sent.requestedExpiry, +existing.expiresAt) : []),
  ];
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

/** Members are in a fixed order, because the database reorders JSON members. */
function digest(key: KeyObject, order: RequestedOrder): Buffer {
  const { externalId, document, totalCents, eligibleTotalCents, items, paymentMethods, requestedExpiry } = order;
  const content = [
    externalId,
    document,
    totalCents,
    eligibleTotalCents,
    items.map(({ id, priceCents, description = null, quantity = 1 }) => [id, priceCents, description, quantity]),
    paymentMethods.map(({ id, amountCents }) => [id, amountCents]),
    requestedExpiry ?? null,
  ];
  return createHmac('sha256', key).update(JSON.stringify(content)).digest();
}
