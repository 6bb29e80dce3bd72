import type { FeedEventType } from '../../../src/platform/values/domain-event.js';
import { FEED_EVENT_TYPES } from '../../../src/platform/values/domain-event.js';
import { ORDER_OPERATIONS } from '../../../src/platform/values/problem.js';
import { ORDER_STATUSES } from '../../../src/orders/order-transitions.js';
import type { Credit, FeedEvent, Order } from '../shop.js';
import { ACTS, type Act, type Step } from './steps.js';

/** The pages of scenarios: each is about one kind of policy. */
export const FAMILIES = ['at-once', 'later', 'limits', 'time-zones'] as const;

/** A pending order that holds cashback counts as a status of its own. */
const STATUSES = [...ORDER_STATUSES, 'pending with a hold'] as const;

const REFUNDABLE = ['completed', 'partially_refunded'];

/** What a refund is, and what it meets. */
export const REFUND_KINDS = [
  ...['a part', 'all at once', 'the rest', 'items', 'an eligible_amount', 'a take_back'],
  ...['what it earned has expired', 'returns a new credit', 'what had returned has expired', 'leaves a debt'],
] as const;
type RefundKind = (typeof REFUND_KINDS)[number];

/** Kinds that an order in the other status cannot have. */
const ONLY: Partial<Record<RefundKind, string>> = {
  'all at once': 'completed',
  'the rest': 'partially_refunded',
  'what had returned has expired': 'partially_refunded',
};

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
const ofRepeat = (act: string): string => `${act}, repeated`;

/** All that scenarios can visit. */
export function allSituations(): string[] {
  const orders = FAMILIES.flatMap((family) =>
    STATUSES.flatMap((status) => ORDER_OPERATIONS.map((operation) => ofOrder(operation, status, family))),
  );
  const refunds = FAMILIES.flatMap((family) =>
    REFUNDABLE.flatMap((status) =>
      REFUND_KINDS.filter((kind) => (ONLY[kind] ?? status) === status).map((kind) => ofRefund(kind, status, family)),
    ),
  );
  const events = FEED_EVENT_TYPES.flatMap((type) => CAUSES.map((cause) => ofEvent(type, cause)));
  return [...orders, ...refunds, ...events, ...ACT_NAMES.map(ofRepeat)];
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
    if (operation === undefined || order === undefined) return;
    const isHolding = order.status === 'pending' && order.cashback.to_redeem.held !== '0.00';
    const status = isHolding ? 'pending with a hold' : order.status;
    if (!isRepeated) this.visited.add(ofOrder(operation, status, this.family));
    for (const kind of kinds) this.visited.add(ofRefund(kind, status, this.family));
  }

  event(type: FeedEventType, cause: string): void {
    this.visited.add(ofEvent(type, cause));
  }
}

interface Refunded {
  options: Step['options'];
  before: Order;
  after: Order;
  /** The new credits that refunds of the order made, spent and expired since or not. */
  returned: Credit[];
  events: FeedEvent[];
  now: string;
}

/** What a refund is. */
export function kindsOf({ options, before, after, returned, events, now }: Refunded): string[] {
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
  ];
  return kinds.filter(([, is]) => is).map(([kind]) => kind);
}
