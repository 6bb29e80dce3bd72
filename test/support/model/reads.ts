import type { Entry as EntryDto } from '../shop.js';
import type { Dice } from './dice.js';
import { anId, anything } from './expected.js';
import type { Order, Status } from './order.js';
import type { Shop } from './shop.js';
import { brl, cents, instant, localDate } from './values.js';
import type { Entry } from './wallet.js';

const STATUSES: Status[] = ['pending', 'completed', 'cancelled', 'expired', 'partially_refunded', 'refunded'];

/** Reads all pages of a list: of a `GET` with a query, or of a `POST` if there is a body. */
async function elements<T = Record<string, unknown>>(shop: Shop, path: string, body?: object): Promise<T[]> {
  const all: T[] = [];
  const page = { status: 200, body: { data: anything, next_cursor: anything } };
  for (let cursor: string | null = null; ;) {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = body
      ? await shop.send({ method: 'POST', path, body: { ...body, cursor } }, page)
      : await shop.send({ method: 'GET', path: `${path}${query}` }, page);
    all.push(...(answer.body.data as T[]));
    cursor = answer.body.next_cursor as string | null;
    if (cursor === null) return all;
  }
}

export async function readOrder(shop: Shop, dice: Dice): Promise<void> {
  await shop.sweep();
  const order = shop.anOrder(dice);
  const path = dice.pick([`/orders/${order.id}`, `/orders/by-external-id/${encodeURIComponent(order.externalId)}`]);
  await shop.send({ method: 'GET', path }, { status: 200, body: order.view(shop.now) });
}

/** Reads all pages of a list with a random filter, and compares every element. */
export async function listOrders(shop: Shop, dice: Dice): Promise<void> {
  await shop.sweep();
  const document = shop.aDocument(dice);
  const [start, middle] = [shop.orders[0]!.createdAt, dice.pick(shop.orders).createdAt];
  const created = ({ createdAt }: Order): number => createdAt;
  const completed = ({ completedAt }: Order): number => completedAt ?? Infinity;
  const [filter, dateOf, from, to] = dice.pick<[string, (order: Order) => number, number, number]>([
    ['', created, start, Infinity],
    [`created_from=${instant(start)}`, created, start, Infinity],
    [`created_from=${instant(middle)}`, created, middle, Infinity],
    [`created_from=${instant(start)}&created_to=${instant(middle)}`, created, start, middle],
    [`completed_from=${instant(start)}`, completed, start, Infinity],
    [`completed_from=${instant(start)}&completed_to=${instant(middle)}`, completed, start, middle],
  ]);
  const status = dice.once(2) ? [...new Set([dice.pick(STATUSES), dice.pick(STATUSES)])] : STATUSES;
  const limit = 1 + dice.upTo(10);
  const listed =
    filter === ''
      ? await elements(shop, '/orders/search', { document, limit, status })
      : await elements(shop, `/orders?${filter}&status=${status.join()}&limit=${limit}`);
  const expected = shop.orders
    .filter((order) => status.includes(order.status) && (filter !== '' || order.document === document))
    .filter((order) => dateOf(order) >= from && dateOf(order) < to);
  const byId = new Map(expected.map((order) => [order.id, order]));
  shop.expectSame([...byId.keys()].sort(), listed.map(({ id }) => id as string).sort(), 'the orders');
  for (const order of listed) shop.expectSame(byId.get(order.id as string)?.view(shop.now), order, 'an order');
  // "newest first", "sorted by completion": of the same instant, any order.
  const dates = listed.map(({ id }) => dateOf(byId.get(id as string) as Order));
  shop.expectSame(
    [...dates].sort((a, b) => b - a),
    dates,
    'the dates of the orders',
  );
}

export async function readRefunds(shop: Shop, dice: Dice): Promise<void> {
  const { id, refunds } = shop.anOrder(dice, (order) => order.refunds.length > 0);
  const listed = await elements(shop, `/orders/${id}/refunds?limit=${1 + dice.upTo(3)}`);
  shop.expectSame(refunds.length, listed.length, 'the number of refunds');
  for (const refund of listed)
    shop.expectSame(refunds.find(({ body }) => body.id === refund.id)?.body, refund, 'refund');
  const dates = listed.map(({ created_at }) => created_at as string);
  shop.expectSame([...dates].sort().reverse(), dates, 'the dates of the refunds');
  for (const { body } of refunds.slice(-1))
    await shop.send({ method: 'GET', path: `/orders/${id}/refunds/${String(body.id)}` }, { status: 200, body });
}

