import { setTimeout as sleep } from 'node:timers/promises';
import { BadNetwork } from './bad-network.js';
import type { TestMerchant } from './factories.js';
import { ShopTraffic } from './load/shop-traffic.js';
import type { EventMessage, FeedPage, OrderMessage, WalletMessage } from './mirror/messages.js';
import { copyOfOrder, copyOfWallet, type Mirror } from './mirror/mirror.js';
import { WebhookReceiver } from './mirror/receiver.js';
import { Shop } from './mirror/shop.js';

/** The shop does not receive from its 40th to its 60th of a hundred orders. */
const ABSENCE = { from: 0.4, to: 0.6 };

/** A shop that keeps copies, the traffic in it, and the network before its receiver. */
export class MirroredShop {
  readonly network = new BadNetwork();
  readonly traffic: ShopTraffic;
  /** The events that were read from the feed. */
  read = 0;
  readonly #shop: Shop;
  readonly #receiver: WebhookReceiver;
  #endpointId = '';

  constructor(merchant: TestMerchant, url: () => string) {
    this.#shop = new Shop(url, { email: merchant.email, password: merchant.password });
    this.#receiver = new WebhookReceiver(this.#shop.mirror);
    this.traffic = new ShopTraffic(this.#shop);
  }

  get mirror(): Mirror {
    return this.#shop.mirror;
  }

  /** Creates the endpoint before the first event. */
  async open(): Promise<void> {
    const url = await this.network.listen(await this.#receiver.listen());
    const { id, secret } = await this.#shop.createEndpoint(url);
    this.#endpointId = id;
    this.#receiver.useSecret(secret);
  }

  async close(): Promise<void> {
    await this.network.close();
    await this.#receiver.close();
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
    while ((await this.#shop.request<{ status: string }>('GET', endpoint)).body.status !== 'disabled') await sleep(200);
    while (part() < ABSENCE.to) await sleep(20);
    const stored = this.mirror.events.length;
    const after = await this.#shop.readFeed();
    this.read += this.mirror.events.length - stored;
    this.network.accepted = after;
    this.network.mode = 'bad';
    await this.#shop.resume(this.#endpointId, after);
  }

  /** What the copy has otherwise than the API: orders, wallets, events, and refunds that were added up. */
  async differences(): Promise<object[]> {
    return [
      ...differencesOf('order', byId((await this.#orders()).map(copyOfOrder)), this.mirror.orders),
      ...differencesOf('refunded', await this.#refunded(), this.mirror.refunds),
      ...differencesOf('wallet', await this.#wallets(), this.#copiedWallets()),
      ...differencesOf('event', byId((await this.#feed()).map(lasting)), byId(this.mirror.events.map(lasting))),
    ];
  }

  async #orders(): Promise<OrderMessage[]> {
    const orders: OrderMessage[] = [];
    type Page = { data: OrderMessage[]; next_cursor: string | null };
    for (let cursor: string | null = ''; cursor !== null;) {
      const path: string = `/orders?limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
      const { body } = await this.#shop.request<Page>('GET', path);
      orders.push(...body.data);
      cursor = body.next_cursor;
    }
    return orders;
  }

  async #refunded(): Promise<Map<string, number>> {
    const refunded = (await this.#orders()).filter(({ refunded: { amount } }) => amount !== '0.00');
    return new Map(refunded.map(({ id, refunded: { amount } }) => [id, Math.round(Number(amount) * 100)]));
  }

  async #wallets(): Promise<Map<string, WalletMessage>> {
    const wallets = new Map<string, WalletMessage>();
    for (const document of this.traffic.documents) {
      const { body } = await this.#shop.request<WalletMessage>('POST', '/wallets/search', { document });
      const shown = copyOfWallet({ ...body, document });
      // A request that changed nothing, such as a refused hold, can have created a wallet of zeros: no event says so.
      const copy = this.mirror.wallets.get(document)?.wallet;
      const isEmpty = [shown.available, shown.pending, shown.held, shown.debt].every((sum) => sum === '0.00');
      if (copy || !isEmpty) wallets.set(document, shown);
    }
    return wallets;
  }

  #copiedWallets(): Map<string, WalletMessage> {
    return new Map([...this.mirror.wallets].map(([document, { wallet }]) => [document, wallet]));
  }

  async #feed(): Promise<EventMessage[]> {
    const events: EventMessage[] = [];
    for (let hasMore = true, after = 0; hasMore;) {
      const { body } = await this.#shop.request<FeedPage>('GET', `/events?after=${after}`);
      events.push(...body.data);
      ({ has_more: hasMore, next_after: after } = body);
    }
    return events;
  }
}

/** What an event has forever: `metadata` are always the current ones of the order. */
function lasting(event: EventMessage): EventMessage {
  const { order, ...data } = event.data;
  return order ? { ...event, data: { ...data, order: { ...order, metadata: {} } } } : event;
}

function byId<T extends { id: string }>(things: T[]): Map<string, T> {
  return new Map(things.map((thing) => [thing.id, thing]));
}

function differencesOf<T>(what: string, expected: Map<string, T>, copied: Map<string, T>): object[] {
  const keys = new Set([...expected.keys(), ...copied.keys()]);
  return [...keys]
    .map((key) => ({ what, key, expected: expected.get(key), copied: copied.get(key) }))
    .filter((pair) => sorted(pair.expected) !== sorted(pair.copied));
}

/** As JSON, whatever the order of the members. */
function sorted(value: unknown): string {
  return (
    JSON.stringify(value, (_, member: unknown) =>
      member !== null && typeof member === 'object' && !Array.isArray(member)
        ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
        : member,
    ) ?? 'absent'
  );
}
