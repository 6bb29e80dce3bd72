import type { WhoIs } from '../auth/user-names.service.js';
import { walletData } from '../cashback/wallet-events.js';
import type { NewFeedEvent } from '../common/domain-event.js';
import type { OrderDto } from './dto/order.dto.js';
import type { RefundDto } from './dto/refund.dto.js';
import type { Order, OrderChange } from './order.entity.js';
import { toOrderDto, toRefundDto } from './order.mapper.js';
import type { Refund } from './refund.entity.js';

/** What can be erased, and who did what, is added when an event is read. The items are many, and only an amendment changes them. */
type OrderAdded = 'document' | 'items' | 'metadata' | 'created_by' | 'completed_by' | 'cancelled_by' | 'cancel_reason';
type RefundAdded = 'reason' | 'metadata' | 'created_by';

type OrderData = Omit<OrderDto, OrderAdded> & { [Member in OrderAdded]?: never };
type RefundData = Omit<RefundDto, RefundAdded> & { [Member in RefundAdded]?: never };

declare module '../common/domain-event.js' {
  interface FeedEventDetails extends Record<Exclude<OrderEventType, 'order.refunded'>, { order: OrderData }> {
    'order.refunded': { order: OrderData; refund: RefundData };
  }
}

/** Builds the event of a change. */
export function orderEvent({ type, madeBy, order, wallet: sums, refund }: OrderChange): NewFeedEvent {
  const { merchantId, id: subjectId, updatedAt: occurredAt } = order;
  const about = { merchantId, subjectId, occurredAt, madeBy };
  const data = { order: orderData(order, sums.availableCents) };
  const wallet = walletData(sums);
  return type === 'order.refunded'
    ? { type, ...about, data: { ...data, refund: refundData(refund), wallet } }
    : { type, ...about, data: { ...data, wallet } };
}

const nobody: WhoIs = () => null;

function orderData(order: Order, availableCents: number): OrderData {
  const { document, items, metadata, created_by, completed_by, cancelled_by, cancel_reason, ...data } = toOrderDto(
    order,
    availableCents,
    order.updatedAt,
    nobody,
  );
  return data;
}

function refundData(refund: Refund): RefundData {
  const { reason, metadata, created_by, ...data } = toRefundDto(refund, nobody);
  return data;
}
