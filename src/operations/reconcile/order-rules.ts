import { isDeepStrictEqual } from 'node:util';
import { cashbackToReceive } from '../../cashback/earned.js';
import { earnAmountProblem, redeemableMaximum } from '../../cashback/quote.js';
import { validityOf } from '../../cashback/validity.js';
import { type WalletSums } from '../../cashback/wallet-sums.js';
import { type CustomerChange } from '../../orders/customer-change.entity.js';
import { defaultExpiry, type OrderPaymentMethod } from '../../orders/order-content.js';
import { lateSince } from '../../orders/late-sales.js';
import { createdEvent, orderEvent } from '../../orders/order-events.js';
import { type OrderDto } from '../../orders/order.dto.js';
import { Order, type OrderChange } from '../../orders/order.entity.js';
import { afterRefund } from '../../orders/refund-voids.js';
import { NOT_VOIDED } from '../../platform/database/voidable.js';
import { type Refund } from '../../orders/refund.entity.js';
import { type OrderEventType } from '../../platform/values/domain-event.js';
import { sumCents } from '../../platform/values/money.js';
import { after, HOUR_MS, MINUTE_MS } from '../../platform/values/time.js';
import { type OrderEvent, type OrderRecord } from './order-record.js';
import { type Finding } from './page.js';
import { isVoided, refundsFollow, returnsAreInReverse } from './refund-rules.js';

/** A rule of an order and of the rows that belong to it. */
type Rule = (order: Order, record: OrderRecord) => boolean;

