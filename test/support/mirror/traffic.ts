import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CashbackError, type Order } from '../../../clients/typescript/src/index.js';
import { aDocument } from '../factories.js';
import { untilAnswered } from '../typescript-client.js';
import type { MirroredShop } from './shop.js';

/** Customers who buy again and again, and what each is granted first: so little that they also spend what they earn. */
const REGULARS = 6;
const WELCOME = '20.00';

/** Orders can expire a minute ahead at the earliest, also if the request has to be repeated while nothing listens. */
const SHORT_MS = 75_000;

/** Statuses that a random operation may get, because the state of the order or the wallet does not allow it. */
const EXPECTED = new Set([409, 422]);

const chance = (percent: number): boolean => randomInt(100) < percent;
const amount = (most: number): string => (randomInt(1, most * 100) / 100).toFixed(2);

/** Sells at random in a shop, through the API: orders are held, amended, renewed, completed, cancelled and refunded. */
export class ShopTraffic {
  /** The IDs of the orders that were created, and the customers. */
  readonly orders: string[] = [];
  readonly documents: string[] = Array.from({ length: REGULARS }, aDocument);
  readonly unexpected: string[] = [];
  /** The requests that were answered, and the orders that were begun. */
  requests = 0;
  begun = 0;
  readonly #completed: string[] = [];
  /** Orders that expire soon, and when. */
  readonly #expiring: { id: string; at: number }[] = [];

  constructor(private readonly shop: MirroredShop) {}

  /** Creates a number of orders, and waits until those that expire soon have expired. */
  async work(orders: number, workers: number): Promise<void> {
    await Promise.all(this.documents.map((document) => this.#grant(document, WELCOME)));
    const worker = async (): Promise<void> => {
      while (this.begun < orders) {
        await this.#sell(++this.begun);
        while (this.#expiring[0] && this.#expiring[0].at < Date.now()) await this.#afterExpiry();
      }
    };
    await Promise.all(Array.from({ length: workers }, worker));
    await sleep(Math.max(0, (this.#expiring.at(-1)?.at ?? 0) - Date.now()));
    while (this.#expiring.length > 0) await this.#afterExpiry();
  }

  async #sell(number: number): Promise<void> {
    const isNew = chance(20);
    const document = isNew ? aDocument() : this.documents[randomInt(REGULARS)]!;
    if (isNew) this.documents.push(document);
    const isShort = chance(10);
    const at = Date.now() + SHORT_MS;
    const content = { ...cart(), external_id: `PED-${number}`, document };
    const options = isShort ? { expires_at: new Date(at).toISOString() } : {};
    const order = await this.#send(() => this.shop.client.orders.create({ ...content, ...options }));
    if (order === undefined) return void this.unexpected.push(`PED-${number} was not created`);
    this.orders.push(order.id);
    // A first grant to the customer comes in between.
    const granted = isNew && chance(50) ? this.#grant(document, amount(20)) : undefined;
    for (let steps = randomInt(4); steps > 0; steps--) await this.#change(order);
    await granted;
    if (isShort) this.#expiring.push({ id: order.id, at: at + 2000 });
    else await this.#end(order.id);
  }

  #change({ id, cashback }: Order): Promise<unknown> {
    const { orders } = this.shop.client;
    if (chance(40)) return this.#send(() => orders.amend(id, { ...cart(), redeem: 'maximum' }));
    const held = chance(50) ? cashback.to_redeem.maximum : amount(10);
    return this.#hold(id, chance(20) ? '0.00' : held);
  }

  #hold(id: string, held: string, inAnHour = false): Promise<unknown> {
    const expires = inAnHour ? { expires_at: new Date(Date.now() + 3_600_000).toISOString() } : {};
    return this.#send(() => this.shop.client.orders.hold(id, { amount: held, ...expires }));
  }

  /** Completes most orders, cancels some, leaves others pending, and refunds any, whose cashback may be spent now. */
  async #end(id: string): Promise<void> {
    const { orders, refunds } = this.shop.client;
    if (chance(20)) return void (await this.#send(() => orders.cancel(id)));
    if (chance(15)) return;
    const completion = { payment_methods: [], ...(chance(50) && { redeem: chance(50) ? '0.00' : amount(5) }) };
    const completed = await this.#send(() => orders.complete(id, completion));
    if (completed?.status === 'completed') this.#completed.push(id);
    if (chance(10)) await this.#correctCustomer(id);
    const refunded = this.#completed[randomInt(this.#completed.length + 1)];
    const refund = { external_id: `DEV-${this.requests}`, amount: amount(60) };
    if (refunded && chance(60)) await this.#send(() => refunds.create(refunded, refund));
  }

  async #correctCustomer(id: string): Promise<void> {
    const document = aDocument();
    this.documents.push(document);
    await this.#send(() => this.shop.client.orders.changeCustomer(id, { document, reason: 'Typed wrongly' }));
  }

  /** The customer of an order that has expired comes back, or not. */
  async #afterExpiry(): Promise<void> {
    const { id } = this.#expiring.shift()!;
    if (chance(30)) return;
    // An amount that was not held before: another `expires_at`, another hold, or neither where it has ended.
    if (chance(60)) await this.#hold(id, chance(50) ? '0.00' : amount(10));
    if (chance(50)) await this.#hold(id, '0.00', true);
    if (chance(70)) await this.#end(id);
  }

  async #grant(document: string, amount: string): Promise<void> {
    const { grants } = this.shop.client;
    const grant = await this.#send(() => grants.create({ external_id: `G-${document}`, document, amount }));
    if (grant !== undefined && chance(20)) await this.#send(() => grants.void(grant.id));
  }

  /** Makes a call until it is answered. @returns undefined if it was refused */
  async #send<T>(call: () => Promise<T>): Promise<T | undefined> {
    this.requests++;
    try {
      return await untilAnswered(call);
    } catch (error) {
      if (!(error instanceof CashbackError)) throw error;
      if (!EXPECTED.has(error.status)) this.unexpected.push(error.message);
      return undefined;
    }
  }
}

function cart() {
  const total = amount(100);
  const metadata = { till: String(randomInt(9)) };
  return { total, items: [{ id: 'sku-1', price: total }], payment_methods: [], metadata };
}
