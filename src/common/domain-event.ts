import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';

/**
 * A change of an order, of a customer's cashback or of a session. A use case records it in its transaction; it is not
 * stored. Consequences, such as metrics, happen after the commit, outside the use case.
 */
export type DomainEvent =
  | {
      type: 'order.created' | 'order.replayed' | 'order.amended' | 'order.cancelled' | 'order.expired';
      merchantId: string;
      orderId: string;
    }
  | { type: 'order.renewed'; merchantId: string; orderId: string; expiresAt: Date }
  | { type: 'order.redemption_held'; merchantId: string; orderId: string; amountCents: number }
  | { type: 'order.completed'; merchantId: string; orderId: string; redeemedCents: number; earnedCents: number }
  | { type: 'order.refunded'; merchantId: string; orderId: string; amountCents: number }
  | { type: 'cashback.granted' | 'cashback.voided'; merchantId: string; creditId: string; amountCents: number }
  | { type: 'cashback.moved'; merchantId: string; walletId: string; centsByKind: Readonly<Record<string, number>> }
  | { type: 'session.theft_detected'; merchantId: string; sessionId: string };

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