const ORDER_RULES: Record<string, Rule> = {
  'an order belongs to an existing merchant': (_, { row }) => row.existing_merchant_id !== null,

  'only completed orders have completed_at and completed_by, and only cancelled orders have cancelled_at, cancelled_by and perhaps a reason':
    (o) =>
      (o.completedAt !== null) === o.wasCompleted &&
      (o.completedBy !== null) === o.wasCompleted &&
      (o.cancelledAt !== null) === (o.status === 'cancelled') &&
      (o.cancelledBy !== null) === (o.status === 'cancelled') &&
      (o.cancelReason === null || o.status === 'cancelled'),

  'an order is created at the instant of its ID, and expires within the bounds of its policy': (o) =>
    isMadeAt(o) && expiresWithinBounds(o),

  'an order changes after its creation, last when it is cancelled, completed or refunded': changesInOrder,

  'each refund is a version after the completed one, as is its void, and version 1 is a pending order that did not change':
    (o, { refunds, change }) => {
      const later = refunds.length + refunds.filter(isVoided).length + (change === undefined ? 0 : 1);
      return o.wasCompleted
        ? o.version === Number(o.completedVersion) + 1 + later && Number(o.completedVersion) >= 1
        : o.completedVersion === null &&
            (o.version === 1 ? o.status === 'pending' && +o.updatedAt === +o.createdAt : o.version > 1);
    },

  'a refund was undone after it was made, by somebody': (_, { refunds }) =>
    refunds.every(({ createdAt, voidedAt, voidedBy, voidReason }) =>
      voidedAt === null ? voidedBy === null && voidReason === null : voidedBy !== null && voidedAt >= createdAt,
    ),

  'the payment methods add up to at most the total, and only a completed order has final ones': (o) =>
    paidCents(o.paymentMethods) <= o.totalCents &&
    (o.finalPaymentMethods === null ||
      (o.wasCompleted && paidCents(o.finalPaymentMethods) + o.redeemedCents <= o.totalCents)),

  'the eligible total is less than the total, or left out': (o) =>
    o.eligibleTotalCents === null || (o.eligibleTotalCents >= 0 && o.eligibleTotalCents < o.totalCents),

  'the status matches the refunded amount': (o) =>
    (o.refundedCents > 0 ? (o.refundedCents === o.totalCents ? 'refunded' : 'partially_refunded') : null) ===
    (['partially_refunded', 'refunded'].includes(o.status) ? o.status : null),

  'what an order held, redeemed or lost when it expired is within the limits of its policy, and fits its status': (o) =>
    [o.heldCents, o.redeemedCents, o.lapsedCents].every((cents) => cents >= 0 && cents <= redeemableCents(o)) &&
    (o.heldCents === 0 || o.status === 'pending') &&
    (o.lapsedCents === 0 || o.status === 'expired') &&
    (o.redeemedCents === 0 || o.wasCompleted),

  'a completed order earned the amount of the formula, and all other orders earned nothing': (o) =>
    o.earnedCents ===
    (o.wasCompleted ? cashbackToReceive({ ...o, paymentMethods: o.effectivePaymentMethods }, o.policy).earnedCents : 0),

  'a completed order has the dates of its policy, and no other order has any': (o) => {
    const { cashbackAvailableAt: availableAt, cashbackExpiresAt: expiresAt } = o;
    if (o.completedAt === null) return availableAt === null && expiresAt === null;
    const expected = validityOf(o.policy, o.completedAt, lateSince(o.soldAt, o.createdAt));
    return isSameDay(availableAt, expected.availableAt) && isSameDay(expiresAt, expected.expiresAt);
  },

  "a correction of a customer has the order's merchant and wallet, and the order has its instant": (
    o,
    { row, change },
  ) =>
    change === undefined
      ? o.customerChangedAt === null && o.customerChangedBy === null && o.customerChangeReason === null
      : change.merchantId === o.merchantId &&
        change.walletId === row.wallet_id &&
        +change.createdAt === Number(o.customerChangedAt) &&
        change.createdBy === o.customerChangedBy,

  'a completed order has a wallet, and a credit of the earned amount with its dates if it earned anything': (
    o,
    { row, change },
  ) =>
    (row.wallet_id !== null || !o.wasCompleted) &&
    (row.credit_wallet_id === null
      ? (change?.movedCents ?? o.earnedCents) === 0
      : row.credit_wallet_id === row.wallet_id &&
        row.credit_cents === (change?.movedCents ?? o.earnedCents) &&
        +row.credit_created_at! === Number(change?.createdAt ?? o.completedAt) &&
        +row.credit_available_at! === Number(o.cashbackAvailableAt) &&
        +row.credit_expires_at! === Number(o.cashbackExpiresAt)),

  'the amounts that an order holds, redeemed, earned, returned and took back are the sums of its holds, entries and claims':
    (o, { row }) =>
      o.heldCents === row.holds_cents &&
      o.redeemedCents === row.redeem_entries &&
      o.earnedCents === row.earn_entries &&
      o.returnedCents === row.return_entries &&
      o.takenBackCents === row.take_back_entries + Number(row.credit_claimed_cents),

  'what an order refunded, returned and took back are the sums of its refunds that stand': (o, { refunds }) => {
    const standing = refunds.filter((refund) => !isVoided(refund));
    const sumOf = (amount: (refund: Refund) => number): number => sumCents(standing.map(amount));
    return (
      o.refundedCents === sumOf((refund) => refund.amountCents) &&
      o.refundedEligibleCents === sumOf((refund) => refund.eligibleCents) &&
      o.returnedCents === sumOf((refund) => refund.returnedCents) &&
      o.takenBackCents === sumOf((refund) => refund.takenBackCents)
    );
  },

  'each refund has the amounts of its items and the eligible part, returned and took back what the formulas say, and what is left of the earned cashback follows':
    refundsFollow,

  'an order asks to earn at most the share of its policy': (o) => earnAmountProblem(o, o.policy) === undefined,

  'what refunds return goes to the credits that the order redeemed from, latest expiry first, and for seven days to a new credit':
    returnsAreInReverse,

  'each version of an order has one event of its type, which says the same as the rows': eventsAreVersions,
};

/** Returns the rules that an order breaks. A rule that throws an error counts as broken. */
export function* brokenRules(record: OrderRecord): Generator<Finding> {
  for (const [invariant, holds] of Object.entries(ORDER_RULES)) {
    let error: string | undefined;
    try {
      if (holds(record.order, record)) continue;
    } catch (thrown) {
      error = String(thrown);
    }
    const { order_id, status, ...others } = record.row;
    const isFigure = (value: unknown): boolean => typeof value === 'number' || value instanceof Date;
    const figures = Object.entries(others).filter(([, value]) => isFigure(value));
    yield { invariant, order_id, status, ...Object.fromEntries(figures), ...(error !== undefined && { error }) };
  }
}

