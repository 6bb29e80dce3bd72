import type { FeedEvent } from '../shop.js';

type EventOrder = NonNullable<FeedEvent['data']['order']>;
type EventWallet = FeedEvent['data']['wallet'];
/** A new order says nothing of the wallet. */
type Data = Omit<FeedEvent['data'], 'wallet'> & { wallet?: EventWallet };

const EARNS = new Set(['completed', 'partially_refunded', 'refunded']);

/** What the shop keeps of an order in a response or an event. What a pending order quotes is not earned. */
export function copyOfOrder(order: EventOrder) {
  const { held, redeemed, lapsed, returned } = order.cashback.to_redeem;
  const { amount, taken_back } = order.cashback.to_receive;
  return {
    ...{ id: order.id, external_id: order.external_id, status: order.status, version: order.version },
    ...{ total: order.total, held, redeemed, lapsed, returned, taken_back, refunded: order.refunded.amount },
    earned: EARNS.has(order.status) ? amount : '0.00',
    metadata: order.metadata,
  };
}

/** The members of a wallet that the shop keeps, by the customer's document. */
export function copyOfWallet(wallet: EventWallet): EventWallet {
  const { id, document, available, pending, held, debt, frozen } = wallet;
  return { id, document, available, pending, held, debt, frozen };
}

/**
 * The shop's database. Each method is a transaction: nothing in it waits. An event is stored once, by its ID. Its order
 * replaces the copy if its version is higher, its wallet if its sequence is, so it does not matter whether the response
 * or the event, the feed or the webhook comes first.
 */
export class Mirror {
  readonly orders = new Map<string, ReturnType<typeof copyOfOrder>>();
  readonly wallets = new Map<string, { wallet: EventWallet; sequence: number }>();
  /** Refunded amount by order ID, in centavos: added up from the events, where a repeat would show. */
  readonly refunds = new Map<string, number>();
  /** Every event, in the order in which they were stored. */
  readonly events: FeedEvent[] = [];
  private readonly ids = new Set<string>();

  /** The sequence up to which the shop has every event: what it sends as `after`. */
  get position(): number {
    return this.events.reduce((last, { sequence }) => Math.max(last, sequence), 0);
  }

  /** Stores an event and what it changes; false if it was there already. */
  store(event: FeedEvent): boolean {
    if (this.ids.has(event.id)) {
      return false;
    }
    this.ids.add(event.id);
    this.events.push(event);
    const { order, wallet, previous_wallet, refund }: Data = event.data;
    if (order) {
      this.storeOrder(order);
    }
    for (const sums of [wallet, previous_wallet]) {
      if (sums) {
        this.storeWallet(sums, event.sequence);
      }
    }
    if (order && refund) {
      this.refunds.set(order.id, (this.refunds.get(order.id) ?? 0) + Math.round(Number(refund.amount) * 100));
    }
    return true;
  }

  /** Stores an order of an event or of a response. */
  storeOrder(order: EventOrder): void {
    const copy = this.orders.get(order.id);
    if (!copy || copy.version < order.version) {
      this.orders.set(order.id, copyOfOrder(order));
    }
  }

  private storeWallet(wallet: EventWallet, sequence: number): void {
    const copy = this.wallets.get(wallet.document);
    if (!copy || copy.sequence < sequence) {
      this.wallets.set(wallet.document, { wallet: copyOfWallet(wallet), sequence });
    }
  }
}
