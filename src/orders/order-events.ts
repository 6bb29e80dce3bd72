import { walletData } from '../cashback/wallet-events.js';
import type { NewFeedEvent } from '../common/domain-event.js';
import type { OrderDto } from './dto/order.dto.js';
import type { RefundDto } from './dto/refund.dto.js';
import type { OrderChange } from './order.entity.js';
import { toOrderDto, toRefundDto } from './order.mapper.js';

/** An order in an event. The items are many, and only an amendment changes them. */
interface OrderData extends Omit<OrderDto, 'document' | 'items' | 'metadata'> {
  metadata: Record<string, never>;
  document?: never;
  items?: never;
}

declare module '../common/domain-event.js' {
  interface FeedEventDetails extends Record<Exclude<OrderEventType, 'order.refunded'>, { order: OrderData }> {
    'order.refunded': { order: OrderData; refund: RefundDto };
  }
}

/** Builds the event of a change. */
export function orderEvent({ type, order, wallet: sums, refund }: OrderChange): NewFeedEvent {
  const { merchantId, id: subjectId, updatedAt: occurredAt } = order;
  const { document: _, items: _items, ...shown } = toOrderDto(order, sums.availableCents, occurredAt);
  const about = { merchantId, subjectId, occurredAt };
  const data = { order: { ...shown, metadata: {} } };
  const wallet = walletData(sums);
  return type === 'order.refunded'
    ? { type, ...about, data: { ...data, refund: toRefundDto(refund), wallet } }
    : { type, ...about, data: { ...data, wallet } };
}
