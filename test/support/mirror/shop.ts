import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Cashback, CashbackError } from '../../../clients/typescript/src/index.js';
import { verify } from '../../../clients/typescript/src/webhooks.js';
import { readFeed } from '../events.js';
import type { TestMerchant } from '../factories.js';
import { type Received, type Receiver, startReceiver } from '../receiver.js';
import type { FeedEvent, Order } from '../shop.js';
import { clientOf, untilAnswered } from '../typescript-client.js';
import { copyOfOrder, copyOfWallet, Mirror } from './mirror.js';
import { BadNetwork } from './network.js';
import { ShopTraffic } from './traffic.js';

/** The shop does not receive from its 40th to its 60th of a hundred orders. */
const ABSENCE = { from: 0.4, to: 0.6 };

/** A shop's system that keeps copies, written from docs/ alone, its traffic, and the network before its receiver. */
export class MirroredShop {
  readonly mirror = new Mirror();
  readonly network = new BadNetwork();
  readonly traffic = new ShopTraffic(this);
  /** The events that were read from the feed. */
  read = 0;
  readonly client: Cashback;
  #endpointId = '';
  #secret = '';
  #receiver: Receiver | undefined;

  /**
   * @param merchant with whose client the copies are compared
   * @param url returns the address of the service for each attempt, as a load balancer would
   */
  constructor(
    private readonly merchant: TestMerchant,
    url: () => string,
  ) {
    const send: typeof fetch = (request, init) => fetch(`${url()}${request as string}`, init);
    this.client = clientOf(merchant, { url: '' }, { fetch: send });
  }

  /** Creates the endpoint before the first event, or takes over the one whose response was lost. */
  async open(): Promise<void> {
    this.#receiver = await startReceiver((received, response) => {
      void this.#isGenuine(received).then((isGenuine) => {
        if (isGenuine && 'sequence' in received.event) this.mirror.store(received.event);
        response.writeHead(isGenuine ? 204 : 400).end();
      });
    });
    const url = await this.network.listen(this.#receiver.url);
    const { webhookEndpoints } = this.client;
    const created = await untilAnswered(() => webhookEndpoints.create({ url })).catch((error: unknown) => {
      if (!(error instanceof CashbackError && error.code === 'webhook_url_taken')) throw error;
      return untilAnswered(() => webhookEndpoints.rotateSecret(error.existing_id));
    });
    this.#endpointId = created.id;
    this.#secret = created.secret;
  }

  /** Until the secret is known, everything is refused, and sent again. */
  #isGenuine({ raw, headers }: Received): Promise<boolean> {
    return verify(raw, headers, this.#secret).then(
      () => true,
      () => false,
    );
  }

  async close(): Promise<void> {
    await this.network.close();
    await this.#receiver?.stop();
  }

  /** Sells, and does not receive webhooks for a stretch meanwhile. */
  async trade(orders: number, workers: number): Promise<void> {
    await Promise.all([this.traffic.work(orders, workers), this.#beAbsent(orders)]);
  }

  /** Answers 410 until the endpoint is disabled and longer, then reads the feed, and moves the endpoint there. */
  async #beAbsent(orders: number): Promise<void> {
    const part = (): number => this.traffic.begun / orders;
    while (part() < ABSENCE.from) await sleep(20);
    this.network.mode = 'gone';
    const { webhookEndpoints } = this.client;
    const id = this.#endpointId;
    while ((await untilAnswered(() => webhookEndpoints.get(id))).status !== 'disabled') await sleep(200);
    while (part() < ABSENCE.to) await sleep(20);
    const after = await untilAnswered(() => this.#readFeed());
    this.network.accepted = after;
    this.network.mode = 'bad';
    await untilAnswered(() => webhookEndpoints.seek(id, { after }));
    await untilAnswered(() => webhookEndpoints.enable(id));
  }

  /** Reads the feed to its end, from where the mirror is; returns where it got. */
  async #readFeed(): Promise<number> {
    let after = this.mirror.position;
    for await (const page of this.client.events.pages({ after, limit: 100 })) {
      for (const event of page.data as FeedEvent[]) if (this.mirror.store(event)) this.read++;
      after = page.next_after;
    }
    return after;
  }

  /** What the copy has otherwise than the API: orders, wallets, events, and refunds that were added up. */
  async differences(): Promise<object[]> {
    const orders = await this.merchant.all<Order>('/orders?limit=100');
    const refunded = orders.filter(({ refunded: { amount } }) => amount !== '0.00');
    const refunds = refunded.map(({ id, refunded: { amount } }) => [id, Math.round(Number(amount) * 100)] as const);
    const events = await readFeed(this.merchant);
    return [
      ...differencesOf('order', byId(orders.map(copyOfOrder)), this.mirror.orders),
      ...differencesOf('refunded', new Map(refunds), this.mirror.refunds),
      ...differencesOf('wallet', await this.#wallets(), this.mirror.wallets),
      ...differencesOf('event', byId(events.map(lasting)), byId(this.mirror.events.map(lasting))),
    ];
  }

  /** The wallets as the API shows them, each with the sequence of its copy. */
  async #wallets(): Promise<Mirror['wallets']> {
    const wallets: Mirror['wallets'] = new Map();
    for (const document of this.traffic.documents) {
      const wallet = copyOfWallet({ ...(await this.merchant.wallet(document)), document });
      // A request that changed nothing, such as a refused hold, can have created a wallet of zeros: no event says so.
      const copy = this.mirror.wallets.get(document);
      const isEmpty = [wallet.available, wallet.pending, wallet.held, wallet.debt].every((sum) => sum === '0.00');
      if (copy || !isEmpty) wallets.set(document, { wallet, sequence: copy?.sequence ?? 0 });
    }
    return wallets;
  }
}

/** What an event has forever: `document`, `items` and `metadata` are always the current ones of the order. */
function lasting(event: FeedEvent): FeedEvent {
  const { order, ...data } = event.data;
  return order ? { ...event, data: { ...data, order: { ...order, document: '', items: [], metadata: {} } } } : event;
}

function byId<T extends { id: string }>(things: T[]): Map<string, T> {
  return new Map(things.map((thing) => [thing.id, thing]));
}

function differencesOf<T>(what: string, expected: ReadonlyMap<string, T>, copied: ReadonlyMap<string, T>): object[] {
  const keys = new Set([...expected.keys(), ...copied.keys()]);
  return [...keys]
    .map((key) => ({ what, key, expected: expected.get(key), copied: copied.get(key) }))
    .filter((pair) => !isDeepStrictEqual(pair.expected, pair.copied));
}
