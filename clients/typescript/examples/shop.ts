/**
 * A shop with its own database, from the cart to the refund: an order is charged once, whatever fails, is killed or
 * repeated. At the end is a year of a customer on the clock of a sandbox, which `npm start` is. To run it:
 *
 *   npm run shop --workspace clients/typescript    (with BASE_URL, if that is not http://localhost:3000)
 *
 * In a project that has @cashback/client, Node 22.18 and later run this file as it is.
 */
import { deepEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cashback, CashbackError, type CashbackOptions, createSandboxMerchant } from '@cashback/client';
import type { CreateOrder, CreateRefund, Event, Order, Refund } from '@cashback/client';
import { fromCentavos, toCentavos } from '@cashback/client/money';
import { verify, WebhookError } from '@cashback/client/webhooks';

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

const isRefused = (error: unknown, ...codes: string[]) => error instanceof CashbackError && codes.includes(error.code);

/** Goes on where the client gives up. In your shop, a queue of jobs can do it. */
export async function untilDone<T>(call: () => Promise<T>, tries = 20): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof CashbackError && error.retryable) || tries === 1) throw error;
    await sleep(error.retryAfter);
    return untilDone(call, tries - 1);
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
  async checkout(cart: CreateOrder): Promise<Order> {
    const charge = await this.#prepare(cart);
    this.#pay(`${charge.id}-${charge.version}`, cart.external_id, charge.amount);
    return this.#settle(cart.external_id, charge);
  }

  /** Holds what the order can redeem. The charge is stored before it is paid, so there is only one. */
  async #prepare(cart: CreateOrder): Promise<Charge> {
    const stored = this.data.charges[cart.external_id];
    if (stored !== undefined) return stored;
    const { id, total, cashback } = await untilDone(() => this.cashback.orders.create(cart));
    if (total !== cart.total) throw new Error(`another till has amended ${cart.external_id}`);
    try {
      const order = await untilDone(() => this.cashback.orders.hold(id, { amount: cashback.to_redeem.maximum }));
      const { held: redeem } = order.cashback.to_redeem;
      const charge = { id, version: order.version, amount: order.amount_to_pay, redeem };
      return this.#transaction(({ charges }) => (charges[cart.external_id] ??= charge));
    } catch (error) {
      // Another order of the customer holds a part of it now, or another call has charged this one.
      if (isRefused(error, 'redemption_exceeds_maximum') || cart.external_id in this.data.charges)
        return this.#prepare(cart);
      throw error;
    }
  }

  /** Completes an order that is paid, also one that has expired meanwhile. */
  async #settle(external_id: string, { id, version, amount, redeem }: Charge): Promise<Order> {
    const { orders } = this.cashback;
    const paid = { redeem, payment_methods: [{ id: 'pix', amount }] };
    for (let ifMatch = version, isGone = false; ;) {
      try {
        await untilDone(() => (isGone ? orders.cancel(id) : orders.complete(id, paid, { ifMatch })));
      } catch (error) {
        isGone = isRefused(error, 'redemption_no_longer_available');
        if (!isGone && !isRefused(error, 'precondition_failed', 'invalid_transition')) throw error;
      }
      const order = await untilDone(() => orders.get(id));
      if (order.status === 'cancelled') this.#pay(`${id}-${version}-back`, external_id, `-${amount}`);
      if (order.status !== 'pending' && order.status !== 'expired') return order;
      ifMatch = order.version;
    }
  }

  async refund(order: string, body: CreateRefund): Promise<Refund> {
    const refunded = await untilDone(() => this.cashback.refunds.create(this.data.charges[order]!.id, body));
    this.#pay(refunded.id, order, `-${refunded.amount_to_pay_back}`);
    return refunded;
  }

  /** Stands for your payment provider: the same key again is the same payment. */
  #pay(key: string, order: string, amount: string): void {
    this.#transaction(({ payments }) => (payments[key] ??= { order, amount }));
  }

  /** Reads the feed to its end. The position is stored with what was made of the page. */
  async sync(): Promise<void> {
    for await (const page of this.cashback.events.pages({ after: this.data.after, limit: 100 }))
      this.#transaction((data) => apply(Object.assign(data, { after: page.next_after }), page.data));
  }

  /** Handles a webhook. An event that the feed has brought changes nothing. */
  async receive(request: IncomingMessage, response: ServerResponse, secret: string): Promise<void> {
    try {
      const received = await verify(Buffer.concat((await request.toArray()) as Buffer[]), request.headers, secret);
      this.#transaction((data) => apply(data, 'type' in received ? [received] : received.data));
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(error instanceof WebhookError ? 400 : 500).end();
    }
  }
}