const paidCents = (methods: readonly OrderPaymentMethod[]): number =>
  sumCents(methods.map(({ amountCents }) => amountCents));

/** The balance at that instant is unknown, but the other limits are known. */
const redeemableCents = (order: Order): number => redeemableMaximum(order, null, order.policy).maximumCents;

/** A UUID v7 begins with its instant. */
const isMadeAt = ({ id, createdAt }: Order): boolean =>
  id[14] !== '7' || parseInt(id.slice(0, 8) + id.slice(9, 13), 16) === +createdAt;

function expiresWithinBounds({ createdAt, updatedAt, expiresAt, requestedExpiresAt, version, policy }: Order): boolean {
  const isWithin = (at: Date, last: Date): boolean =>
    at >= after(createdAt, MINUTE_MS) && at <= after(last, mostMinutes * MINUTE_MS);
  const mostMinutes = Math.max(policy.orderTtlMinutes, policy.maxOrderTtlMinutes) + 1;
  const firstExpiry = requestedExpiresAt ?? defaultExpiry(policy, createdAt);
  return (
    isWithin(firstExpiry, createdAt) && isWithin(expiresAt, updatedAt) && (version > 1 || +expiresAt === +firstExpiry)
  );
}

function changesInOrder(o: Order, { refunds, change }: OrderRecord): boolean {
  const later = [...refunds, ...(change === undefined ? [] : [change])];
  const instants = [...later.map(({ createdAt }) => +createdAt), ...refunds.map(({ voidedAt }) => Number(voidedAt))];
  const changedAt = Math.max(0, ...instants);
  const last = o.cancelledAt ?? (later.length > 0 ? changedAt : o.completedAt);
  return (
    o.updatedAt >= o.createdAt &&
    (last === null || +last === +o.updatedAt) &&
    (o.completedAt === null || (o.completedAt >= o.createdAt && o.completedAt <= o.updatedAt)) &&
    (o.status !== 'expired' || o.updatedAt >= o.expiresAt)
  );
}

/**
 * Returns whether two instants are the beginning of the same day. A country can change its daylight saving time after
 * the first one was computed, and days then start an hour earlier or later.
 */
const isSameDay = (actual: Date | null, expected: Date): boolean =>
  actual !== null && [0, HOUR_MS].includes(Math.abs(+actual - +expected));

/** What the data of an event says. That of a creation says nothing of the wallet. */
interface Said {
  order: OrderDto;
  refund?: { id: string };
  wallet?: SaidWallet;
  previous_wallet?: SaidWallet;
}
type SaidWallet = Record<'id' | 'available' | 'pending' | 'held' | 'debt', string> & { frozen?: boolean };

/**
 * Whether the events of an order are its versions, from the last one, which is the order's row, back to the first one.
 * The rows say what each version since the completion was. An earlier one must agree with itself and with the versions
 * beside it. Events that happened before `kept_since` may have been deleted.
 */