/** Reads a wallet by its ID, its credits, and its statement after a sweep: then every entry is written. */
export async function readWallet(shop: Shop, dice: Dice): Promise<void> {
  const document = shop.aDocument(dice);
  const wallet = shop.wallet(document);
  if (wallet.id === undefined) return;
  await shop.sweep();
  await shop.send({ method: 'GET', path: `/wallets/${wallet.id}` }, { status: 200, body: shop.walletView(document) });
  // "lists the open credits, earliest expiry first"
  const credits = wallet.open(shop.now).map((credit) => {
    const { kind, origin, amount, remaining, expiresAt } = credit;
    const type = kind === 'grant' ? 'grant' : 'order';
    return {
      ...{ id: anId, amount: brl(amount), remaining: brl(remaining), held: brl(wallet.heldOf(credit)) },
      ...{ available_at: instant(credit.availableAt), expires_at: instant(expiresAt) },
      available_on: localDate(credit.availableAt, shop.rules.timeZone),
      ...{ expires_on: localDate(expiresAt - 1, shop.rules.timeZone), store: credit.store },
      source: { type, id: anId, external_id: origin, reason: anything, return: kind === 'return' },
    };
  });
  const path = `/wallets/${wallet.id}/credits?limit=${1 + dice.upTo(10)}`;
  shop.expectSame(credits, await elements(shop, path), 'credits');
  await compareStatement(shop, document, 10 + dice.upTo(91));
}

async function compareStatement(shop: Shop, document: string, limit: number): Promise<void> {
  const wallet = shop.wallet(document);
  const entries = (
    await elements<Record<keyof EntryDto, string>>(shop, `/wallets/${wallet.id}/entries?limit=${limit}`)
  ).reverse();
  /** The origin of each credit, which the entry that created it names. */
  const origins = new Map<unknown, string>();
  let [balance, debt, last] = [0n, 0n, ''];
  const sums = new Map<string, bigint>();
  for (const [index, entry] of entries.entries()) {
    const { kind, order_external_id: order, refund_external_id: refund, credit_id: credit, created_at } = entry;
    const amount = cents(entry.amount);
    if (kind === 'debt' || kind === 'repay') debt += amount;
    else balance += amount;
    // "from 1 without gaps", "Balance after this entry", "Debt after this entry"
    const after = { ...entry, seq: index + 1, balance: brl(balance), debt: brl(debt) };
    shop.expectSame(after, entry, `entry ${index + 1}`);
    if (created_at < last) shop.sequence.fail(`entry ${index + 1} is not in the order of time`);
    last = created_at;
    if (credit !== null && !origins.has(credit)) origins.set(credit, entry.grant_external_id ?? order);
    const at = Date.parse(entry.effective_at);
    const { by, store } = entry as unknown as Pick<Entry, 'by' | 'store'>;
    add(sums, { kind, amount, at, order, refund, by, store }, origins.get(credit));
  }
  const expected = new Map<string, bigint>();
  for (const entry of wallet.entries) add(expected, entry, entry.credit?.origin);
  const nonZero = (all: Map<string, bigint>): object =>
    Object.fromEntries([...all].filter(([, amount]) => amount !== 0n).map(([key, amount]) => [key, brl(amount)]));
  shop.expectSame(nonZero(expected), nonZero(sums), 'the sums of the entries');
  // "available, pending, held, and expired but not yet written off"
  const { now } = shop;
  shop.expectSame(brl(wallet.available(now) + wallet.pending(now) + wallet.held()), brl(balance), 'the last balance');
}

/** Adds an entry to what one user did to one credit for the same reason, in the same place and at the same instant. */
function add(sums: Map<string, bigint>, { kind, amount, at, order, refund, by, store }: Entry, origin = ''): void {
  const key = `${kind} ${origin} ${order ?? ''} ${refund ?? ''} ${instant(at)} ${JSON.stringify([by, store])}`;
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}
