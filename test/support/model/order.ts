import { localDate, startOfDayAfter } from '../days.js';
import { brl, maximumOf, type Method, rateOf, type Rules, toReceive } from './rules.js';
import type { ModelCredit } from './wallet.js';

export interface ModelRefund {
  cents: bigint;
  eligible: bigint;
  /** Whether a refund without an eligible part would have had the same. */
  isUsual: boolean;
  returned: bigint;
  takenBack: bigint;
  at: number;
}

/** What an amendment replaces. The items follow from the total. */
export interface ModelContent {
  total: bigint;
  eligible: bigint;
  methods: Method[];
}

/** An order in the model. */
export interface ModelOrder extends ModelContent {
  /** The number of the order in the run, which is also the end of its external_id. */
  key: string;
  merchant: number;
  customer: number;
  externalId: string;
  document: string;
  /** The content that the order was created with. */
  first: ModelContent;
  /** The final payment methods, if the completion sent any. */
  paid: Method[] | null;
  rules: Rules;
  end: 'open' | 'expired' | 'completed' | 'cancelled';
  redemption: bigint;
  /** What it held until it expired. */
  lapsed: bigint;
  earned: bigint;
  refunded: bigint;
  /** The part of `refunded` that earned cashback. */
  refundedEligible: bigint;
  returned: bigint;
  takenBack: bigint;
  version: number;
  createdAt: number;
  updatedAt: number;
  expiresAt: number;
  endedAt: number | null;
  /** The part redeemed from each credit that has not been restored. */
  spent: { credit: ModelCredit; cents: bigint }[];
  refunds: Map<string, ModelRefund>;
}

export const iso = (instant: number): string => new Date(instant).toISOString();

/** Whether its time has come, and neither the sweep nor an operation has come first. */
export const isDue = ({ end, expiresAt }: ModelOrder, now: number): boolean => end === 'open' && expiresAt <= now;

export const canEnd = ({ end }: ModelOrder): boolean => end === 'open' || end === 'expired';

export function statusOf(order: ModelOrder): string {
  if (order.end === 'open') return 'pending';
  if (order.end !== 'completed') return order.end;
  if (order.refunded === 0n) return 'completed';
  return order.refunded === order.total ? 'refunded' : 'partially_refunded';
}

export const NEXT: Record<string, string[]> = {
  pending: ['completed', 'cancelled'],
  expired: ['pending', 'completed', 'cancelled'],
  completed: ['partially_refunded', 'refunded'],
  partially_refunded: ['partially_refunded', 'refunded'],
  refunded: [],
  cancelled: [],
};

export const OPERATIONS: Record<string, string[]> = {
  pending: ['hold', 'amend', 'complete', 'cancel'],
  expired: ['renew', 'complete', 'cancel'],
  completed: ['refund'],
  partially_refunded: ['refund'],
  refunded: [],
  cancelled: [],
};

/** The expected response for an order, without its ID. */
export function orderAnswer(order: ModelOrder, available: bigint, now: number) {
  return {
    external_id: order.externalId,
    status: statusOf(order),
    version: order.version,
    document: order.document,
    currency: 'BRL',
    total: brl(order.total),
    eligible_total: brl(order.eligible),
    amount_to_pay: brl(order.total - order.redemption),
    items: itemsOf(order.total).map((item) => ({ ...item, quantity: 1 })),
    payment_methods: (order.paid ?? order.methods).map(({ id, cents }) => ({
      id,
      amount: brl(cents),
      earn_rate: rateText(rateOf(id, order.rules)),
    })),
    metadata: {},
    cashback: { to_redeem: toRedeem(order, available), to_receive: willReceive(order, now) },
    refunded: { amount: brl(order.refunded), amount_to_pay_back: brl(order.refunded - order.returned) },
    created_at: iso(order.createdAt),
    updated_at: iso(order.updatedAt),
    expires_at: iso(order.expiresAt),
    completed_at: order.end === 'completed' ? iso(order.endedAt ?? 0) : null,
    cancelled_at: order.end === 'cancelled' ? iso(order.endedAt ?? 0) : null,
  };
}

/** The rates of the model are whole percents. */
const rateText = (bps: bigint): string => (Number(bps) / 10_000).toFixed(2);

/** When the cashback of an order can be spent that was or would be completed at this instant. */
export function validityOf(completedAt: number, rules: Rules): { availableAt: number; expiresAt: number } {
  const { releaseDays, validityDays, zone } = rules;
  return {
    availableAt: Math.max(completedAt, startOfDayAfter(completedAt, releaseDays, zone)),
    expiresAt: startOfDayAfter(completedAt, releaseDays + validityDays, zone),
  };
}

export function itemsOf(cents: bigint): { id: string; price: string; description: string }[] {
  return [{ id: 'sku-1', price: brl(cents), description: 'Café em grãos' }];
}

function toRedeem(order: ModelOrder, available: bigint): Record<string, unknown> {
  const held = order.end === 'open' ? order.redemption : 0n;
  const maximum = canEnd(order)
    ? maximumOf(order.total, order.eligible, available + held, order.rules)
    : { cents: 0n, limitedBy: null };
  return {
    available: brl(available),
    maximum: brl(maximum.cents),
    limited_by: maximum.limitedBy,
    held: brl(held),
    lapsed: brl(order.lapsed),
    redeemed: brl(order.end === 'completed' ? order.redemption : 0n),
    returned: brl(order.returned),
  };
}

function willReceive(order: ModelOrder, now: number): Record<string, unknown> {
  const never = { available_at: null, expires_at: null, expires_on: null };
  if (order.end === 'cancelled') return { amount: '0.00', taken_back: '0.00', status: 'none', ...never };
  const { availableAt, expiresAt } = validityOf(order.endedAt ?? order.createdAt, order.rules);
  const { redemption: redeemed, rules } = order;
  return {
    amount: brl(canEnd(order) ? toReceive({ ...order, redeemed }, rules) : order.earned),
    taken_back: brl(order.takenBack),
    status: receiveStatus(order, availableAt, expiresAt, now),
    available_at: iso(availableAt),
    expires_at: iso(expiresAt),
    expires_on: localDate(expiresAt - 1, rules.zone),
  };
}

function receiveStatus(order: ModelOrder, availableAt: number, expiresAt: number, now: number): string {
  if (canEnd(order)) return 'quoted';
  if (order.earned === 0n) return 'none';
  if (order.earned === order.takenBack) return 'taken_back';
  if (now >= expiresAt) return 'expired';
  if (order.takenBack > 0n) return 'partially_taken_back';
  return now >= availableAt ? 'available' : 'pending';
}
