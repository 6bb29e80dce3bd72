import { isDeepStrictEqual } from 'node:util';
import { type WalletSums } from '../../cashback/wallet-sums.js';
import { type CustomerChange } from '../../orders/customer-change.entity.js';
import { defaultExpiry } from '../../orders/order-content.js';
import { createdEvent, orderEvent } from '../../orders/order-events.js';
import { type OrderDto } from '../../orders/order.dto.js';
import { Order, type OrderChange } from '../../orders/order.entity.js';
import { type Refund } from '../../orders/refund.entity.js';
import { type OrderEventType } from '../../platform/values/domain-event.js';
import { type OrderEvent, type OrderRecord } from './order-record.js';

/** What the data of an event says. That of a creation says nothing of the wallet. */
interface Said {
  order: OrderDto;
  refund?: { id: string };
  wallet?: SaidWallet;
  previous_wallet?: SaidWallet;
}
type SaidWallet = Record<'id' | 'available' | 'pending' | 'held' | 'debt', string>;

/**
 * Whether the events of an order are its versions, from the last one, which is the order's row, back to the first one.
 * The rows say what each version since the completion was. An earlier one must agree with itself and with the versions
 * beside it. Events that happened before `kept_since` may have been deleted.
 */
export function eventsAreVersions({ order, row, refunds, change, events }: OrderRecord): boolean {
  if (order.updatedAt < row.kept_since) return true;
  const least = order.createdAt < row.kept_since ? 1 : order.version;
  if (events.length < least || events.length > order.version) return false;
  const said = events.map(({ data }) => JSON.parse(data) as Said);
  let version = order;
  let walletId = row.wallet_id;
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at]!;
    const refund = refunds.find(({ id }) => id === said[at]!.refund?.id);
    if (said[at]!.order.version !== version.version) return false;
    if (version.version === 1) return at === 0 && isCreation(event, said[at]!, version);
    const { type, made_by: madeBy } = event;
    const moved = changedCustomer(change, version, said[at]!);
    const wallet = sumsIn(said[at]!.wallet!, walletId);
    const changed = { type, madeBy, order: version, wallet, ...(refund && { refund }), ...moved } as OrderChange;
    const { data } = orderEvent(changed);
    const isAtOnce = [version.updatedAt, refund?.createdAt].every(
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
function isPossible({ type, order, wallet, previousWallet }: OrderChange): boolean {
  const { status, version, completedVersion, cancelledAt, heldCents } = order;
  const hold = heldCents > 0 ? 'order.redemption_held' : 'order.redemption_released';
  const types: OrderEventType[] =
    completedVersion !== null && previousWallet !== undefined
      ? ['order.customer_changed']
      : completedVersion !== null
        ? [version === completedVersion + 1 ? 'order.completed' : 'order.refunded']
        : cancelledAt !== null
          ? ['order.cancelled']
          : status === 'expired'
            ? ['order.expired']
            : ['order.amended', 'order.renewed', hold];
  const hasPaidDebt = wallet.debtCents === 0 || wallet.availableCents + wallet.pendingCents === 0;
  return types.includes(type) && hasPaidDebt && wallet.heldCents >= heldCents;
}

function isByItsAuthor({ type, madeBy, order, refund }: OrderChange, change: CustomerChange | undefined): boolean {
  if (type === 'order.customer_changed') return madeBy === change?.createdBy;
  if (type === 'order.completed') return madeBy === order.completedBy;
  if (type === 'order.cancelled') return madeBy === order.cancelledBy;
  if (refund !== undefined) return madeBy === refund.createdBy;
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
  const refundedCents = version.refundedCents - refund.amountCents;
  return Object.assign(new Order(), version, number, {
    status: refundedCents === 0 ? 'completed' : 'partially_refunded',
    refundedCents,
    refundedEligibleCents: version.refundedEligibleCents - refund.eligibleCents,
    returnedCents: version.returnedCents - refund.returnedCents,
    takenBackCents: version.takenBackCents - refund.takenBackCents,
    keptCents: version.keptCents + refund.dueCents,
  });
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

function sumsIn({ available, pending, held, debt }: SaidWallet, walletId: string | null): WalletSums {
  return {
    id: walletId ?? 'none',
    availableCents: centsOf(available),
    pendingCents: centsOf(pending),
    heldCents: centsOf(held),
    debtCents: centsOf(debt),
  };
}

/** An amount in an event has two decimals, and can be larger than that of a request. */
const centsOf = (amount: string): number => Number(amount.replace('.', ''));
