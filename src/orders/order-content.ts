import { after, MINUTE_MS } from '../platform/values/time.js';
import { type Metadata, readMetadata } from '../platform/values/texts.js';
import { formatMoney, parseMoney, sumCents } from '../platform/values/money.js';
import { differing, type Fault, Problem, validationFailed } from '../platform/values/problem.js';
import type { Policy } from '../merchants/policy.js';
import type { RequestedRefund } from '../cashback/refund-parts.js';
import type { CreateOrderDto, OrderContentDto, PaymentMethodDto } from './order-requests.dto.js';
import type { OrderStatus } from './order-transitions.js';
import type { Refund } from './refund.entity.js';

/** An item as the client sent it, with money in centavos. */
export interface OrderItem {
  id: string;
  priceCents: number;
  description?: string;
  /** Absent for 1. */
  quantity?: number;
}

export interface OrderPaymentMethod {
  id: string;
  amountCents: number;
}

/** The part of an order that an amendment replaces. As in its column, an absent member is null. */
interface AmendableContent {
  store: string | null;
  totalCents: number;
  /** Null if the whole total is eligible. */
  eligibleTotalCents: number | null;
  /** Null if the policy's rates decide. */
  earnAmountCents: number | null;
  items: OrderItem[];
  paymentMethods: OrderPaymentMethod[];
  metadata: Metadata | null;
}

/** What replaces the content; the document stays if it is left out. */
export type AmendedContent = AmendableContent & { document?: string };

/** The part of an order that comes from the request. */
export interface RequestedOrder extends AmendableContent {
  externalId: string;
  document: string;
  requestedExpiresAt: Date | null;
  /** When it was sold; null if the request does not say it. */
  soldAt: Date | null;
}

/**
 * Reads a request whose members have been validated individually.
 *
 * @throws Problem payments_exceed_total; validation_failed for a `sold_at` of an order that is not completed.
 */
export function readOrder(request: CreateOrderDto): RequestedOrder {
  if (request.sold_at !== undefined && request.complete === undefined)
    throw validationFailed([{ pointer: '/sold_at', detail: 'belongs to a sale in one request: send complete, too' }]);
  return {
    externalId: request.external_id,
    document: request.document,
    ...readContent(request),
    requestedExpiresAt: readInstant(request.expires_at),
    soldAt: readInstant(request.sold_at),
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
    store: request.store ?? null,
    totalCents,
    eligibleTotalCents: readEligibleTotal(request.eligible_total, totalCents),
    earnAmountCents: readOptional(request.earn_amount),
    items: request.items.map(({ id, price, description, quantity }) => ({
      id,
      priceCents: parseMoney(price),
      ...(description !== undefined && { description }),
      ...(quantity !== undefined && quantity !== 1 && { quantity }),
    })),
    paymentMethods: readPaymentMethods(request.payment_methods ?? [], totalCents),
    metadata: readMetadata(request.metadata),
  };
}

/** @returns null if the member is left out. */
export const readInstant = (instant: string | undefined): Date | null =>
  instant === undefined ? null : new Date(instant);

/** @returns centavos; null if the member is left out. */
export const readOptional = (amount: string | undefined): number | null =>
  amount === undefined ? null : parseMoney(amount);

/** @returns centavos; null if the whole total is eligible, so that an omitted member equals the total. */
export function readEligibleTotal(eligibleTotal: string | undefined, totalCents: number): number | null {
  const eligibleTotalCents = eligibleTotal === undefined ? totalCents : parseMoney(eligibleTotal);
  return eligibleTotalCents === totalCents ? null : eligibleTotalCents;
}

/**
 * Reads payment methods. A rule of the policy cannot be checked here: at creation a replay comes first, and an existing
 * order keeps its own policy.
 *
 * @throws Problem payments_exceed_total.
 */
export function readPaymentMethods(methods: readonly PaymentMethodDto[], totalCents: number): OrderPaymentMethod[] {
  const read = parsePaymentMethods(methods);
  refusePaymentsAbove(totalCents, read, 0);
  return read;
}

export function parsePaymentMethods(methods: readonly PaymentMethodDto[]): OrderPaymentMethod[] {
  return methods.map(({ id, amount }) => ({ id, amountCents: parseMoney(amount) }));
}

/**
 * @param redeemedCents what is redeemed, if that is known: only a completion knows it.
 * @throws Problem payments_exceed_total.
 */
export function refusePaymentsAbove(
  totalCents: number,
  methods: readonly OrderPaymentMethod[],
  redeemedCents: number,
): void {
  const paidCents = sumCents(methods.map(({ amountCents }) => amountCents));
  if (paidCents + redeemedCents <= totalCents) return;
  const redeemed = formatMoney(redeemedCents);
  const maximum = `must add up to at most ${formatMoney(totalCents - redeemedCents)}`;
  const detail = redeemedCents === 0 ? maximum : `${maximum} if ${redeemed} is redeemed`;
  throw new Problem('payments_exceed_total', {
    total: formatMoney(totalCents),
    redeemed,
    payments: formatMoney(paidCents),
    errors: [{ pointer: '/payment_methods', detail }],
  });
}