function eventsAreVersions(order: Order, { row, refunds, change, events }: OrderRecord): boolean {
  if (order.updatedAt < row.kept_since) return true;
  const least = order.createdAt < row.kept_since ? 1 : order.version;
  if (events.length < least || events.length > order.version) return false;
  const said = events.map(({ data }) => JSON.parse(data) as Said);
  let version = order;
  let walletId = row.wallet_id;
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at]!;
    if (said[at]!.order.version !== version.version) return false;
    if (version.version === 1) return at === 0 && isCreation(event, said[at]!, version);
    const { type, made_by: madeBy } = event;
    const refund = asOf(
      type,
      refunds.find(({ id }) => id === said[at]!.refund?.id),
    );
    const moved = changedCustomer(change, version, said[at]!);
    const wallet = sumsIn(said[at]!.wallet!, walletId);
    const changed = { type, madeBy, order: version, wallet, ...(refund && { refund }), ...moved } as OrderChange;
    const { data } = orderEvent(changed);
    const isAtOnce = [version.updatedAt, refund?.voidedAt ?? refund?.createdAt].every(
      (date) => +(date ?? event.occurred_at) === +event.occurred_at,
    );
    if (!isAtOnce || !isPossible(changed) || !isByItsAuthor(changed, change) || !agrees(said[at], data)) return false;
    if (at === 0) return true;
    const before = versionBefore(version, said[at - 1]!.order, refund, version.version === change?.version);
    if (!follows(version, before, changed.type)) return false;
    version = before;
    if (moved.previousWallet !== undefined) walletId = moved.previousWallet.id;
    // Before an amendment, it may have been another customer's.
    if (type === 'order.amended') walletId = said[at - 1]!.wallet?.id ?? walletId;
  }
  return true;
}

/** A refund as the event of its creation or void has it. */
const asOf = (type: string, refund: Refund | undefined): Refund | undefined =>
  refund && (type === 'order.refunded' ? { ...refund, ...NOT_VOIDED } : refund);

/** What the event of a correction of the customer says besides. */
function changedCustomer(change: CustomerChange | undefined, { version }: Order, { previous_wallet: said }: Said) {
  if (change?.version !== version || said === undefined) return { previousWallet: undefined };
  return { previousWallet: sumsIn(said, change.previousWalletId) };
}

/** Whether an event says what the first version of an order was. */
function isCreation({ type, made_by, occurred_at: occurredAt }: OrderEvent, said: Said, order: Order): boolean {
  const { createdAt, createdBy, updatedAt, expiresAt, requestedExpiresAt, policy } = order;
  const isFirst = +expiresAt === +(requestedExpiresAt ?? defaultExpiry(policy, createdAt)) && order.heldCents === 0;
  const isAtOnce = +occurredAt === +createdAt && +updatedAt === +createdAt;
  return (
    type === 'order.created' && made_by === createdBy && isFirst && isAtOnce && agrees(said, createdEvent(order).data)
  );
}

/** Whether an event says only what is expected. It may say less, as events of an earlier release do. */
function agrees(said: unknown, expected: unknown): boolean {
  if (expected instanceof Date) return said === expected.toISOString();
  if (typeof said !== 'object' || said === null) return said === expected;
  if (typeof expected !== 'object' || expected === null) return false;
  if (Array.isArray(said) && said.length !== (expected as unknown[]).length) return false;
  return Object.entries(said).every(([name, value]) => agrees(value, (expected as Record<string, unknown>)[name]));
}

/** Of an order that stays pending, only the request tells an amendment from a hold. */
function isPossible({ type, order, wallet, previousWallet, refund }: OrderChange): boolean {
  const { status, version, completedVersion, cancelledAt, heldCents } = order;
  const hold = heldCents > 0 ? 'order.redemption_held' : 'order.redemption_released';
  const types: OrderEventType[] =
    completedVersion !== null && previousWallet !== undefined
      ? ['order.customer_changed']
      : completedVersion !== null
        ? [version === completedVersion + 1 ? 'order.completed' : refundEvent(version, refund)]
        : cancelledAt !== null
          ? ['order.cancelled']
          : status === 'expired'
            ? ['order.expired']
            : ['order.amended', 'order.renewed', hold];
  const hasPaidDebt = wallet.debtCents === 0 || wallet.availableCents + wallet.pendingCents === 0;
  return types.includes(type) && hasPaidDebt && wallet.heldCents >= heldCents;
}

/** Its creation made the version of a refund, and its void a later one. */
const refundEvent = (version: number, refund: Refund | undefined): OrderEventType =>
  refund === undefined || refund.version === version ? 'order.refunded' : 'order.refund_voided';

