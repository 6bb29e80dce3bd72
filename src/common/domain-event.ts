/**
 * What happened to an order or to a customer's cashback. A use case records it in its transaction, and what follows
 * (counting, and later the event feed) happens outside the use case.
 */
export type DomainEvent =
  | { type: 'order.created' | 'order.replayed' | 'order.cancelled'; merchantId: string; orderId: string }
  | { type: 'order.redemption_held'; merchantId: string; orderId: string; amountCents: number }
  | { type: 'order.completed'; merchantId: string; orderId: string; redeemedCents: number; earnedCents: number }
  | { type: 'order.refunded'; merchantId: string; orderId: string; amountCents: number }
  | { type: 'cashback.granted'; merchantId: string; creditId: string; amountCents: number };

/** Notes an event of the use case that is running; it counts only if the use case is committed. */
export type Recorder = (event: DomainEvent) => void;