/**
 * What decides whether a request is a replay, apart from its expiry. Its digest is stored, so a new member is appended,
 * and only where an order has it: an order that has none keeps the digest that it had.
 */
export function contentOf(order: Omit<RequestedOrder, 'requestedExpiresAt' | 'soldAt'>) {
  return {
    external_id: order.externalId,
    document: order.document,
    total: order.totalCents,
    eligible_total: order.eligibleTotalCents,
    earn_amount: order.earnAmountCents,
    items: order.items.map(({ id, priceCents, description = null, quantity = 1 }) => {
      return { id, price: priceCents, description, quantity };
    }),
    payment_methods: paymentMethodsOf(order.paymentMethods),
    metadata: order.metadata ?? {},
    store: order.store,
  };
}

/** What decides whether payment methods are the same. */
export const paymentMethodsOf = (methods: readonly OrderPaymentMethod[]) =>
  methods.map(({ id, amountCents }) => ({ id, amount: amountCents }));

interface StoredExpiry {
  requestedExpiresAt: Date | null;
  expiresAt: Date;
  policy: Policy;
  createdAt: Date;
}

/** A request may repeat the expiry that the order was created with, or have its current one, or none. */
export function differingExpiry(
  sent: Date | null,
  { requestedExpiresAt, expiresAt, policy, createdAt }: StoredExpiry,
): Fault[] {
  const first = requestedExpiresAt ?? defaultExpiry(policy, createdAt);
  const isSame = sent === null || [first, expiresAt].some((known) => +known === +sent);
  return isSame ? [] : [differing('/expires_at')];
}

/** The shortest time for which an order can be pending. */
const SHORTEST_LIFETIME_MINUTES = 1;

export function defaultExpiry(policy: Policy, now: Date): Date {
  return after(now, policy.orderTtlMinutes * MINUTE_MS);
}

export function expiryProblem(expiresAt: Date, { maxOrderTtlMinutes }: Policy, now: Date): Problem | undefined {
  const [first, last] = [after(now, SHORTEST_LIFETIME_MINUTES * MINUTE_MS), after(now, maxOrderTtlMinutes * MINUTE_MS)];
  if (expiresAt >= first && expiresAt <= last) return undefined;
  const bounds = `from ${first.toISOString()} to ${last.toISOString()}`;
  const detail = `must be from ${SHORTEST_LIFETIME_MINUTES} to ${maxOrderTtlMinutes} minutes in the future: ${bounds}`;
  return validationFailed([{ pointer: '/expires_at', detail }]);
}

/** What of an order decides its next expiry. */
type Expiring = Pick<StoredExpiry, 'expiresAt' | 'policy'> & { status: OrderStatus; lapsedCents: number };

/** Whether an expired order had exactly this hold: a request that is repeated after its own `expires_at`. */
export function hadHold({ status, expiresAt, lapsedCents }: Expiring, cents: number, requested?: Date): boolean {
  const isSame = requested !== undefined && +requested === +expiresAt;
  return status === 'expired' && isSame && cents === lapsedCents;
}

/** @throws Problem validation_failed if the requested expiry is out of bounds. */
export function newExpiry({ status, expiresAt, policy }: Expiring, requested: Date | undefined, now: Date): Date {
  const isExpired = status === 'expired';
  if (requested === undefined) return isExpired ? defaultExpiry(policy, now) : expiresAt;
  // A repeated request can come later than one minute before the instant that it sets.
  const isRepeated = !isExpired && +requested === +expiresAt;
  const problem = isRepeated ? undefined : expiryProblem(requested, policy, now);
  if (problem !== undefined) throw problem;
  return requested;
}

export type Versions = readonly string[] | undefined;

/** Who changes an order, and the versions that they allow to change; undefined allows any. */
export interface Origin {
  by: string;
  versions: Versions;
}

/** What a refund is for. What comes back decides its amounts, if it is not null. */
export type AskedRefund = RequestedRefund & Pick<Refund, 'returned'>;

/** A refund that a request asks for. */
export type SentRefund = AskedRefund & Pick<Refund, 'externalId' | 'reason' | 'store' | 'metadata'>;

/** What a completion asks for; by default, the hold and the payment methods of the order. */
export interface Completion {
  redeemCents: number | undefined;
  paymentMethods: OrderPaymentMethod[] | undefined;
}

/** What a new order has of all that can happen to it. */
export const NOTHING_YET = {
  status: 'pending',
  version: 1,
  finalPaymentMethods: null,
  heldCents: 0,
  lapsedCents: 0,
  redeemedCents: 0,
  earnedCents: 0,
  refundedCents: 0,
  refundedEligibleCents: 0,
  returnedCents: 0,
  takenBackCents: 0,
  keptCents: 0,
  lostCents: 0,
  completedVersion: null,
  completedAt: null,
  completedBy: null,
  cancelledAt: null,
  cancelledBy: null,
  cancelReason: null,
  customerChangedAt: null,
  customerChangedBy: null,
  customerChangeReason: null,
  cashbackAvailableAt: null,
  cashbackExpiresAt: null,
} as const;
