import type { FeedEventType } from '../../../src/platform/values/domain-event.js';
import { FEED_EVENT_TYPES } from '../../../src/platform/values/domain-event.js';
import { ORDER_OPERATIONS } from '../../../src/platform/values/problem.js';
import { ORDER_STATUSES } from '../../../src/orders/order-transitions.js';
import type { Credit, Debit, FeedEvent, Order } from '../shop.js';
import { ACTS, type Act, type Step } from './steps.js';

/** The pages of scenarios: each is about one kind of policy. */
export const FAMILIES = ['at-once', 'later', 'limits', 'time-zones'] as const;

/** A pending order that holds cashback counts as a status of its own. */
const STATUSES = [...ORDER_STATUSES, 'pending with a hold'] as const;

/** What an order lists, and what it does not: a sale in one request, and the undoing of a refund. */
const OPERATIONS = [...ORDER_OPERATIONS, 'sell', 'void_refund'] as const;
const NEW = 'new';

const REFUNDABLE = ['completed', 'partially_refunded'];

/** What a refund is, and what it meets. */
export const REFUND_KINDS = [
  ...['a part', 'all at once', 'the rest', 'items', 'an eligible_amount', 'a take_back'],
  ...['what it earned has expired', 'returns a new credit', 'what had returned has expired', 'leaves a debt'],
  'claims what is held',
] as const;
type RefundKind = (typeof REFUND_KINDS)[number];

/** Kinds that an order in the other status cannot have. */
const ONLY: Partial<Record<RefundKind, string>> = {
  'all at once': 'completed',
  'the rest': 'partially_refunded',
  'what had returned has expired': 'partially_refunded',
};

/** What a refund that is undone was, and what keeps a refund from being undone. */
const UNDONE_KINDS = [
  ...REFUND_KINDS,
  ...['another one follows', 'after a later one', 'repays a debt of another one'],
  ...['later_change', 'repaid_debt', 'debt', 'returned_cashback', 'taken_cashback'],
];

/** What a debit takes, and what it meets. */
const DEBIT_KINDS = ['what is available', 'what is pending', 'beside what is held', 'less than it asks for'] as const;
const REFUSED_DEBITS = ['more than there is', 'although there is nothing', 'beside a debt'] as const;
/** What the void of a debit restores. */
const RESTORED = ['all', 'a part', 'nothing', 'what repays a debt', 'what is claimed', 'more, later'] as const;

const ACT_NAMES = Object.keys(ACTS).filter((act) => act !== 'move');
const CAUSES = [...new Set(ACT_NAMES.map((act) => causeOf(act as Act))), 'a date', 'a repeated request'];

/** `release` is a hold of nothing, and `renew` one of an expired order or with another `expires_at`. */
export function causeOf(act: Act): string {
  return ACTS[act] ?? act;
}

const ofOrder = (operation: string, status: string, family: string): string =>
  `${operation} of an order that is ${status}, ${family}`;
const ofRefund = (kind: string, status: string, family: string): string =>
  `refund of an order that is ${status}, ${family}: ${kind}`;
const ofEvent = (type: string, cause: string): string => `${type} by ${cause}`;
const ofUndone = (kind: string): string => `undoing a refund: ${kind}`;
const ofDebit = (kind: string): string => `a debit: ${kind}`;
const ofRestored = (kind: string): string => `the void of a debit restores: ${kind}`;
const ofFrozen = (cause: string): string => `${cause} while the wallet is frozen`;
const ofRepeat = (act: string): string => `${act}, repeated`;

/** All that scenarios can visit. */
export function allSituations(): string[] {
  const orders = FAMILIES.flatMap((family) =>
    STATUSES.flatMap((status) => OPERATIONS.map((operation) => ofOrder(operation, status, family))),
  );
  const sales = FAMILIES.map((family) => ofOrder('sell', NEW, family));
  const refunds = FAMILIES.flatMap((family) =>
    REFUNDABLE.flatMap((status) =>
      REFUND_KINDS.filter((kind) => (ONLY[kind] ?? status) === status).map((kind) => ofRefund(kind, status, family)),
    ),
  );
  const events = FEED_EVENT_TYPES.flatMap((type) => CAUSES.map((cause) => ofEvent(type, cause)));
  const others = [
    ...UNDONE_KINDS.map(ofUndone),
    ...[...DEBIT_KINDS, ...REFUSED_DEBITS].map(ofDebit),
    ...RESTORED.map(ofRestored),
    ...new Set(ACT_NAMES.map((act) => ofFrozen(causeOf(act as Act)))),
    ...ACT_NAMES.map(ofRepeat),
  ];
  return [...orders, ...sales, ...refunds, ...events, ...others];
}

