import type { Spendable } from '../cashback/quote.js';
import { walletData } from '../cashback/wallet-events.js';
import type { NewFeedEvent } from '../platform/values/domain-event.js';
import type { OrderCashbackDto, OrderDto, ToRedeemDto } from './order.dto.js';
import { toOrderDto } from './order.dto.js';
import type { Order, OrderChange } from './order.entity.js';
import { type RefundDto, toRefundDto } from './refund.dto.js';
import type { Refund } from './refund.entity.js';

/** What is added when an event is read: what can be erased, and who did what. Only an amendment changes the items. */
const ORDER_ADDED = [
  'document',
  'items',
  'metadata',
  'created_by',
  'completed_by',
  'cancelled_by',
  'cancel_reason',
  'customer_changed_by',
  'customer_change_reason',
] as const satisfies (keyof OrderDto)[];
const REFUND_ADDED = [
  ...(['items', 'rest', 'reason', 'metadata', 'created_by', 'voided_by', 'void_reason'] as const),
  // It changes without a change of the refund.
  'voidable',
] as const satisfies (keyof RefundDto)[];

type OrderData = Without<OrderDto, (typeof ORDER_ADDED)[number]>;
type RefundData = Without<RefundDto, (typeof REFUND_ADDED)[number]>;
type Without<T, Member extends keyof T> = Omit<T, Member> & { [Name in Member]?: never };

/** What depends on the customer's balance, which a creation does not lock. */
const OF_BALANCE = ['available', 'maximum', 'limited_by'] as const satisfies (keyof ToRedeemDto)[];

type CreatedOrderData = Omit<OrderData, 'cashback'> & {
  cashback: Omit<OrderCashbackDto, 'to_redeem'> & { to_redeem: Without<ToRedeemDto, (typeof OF_BALANCE)[number]> };
};

declare module '../platform/values/domain-event.js' {
  interface FeedEventDetails extends Record<
    Exclude<OrderEventType, 'order.created' | 'order.refunded' | 'order.refund_voided' | 'order.customer_changed'>,
    { order: OrderData }
  > {
    'order.created': { order: CreatedOrderData };
    'order.refunded': { order: OrderData; refund: RefundData };
    'order.refund_voided': { order: OrderData; refund: RefundData };
    'order.customer_changed': { order: OrderData; previous_wallet: WalletData };
  }
}

/** Builds the event of a new order. */
export function createdEvent(order: Order): NewFeedEvent & { type: 'order.created' } {
  const { merchantId, id: subjectId, createdAt: occurredAt, createdBy: madeBy } = order;
  const { cashback, ...data } = orderData(order, { availableCents: 0, isFrozen: false });
  const created = { ...data, cashback: { ...cashback, to_redeem: without(cashback.to_redeem, OF_BALANCE) } };
  return { type: 'order.created', merchantId, subjectId, occurredAt, madeBy, data: { order: created } };
}

/** Builds the event of a change. */
export function orderEvent(change: OrderChange): NewFeedEvent {
  const { type, madeBy, order, wallet: sums } = change;
  const { merchantId, id: subjectId, updatedAt: occurredAt } = order;
  const about = { merchantId, subjectId, occurredAt, madeBy };
  const data = { order: orderData(order, { availableCents: sums.availableCents, isFrozen: sums.frozen }) };
  const wallet = walletData(sums);
  if (type === 'order.refunded' || type === 'order.refund_voided')
    return { type, ...about, data: { ...data, refund: refundData(change.refund, order), wallet } };
  if (type === 'order.customer_changed')
    return { type, ...about, data: { ...data, wallet, previous_wallet: walletData(change.previousWallet) } };
  return { type, ...about, data: { ...data, wallet } };
}

const orderData = (order: Order, balance: Spendable): OrderData =>
  without(toOrderDto(order, balance, order.updatedAt), ORDER_ADDED);

const refundData = (refund: Refund, { externalId }: Order): RefundData =>
  without(toRefundDto(refund, externalId, false), REFUND_ADDED);

function without<T extends object, Member extends keyof T>(dto: T, members: readonly Member[]): Without<T, Member> {
  const left = Object.entries(dto).filter(([name]) => !members.includes(name as Member));
  return Object.fromEntries(left) as Without<T, Member>;
}