function isByItsAuthor({ type, madeBy, order, refund }: OrderChange, change: CustomerChange | undefined): boolean {
  if (type === 'order.customer_changed') return madeBy === change?.createdBy;
  if (type === 'order.completed') return madeBy === order.completedBy;
  if (type === 'order.cancelled') return madeBy === order.cancelledBy;
  if (refund !== undefined) return madeBy === (refund.voidedBy ?? refund.createdBy);
  return (madeBy === null) === (type === 'order.expired');
}

/** Whether only that has changed between two versions which an event of this type changes. */
function follows(version: Order, before: Order, type: OrderChange['type']): boolean {
  const held = { before: before.heldCents, after: version.heldCents };
  // Events have neither items nor metadata.
  const isSameContent =
    version.totalCents === before.totalCents &&
    version.eligibleTotalCents === before.eligibleTotalCents &&
    version.earnAmountCents === before.earnAmountCents &&
    version.store === before.store &&
    isDeepStrictEqual(version.paymentMethods, before.paymentMethods);
  const isSameExpiry = +version.expiresAt === +before.expiresAt;
  switch (type) {
    case 'order.amended':
      return isSameExpiry && held.after <= held.before;
    case 'order.redemption_held':
    case 'order.redemption_released':
      return isSameContent && held.after !== held.before;
    case 'order.renewed':
      return isSameContent && held.after === held.before;
    case 'order.expired':
      return isSameContent && isSameExpiry && version.lapsedCents === held.before;
    case 'order.completed':
    case 'order.cancelled':
    case 'order.refunded':
    case 'order.refund_voided':
    case 'order.customer_changed':
      return isSameContent && isSameExpiry;
  }
}

/** What an order is not before it is completed or cancelled. */
const OPEN: Partial<Order> = {
  finalPaymentMethods: null,
  redeemedCents: 0,
  earnedCents: 0,
  keptCents: 0,
  lostCents: 0,
  completedVersion: null,
  completedAt: null,
  cancelledAt: null,
  customerChangedAt: null,
  cashbackAvailableAt: null,
  cashbackExpiresAt: null,
};

/** The version before one, by the rows after a completion, and otherwise by its own event. */
function versionBefore(version: Order, said: OrderDto, refund: Refund | undefined, isMoved: boolean): Order {
  const number = { version: version.version - 1, updatedAt: new Date(said.updated_at) };
  if (isMoved) return Object.assign(new Order(), version, number, { lostCents: 0, customerChangedAt: null });
  if (refund === undefined) return Object.assign(new Order(), version, OPEN, { ...number, ...stateIn(said) });
  // Before its void, the refund stood.
  const before = afterRefund(version, refund, isVoided(refund) ? 'made' : 'undone');
  const isWhole = before.refundedCents === version.totalCents;
  const status = before.refundedCents === 0 ? 'completed' : isWhole ? 'refunded' : 'partially_refunded';
  return Object.assign(new Order(), version, number, { status, ...before });
}

/** What an event says of an open order, apart from what follows from that. */
function stateIn(said: OrderDto): Partial<Order> {
  const { status, store, total, eligible_total, earn_amount, payment_methods, cashback, expires_at } = said;
  return {
    store,
    status: status === 'expired' ? status : 'pending',
    totalCents: centsOf(total),
    eligibleTotalCents: eligible_total === total ? null : centsOf(eligible_total),
    earnAmountCents: earn_amount === null ? null : centsOf(earn_amount),
    paymentMethods: payment_methods.map(({ id, amount }) => ({ id, amountCents: centsOf(amount) })),
    heldCents: centsOf(cashback.to_redeem.held),
    lapsedCents: status === 'expired' ? centsOf(cashback.to_redeem.lapsed) : 0,
    expiresAt: new Date(expires_at),
  };
}

function sumsIn({ available, pending, held, debt, frozen = false }: SaidWallet, walletId: string | null): WalletSums {
  return {
    id: walletId ?? 'none',
    availableCents: centsOf(available),
    pendingCents: centsOf(pending),
    heldCents: centsOf(held),
    debtCents: centsOf(debt),
    frozen,
  };
}

/** An amount in an event has two decimals, and can be larger than that of a request. */
const centsOf = (amount: string): number => Number(amount.replace('.', ''));
