import { differingMetadata } from '../common/metadata.js';
import { differing, type Fault } from '../common/problem.js';
import type { RequestedOrder } from './order-content.js';
import type { Order, OrderPaymentMethod } from './order.entity.js';
import { defaultExpiry } from './order-status.js';

/** The part of an order that decides whether a request is a replay. */
type OrderContent = Omit<RequestedOrder, 'externalId'> & Expiry;
type Expiry = Pick<Order, 'requestedExpiresAt' | 'expiresAt' | 'policy' | 'createdAt'>;

/** Returns the members in which two requests with the same `external_id` differ. `"150"` and `"150.00"` are equal. */
export function differences(sent: RequestedOrder, existing: OrderContent): Fault[] {
  return [
    ...compared('/document', sent.document, existing.document),
    ...compared('/total', sent.totalCents, existing.totalCents),
    ...differingEligibleTotal(sent, existing),
    ...differingLists('/items', sent.items, existing.items, {
      id: 'id',
      priceCents: 'price',
      description: 'description',
      quantity: 'quantity',
    }),
    ...differingPaymentMethods(sent.paymentMethods, existing.paymentMethods),
    ...differingMetadata(sent.metadata, existing.metadata).map(differing),
    ...differingExpiry(sent.requestedExpiresAt, existing),
  ];
}

type Totals = Pick<RequestedOrder, 'totalCents' | 'eligibleTotalCents'>;

/** The default is the total: it equals the same amount in `eligible_total`, and does not differ where `total` does. */
function differingEligibleTotal(sent: Totals, existing: Totals): Fault[] {
  const effective = ({ totalCents, eligibleTotalCents }: Totals): number => eligibleTotalCents ?? totalCents;
  const isSame = sent.eligibleTotalCents === existing.eligibleTotalCents;
  return isSame ? [] : compared('/eligible_total', effective(sent), effective(existing));
}

/** A request may repeat the expiry that the order was created with, or have its current one, or none. */
export function differingExpiry(
  sent: Date | null,
  { requestedExpiresAt, expiresAt, policy, createdAt }: Expiry,
): Fault[] {
  const first = requestedExpiresAt ?? defaultExpiry(policy, createdAt);
  const isSame = sent === null || [first, expiresAt].some((known) => known.getTime() === sent.getTime());
  return isSame ? [] : [differing('/expires_at')];
}

export function differingPaymentMethods(
  sent: readonly OrderPaymentMethod[],
  existing: readonly OrderPaymentMethod[],
): Fault[] {
  return differingLists('/payment_methods', sent, existing, { id: 'id', amountCents: 'amount' });
}

function compared(pointer: string, sent: unknown, existing: unknown): Fault[] {
  return sent === existing ? [] : [differing(pointer)];
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
    names.flatMap(([member, name]) => compared(`${pointer}/${at}/${name}`, element[member], existing[at]?.[member])),
  );
}

/** Returns the content of a new order for its digest. Equivalent contents are equal. */
export function digestedContent(order: RequestedOrder): unknown[] {
  const { externalId, document, totalCents, eligibleTotalCents, items, paymentMethods } = order;
  return [
    externalId,
    document,
    totalCents,
    eligibleTotalCents,
    items.map(({ id, priceCents, description = null, quantity = 1 }) => [id, priceCents, description, quantity]),
    paymentMethods.map(({ id, amountCents }) => [id, amountCents]),
    order.requestedExpiresAt,
    order.metadata && Object.entries(order.metadata),
  ];
}