/** Stores events. From `cashback.available` and `cashback.expiring` your shop can make messages to the customer. */
function apply({ events }: typeof EMPTY, received: Event[]): void {
  for (const { id, sequence, type, data } of received)
    // A ping has no data.
    events[id] ??= { sequence, type, amount: data && 'amount' in data ? data.amount : '' };
}

/**
 * Of each day: what has happened to cashback since the day before; an order and its total, or what is refunded of it
 * (negative); the money paid, the cashback redeemed and earned; and the balance, available and pending.
 */
const YEAR = [
  ['01-10', '', 'PED-1', '150.00', '150.00 0.00 7.50 0.00 7.50'],
  ['01-18', 'available 7.50', 'PED-2', '100.00', '92.50 7.50 4.62 0.00 4.62'],
  ['01-19', '', 'PED-2', '-40.00', '-37.00 -3.00 -1.85 3.00 2.77'],
  ['07-17', 'available 2.77, expiring 3.00, expired 3.00', 'PED-3', '20.00', '17.23 2.77 0.86 0.00 0.86'],
  ['12-20', 'available 0.86', 'PED-2', '-60.00', '-55.50 -4.50 -2.77 2.59 0.00'],
  ['12-28', 'expiring 1.73, expired 1.73', 'PED-4', '10.00', '9.14 0.86 0.45 0.00 0.45'],
] as const;
const COLUMNS = ['paid', 'redeemed', 'earned', 'available', 'pending'];

async function oneDay(shop: Shop, day: string, [, news, external_id, amount, figures]: (typeof YEAR)[number]) {
  const { sandbox, quotes, wallets } = shop.cashback;
  const { first_sequence, last_sequence } = await untilDone(() => sandbox.moveClock({ on: day }));
  await shop.sync();
  const events = Object.values(shop.data.events).filter(
    ({ sequence }) => sequence >= (first_sequence ?? Infinity) && sequence <= (last_sequence ?? 0),
  );
  const happened = events.map((event) => `${event.type.replace('cashback.', '')} ${event.amount}`).join(', ');
  console.log(`\n${day}  ${happened}`);
  const document = '52998224725';
  const done: string[] = [];
  if (amount.startsWith('-')) {
    const back = await shop.refund(external_id, { external_id: `DEV-${day}`, amount: amount.slice(1) });
    done.push(`-${back.amount_to_pay_back}`, `-${back.cashback_returned}`, `-${back.cashback_taken_back}`);
  } else {
    const { cashback } = await untilDone(() => quotes.create({ document, total: amount }));
    console.log(`  the cart: redeem up to ${cashback.to_redeem!.maximum}, receive up to ${cashback.to_receive.amount}`);
    const cart = { external_id, document, total: amount, items: [{ id: 'sku-1', price: amount }], payment_methods: [] };
    const [order] = await Promise.all([shop.checkout(cart), shop.checkout(cart)]); // the customer clicks twice
    done.push(order.amount_to_pay, order.cashback.to_redeem.redeemed, order.cashback.to_receive.amount);
  }
  const { available, pending } = await untilDone(() => wallets.search({ document }));
  done.push(available, pending);
  console.log(`  ${external_id} ${amount}: ${COLUMNS.map((name, at) => `${name} ${done[at]}`).join(', ')}`);
  deepEqual([happened, done.join(' ')], [news, figures]);
}

async function main(baseUrl: string): Promise<void> {
  const policy = { earn_rate: '0.05', redeem_share: '0.5', release_days: 8, validity_days: 180 };
  const { user } = await untilDone(() => createSandboxMerchant({ baseUrl, name: 'Loja da Ana', policy }));
  const file = `${mkdtempSync(`${tmpdir()}/shop-`)}/shop.json`;
  const shop = new Shop(file, { baseUrl, email: user.email, password: user.password });
  const { create, rotateSecret, get } = shop.cashback.webhookEndpoints;
  const server = createServer().listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/webhooks`;
  const { id, secret } = await untilDone(() => create({ url })).catch((error: unknown) => {
    // The response with the secret was lost.
    if (!(error instanceof CashbackError && error.code === 'webhook_url_taken')) throw error;
    return untilDone(() => rotateSecret(error.existing_id));
  });
  server.on('request', (request, response) => void shop.receive(request, response, secret));
  for (const row of YEAR) await oneDay(shop, `${new Date().getFullYear() + 1}-${row[0]}`, row);
  while ((await untilDone(() => get(id))).behind > 0) await sleep(100);
  const money = Object.values(shop.data.payments).reduce((sum, { amount }) => sum + toCentavos(amount), 0n);
  console.log(`\nThe shop has ${fromCentavos(money)}, and its data is in ${file}`);
  deepEqual(fromCentavos(money), '176.37');
}

if (process.argv[1] === import.meta.filename) await main(process.env.BASE_URL ?? 'http://localhost:3000');
