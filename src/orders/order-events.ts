import { walletData } from '../cashback/wallet-events.js';
import type { WalletSums } from '../cashback/wallet-summary.js';
import type { FeedEvent, OrderEventType } from '../common/domain-event.js';
import type { Order } from './order.entity.js';
import { toOrderDto } from './order.mapper.js';

/**
 * Returns the event of an order's new version. The items are many, and only an amendment changes them.
 *
 * @param sums the customer's wallet; undefined if there is none.
 * @param more what the event says apart from the order and the wallet.
 */
export function orderEvent(
  type: OrderEventType,
  order: Order,
  sums: WalletSums | undefined,
  at: Date,
  more: object = {},
): FeedEvent {
  const shownOrder = toOrderDto({ ...order, metadata: null }, sums?.availableCents ?? 0, at);
  const { document: _, items: _items, ...shown } = shownOrder;
  const { merchantId, id: subjectId } = order;
  return { type, merchantId, subjectId, at, data: { order: shown, ...more, wallet: walletData(sums) } };
}
