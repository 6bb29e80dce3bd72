import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';
import { type By } from './caller.js';

/** What makes a version of an order. Each version has one of these events, which reconcile compares with the order. */
const VERSION_EVENTS = {
  'order.created': 'An order was created',
  'order.amended': 'The content of an order was replaced',
  'order.redemption_held': 'An order holds another amount of cashback',
  'order.redemption_released': 'An order no longer holds cashback',
  'order.renewed': 'An order has another expiry',
  'order.expired': 'An order expired, and what it held was released',
  'order.completed': 'An order was completed',
  'order.cancelled': 'An order was cancelled',
  'order.refunded': 'A completed order was refunded, in part or in full',
  'order.refund_voided': 'The latest refund of an order was undone',
  'order.customer_changed': 'The customer of a completed order was corrected',
};
export type OrderEventType = keyof typeof VERSION_EVENTS;

/** The types of the events in a merchant's feed, and what has happened (docs/events.md). */
export const FEED_EVENTS = {
  ...VERSION_EVENTS,
  'cashback.granted': 'Cashback was granted to a customer without an order',
  'cashback.voided': 'A grant was voided',
  'cashback.debited': 'Cashback was taken from a customer by hand',
  'cashback.debit_voided': 'A debit was voided, and what it took was restored',
  'cashback.available': 'Cashback of a customer became available',
  'cashback.expiring': 'Cashback of a customer expires in seven days',
  'cashback.expired': 'Cashback of a customer expired',
  'wallet.debt_changed': "A customer's debt changed",
  'wallet.frozen': "A customer's wallet was frozen",
  'wallet.unfrozen': "A customer's wallet was unfrozen",
};
export type FeedEventType = keyof typeof FEED_EVENTS;
export const FEED_EVENT_TYPES = Object.keys(FEED_EVENTS) as FeedEventType[];

/** The sums of a customer's wallet, in BRL, and whether it is frozen. */
export type WalletData = Record<'id' | 'available' | 'pending' | 'held' | 'debt', string> & { frozen: boolean };

interface GrantData {
  amount: string;
  grant: {
    id: string;
    external_id: string;
    store: string | null;
    amount: string;
    available_at: Date;
    available_on: string;
    expires_at: Date;
    expires_on: string;
  };
}

interface DebitData {
  amount: string;
  debit: { id: string; external_id: string; store: string | null; amount: string };
}

/**
 * What the events of each type say beside the wallet; `orders` adds those of orders to this interface. Without
 * documents, items, metadata and reasons: an erasure removes them, so they are added when an event is read. A creation
 * locks no wallet, so its event says nothing of it.
 */
export interface FeedEventDetails {
  'cashback.granted': GrantData;
  'cashback.voided': GrantData;
  'cashback.debited': DebitData;
  'cashback.debit_voided': DebitData;
  'cashback.available': { amount: string; available_at: Date; available_on: string };
  'cashback.expiring': { amount: string; expires_at: Date; expires_on: string };
  'cashback.expired': { amount: string };
  'wallet.debt_changed': { change: string };
  'wallet.frozen': object;
  'wallet.unfrozen': object;
}

type FeedEventData<Type extends FeedEventType> = FeedEventDetails[Type] &
  (Type extends 'order.created' ? { wallet?: never } : { wallet: WalletData });

/** An event for a merchant's feed, which is stored in the transaction of its use case and then numbered. */
export type NewFeedEvent = {
  [Type in FeedEventType]: {
    type: Type;
    merchantId: string;
    /** The order of an order's event; otherwise the wallet. */
    subjectId: string;
    occurredAt: Date;
    madeBy: By;
    data: FeedEventData<Type>;
  };
}[FeedEventType];

/**
 * A change of an order, of a customer's cashback or of a session. A use case records it in its transaction.
 * Consequences, such as metrics, happen after the commit, outside the use case.
 */
export type DomainEvent =
  | NewFeedEvent
  | { type: 'order.replayed'; merchantId: string; orderId: string }
  | { type: 'cashback.moved'; centsByKind: Readonly<Record<string, number>> }
  | { type: 'feed.advanced' }
  | { type: 'webhook.attempted'; result: 'delivered' | 'failed' | 'disabled' }
  | { type: 'session.theft_detected' }
  | { type: 'login.locked_out'; limit: string };

export const isFeedEvent = (event: DomainEvent): event is NewFeedEvent => 'data' in event;

/** Records an event of the running use case. It is discarded if the use case is not committed. */
export type Recorder = (event: DomainEvent) => void;

/**
 * Hands the events of committed use cases to their subscribers, such as the metrics: each at most once, because the
 * process may stop after the commit. What must not be lost is a row that the use case writes.
 */
@Injectable()
export class DomainEvents {
  readonly #events = new Subject<DomainEvent>();

  /** @param subscriber is called for each event, after the commit. It must not throw: RxJS would end the process. */
  subscribe(subscriber: (event: DomainEvent) => void): void {
    this.#events.subscribe(subscriber);
  }

  publish(event: DomainEvent): void {
    this.#events.next(event);
  }
}
