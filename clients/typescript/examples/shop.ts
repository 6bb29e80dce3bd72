/**
 * A shop with its own database, from the cart to the refund: an order is charged once, whatever fails, is killed or
 * repeated. year.ts runs it through a year.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cashback, CashbackError, type CashbackOptions } from '@cashback/client';
import type { CreateRefund, Event, Order, OrderContent, Refund } from '@cashback/client';
import { type WebhookHandler, webhookHandler } from '@cashback/client/webhooks';

type Cart = OrderContent & { external_id: string };
/** What pays for an order: money, and the cashback that is deducted from the order in this version. */
type Charge = { id: string; version: number; amount: string; redeem: string };
const EMPTY = {
  /** By the external ID of the order. This unique key lets an order have only one charge. */
  charges: {} as Record<string, Charge>,
  /** By idempotency key. What is paid back is negative. */
  payments: {} as Record<string, { order: string; amount: string }>,
  /** The position in the feed. */
  after: 0,
  /** By ID, because the feed and webhooks bring the same events. */
  events: {} as Record<string, { sequence: number; type: string; amount: string }>,
};

/** Goes on where the client gives up. In your shop, a queue of jobs can do it. */
export async function untilDone<T>(call: () => Promise<T>, tries = 1): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof CashbackError && error.retryable) || tries === 20) throw error;
    await sleep(error.retryAfter + Math.random() * Math.min(10_000, 100 * 2 ** tries));
    return untilDone(call, tries + 1);
  }
}

export class Shop {
  data = EMPTY;
  readonly cashback: Cashback;
  readonly #file: string;

  constructor(file: string, options: CashbackOptions) {
    this.cashback = new Cashback(options);
    this.#file = file;
    if (existsSync(file)) this.data = JSON.parse(readFileSync(file, 'utf8')) as typeof EMPTY;
  }

  /** The file is replaced as a whole: a transaction is stored completely, or not at all. */
  #transaction<T>(work: (data: typeof EMPTY) => T): T {
    const data = structuredClone(this.data);
    const result = work(data);
    writeFileSync(`${this.#file}.new`, JSON.stringify(data), { flush: true });
    renameSync(`${this.#file}.new`, this.#file);
    this.data = data;
    return result;
  }

  /** Sells a cart, however often it is called. If the cashback is gone, the order is cancelled and paid back. */
  async checkout(cart: Cart): Promise<Order> {
    const charge = await this.#prepare(cart);
    this.#pay(`${charge.id}-${charge.version}`, cart.external_id, charge.amount);
    return this.#settle(cart.external_id, charge);
  }

  /** Holds what the order can redeem. The charge is stored before it is paid, so there is only one. */
  async #prepare({ external_id, ...cart }: Cart): Promise<Charge> {
    const stored = () => this.data.charges[external_id];
    if (stored() !== undefined) return stored()!;
    const put = () => this.cashback.orders.put(external_id, cart, { redeem: 'maximum' });
    const { outcome, order } = await untilDone(put);
    if (outcome === 'open') {
      const { id, version, amount_to_pay: amount } = order;
      const charge = { id, version, amount, redeem: order.cashback.to_redeem.held };
      return this.#transaction(({ charges }) => (charges[external_id] ??= charge));
    }
    // Another call may have charged and completed it meanwhile.
    if (stored() !== undefined) return stored()!;
    throw new Error(`${external_id} is ${order.status}: it takes no other charge`);
  }

  /** Completes an order that is paid. Where its cashback is gone, nobody pays the rest: the sale is cancelled. */
  async #settle(external_id: string, { id, version, amount, redeem }: Charge): Promise<Order> {
    const paid = { version, redeem, payment_methods: [{ id: 'pix', amount }] };
    const pay = () => this.cashback.orders.pay(id, paid, { ifLost: 'cancel' });
    const { outcome, order } = await untilDone(pay);
    if (outcome === 'pay_back') this.#pay(`${id}-${version}-back`, external_id, `-${amount}`);
    return order;
  }

  async refund(order: string, body: CreateRefund): Promise<Refund> {
    const refunded = await untilDone(() => this.cashback.refunds.create(this.data.charges[order]!.id, body));
    this.#pay(`${order}-${body.external_id}`, order, `-${refunded.amount_to_pay_back}`);
    return refunded;
  }

  /** Stands for your payment provider: the same key again is the same payment. */
  #pay(key: string, order: string, amount: string): void {
    this.#transaction(({ payments }) => (payments[key] ??= { order, amount }));
  }

  /** Reads the feed to its end. The position is stored with what was made of the page. */
  async sync(): Promise<void> {
    for await (const page of this.cashback.events.pages({ after: this.data.after, limit: 100 }))
      this.#transaction((data) => {
        for (const event of page.data) store(data, event);
        data.after = page.next_after;
      });
  }

  /** Handles webhooks. An event that the feed has brought changes nothing. */
  webhooks(secret: string): WebhookHandler {
    return webhookHandler(secret, (event) => this.#transaction((data) => store(data, event)));
  }
}

/** From `cashback.available` and `cashback.expiring` your shop can make messages to the customer. */
function store({ events }: typeof EMPTY, { id, sequence, type, data }: Event): void {
  events[id] ??= { sequence, type, amount: 'amount' in data ? data.amount : '' };
}
