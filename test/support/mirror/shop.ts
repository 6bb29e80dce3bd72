import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { type Answer, Client } from '../client.js';
import { readFeed } from '../events.js';
import type { TestMerchant } from '../factories.js';
import { type Receiver, startReceiver } from '../receiver.js';
import type { Endpoint, EventPage, FeedEvent, Order, Tokens } from '../shop.js';
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
  #token: string | undefined;
  #endpointId = '';
  #webhook: Webhook | undefined;
  #receiver: Receiver | undefined;

  /**
   * @param merchant with whose client the copies are compared
   * @param url returns the address of the service for each attempt, as a load balancer would
   */
  constructor(
    private readonly merchant: TestMerchant,
    private readonly url: () => string,
  ) {}

  /** Sends a request again until there is an answer that says more than "later". */
  async request<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
    for (;;) {
      const client = new Client({ url: this.url() }, this.#token).once;
      const sent = client.send<T & { retryable?: boolean }>(method, path, { body });
      const answer = await sent.catch(() => undefined);
      if (answer?.status === 401 && path !== '/auth/login') await this.#logIn();
      else if (answer && !answer.body.retryable) return answer;
      else await sleep(100);
    }
  }

  async #logIn(): Promise<void> {
    const { email, password } = this.merchant;
    const { status, body } = await this.request<Tokens>('POST', '/auth/login', { email, password });
    if (status !== 201) throw new Error(`the shop cannot log in: ${status}`);
    this.#token = body.access_token;
  }

  /** Creates the endpoint before the first event, or takes over the one whose response was lost. */
  async open(): Promise<void> {
    this.#receiver = await startReceiver(({ raw, headers, event }, response) => {
      const isGenuine = this.#isGenuine(raw, headers);
      if (isGenuine && 'sequence' in event) this.mirror.store(event);
      response.writeHead(isGenuine ? 204 : 400).end();
    });
    type Created = { id: string; secret: string; existing_id: string };
    const url = await this.network.listen(this.#receiver.url);
    const created = await this.request<Created>('POST', '/webhook-endpoints', { url });
    const rotation = `/webhook-endpoints/${created.body.existing_id}/rotate-secret`;
    const { body } = created.status === 409 ? await this.request<Created>('POST', rotation) : created;
    this.#endpointId = body.id;
    this.#webhook = new Webhook(body.secret);
  }

  /** Until the secret is known, everything is refused, and sent again. */
  #isGenuine(raw: string, headers: IncomingHttpHeaders): boolean {
    try {
      return this.#webhook!.verify(raw, headers as Record<string, string>) !== undefined;
    } catch {
      return false;
    }
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
    const endpoint = `/webhook-endpoints/${this.#endpointId}`;
    while ((await this.request<Endpoint>('GET', endpoint)).body.status !== 'disabled') await sleep(200);
    while (part() < ABSENCE.to) await sleep(20);
    const after = await this.#readFeed();
    this.network.accepted = after;
    this.network.mode = 'bad';
    await this.request('POST', `${endpoint}/seek`, { after });
    await this.request('POST', `${endpoint}/enable`);
  }

  /** Reads the feed to its end, from where the mirror is; returns where it got. */
  async #readFeed(): Promise<number> {
    for (let after = this.mirror.position; ;) {
      const { body } = await this.request<EventPage>('GET', `/events?after=${after}&limit=100`);
      for (const event of body.data) if (this.mirror.store(event)) this.read++;
      after = body.next_after;
      if (!body.has_more) return after;
    }
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