/** What the scenarios of a family have visited. */
export class Visits {
  constructor(
    private readonly visited: Set<string>,
    private readonly family: string,
  ) {}

  act(act: Act, isRepeated: boolean, order: Order | undefined, kinds: readonly string[]): void {
    if (isRepeated) this.visited.add(ofRepeat(act));
    const operation = ACTS[act];
    if (operation === 'sell' && order === undefined) this.visited.add(ofOrder(operation, NEW, this.family));
    if (operation === undefined || order === undefined) return;
    const isHolding = order.status === 'pending' && order.cashback.to_redeem.held !== '0.00';
    const status = isHolding ? 'pending with a hold' : order.status;
    if (!isRepeated) this.visited.add(ofOrder(operation, status, this.family));
    for (const kind of kinds) this.visited.add(ofRefund(kind, status, this.family));
  }

  undone(kinds: readonly string[]): void {
    for (const kind of kinds) this.visited.add(ofUndone(kind));
  }

  debit(kinds: readonly (typeof DEBIT_KINDS | typeof REFUSED_DEBITS)[number][]): void {
    for (const kind of kinds) this.visited.add(ofDebit(kind));
  }

  restored(kinds: readonly (typeof RESTORED)[number][]): void {
    for (const kind of kinds) this.visited.add(ofRestored(kind));
  }

  frozen(act: Act): void {
    this.visited.add(ofFrozen(causeOf(act)));
  }

  event(type: FeedEventType, cause: string): void {
    this.visited.add(ofEvent(type, cause));
  }
}

/** What a customer has, in centavos: what no order holds, what orders hold, and the debt. */
export interface Sums {
  available: bigint;
  pending: bigint;
  held: bigint;
  debt: bigint;
}

interface Refunded {
  options: Step['options'];
  before: Order;
  after: Order;
  /** The new credits that refunds of the order made, spent and expired since or not. */
  returned: Credit[];
  events: FeedEvent[];
  /** How much more is claimed of what orders hold. */
  claimed: bigint;
  now: string;
}

/** What a refund is. */
export function kindsOf({ options, before, after, returned, events, claimed, now }: Refunded): string[] {
  const isFirst = before.status === 'completed';
  const { amount, expires_at } = before.cashback.to_receive;
  const kinds: [RefundKind, boolean][] = [
    ['a part', after.status === 'partially_refunded'],
    ['all at once', isFirst && after.status === 'refunded'],
    ['the rest', !isFirst && after.status === 'refunded'],
    ['items', options.items !== undefined],
    ['an eligible_amount', options.eligible !== undefined],
    ['a take_back', options.taking !== undefined],
    ['what it earned has expired', amount !== '0.00' && expires_at! <= now],
    ['returns a new credit', returned.some(({ available_at }) => available_at === now)],
    ['what had returned has expired', returned.some(({ expires_at }) => expires_at <= now)],
    ['leaves a debt', events.some(({ type, data }) => type === 'wallet.debt_changed' && !data.change!.startsWith('-'))],
    ['claims what is held', claimed > 0n],
  ];
  return namesOf(kinds);
}

/** What a debit takes. */
export function kindsOfDebit(debit: Debit, before: Sums, after: Sums): (typeof DEBIT_KINDS)[number][] {
  return namesOf([
    ['what is available', after.available < before.available],
    ['what is pending', after.pending < before.pending],
    ['beside what is held', before.held > 0n],
    ['less than it asks for', debit.amount !== debit.requested_amount],
  ]);
}

/** Why a debit is refused. */
export function kindOfRefusedDebit({ debt }: Sums, maximum: string): (typeof REFUSED_DEBITS)[number] {
  if (debt > 0n) return 'beside a debt';
  return maximum === '0.00' ? 'although there is nothing' : 'more than there is';
}

/** What the void of a debit restores. @param amount how much that is in centavos, with what is taken at once */
export function kindsOfRestored(
  amount: bigint,
  debit: Debit,
  isFirst: boolean,
  before: Sums,
  after: Sums,
): (typeof RESTORED)[number][] {
  const repaid = before.debt - after.debt;
  const free = after.available + after.pending - before.available - before.pending;
  return namesOf([
    ['all', amount > 0n && debit.restored === debit.amount],
    ['a part', amount > 0n && debit.restored !== debit.amount],
    ['nothing', amount === 0n],
    ['what repays a debt', repaid > 0n],
    ['what is claimed', amount > free + repaid],
    ['more, later', !isFirst && amount > 0n],
  ]);
}

const namesOf = <Name>(kinds: [Name, boolean][]): Name[] => kinds.filter(([, is]) => is).map(([name]) => name);
