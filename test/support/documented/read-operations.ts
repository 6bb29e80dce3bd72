import { brl } from './money.js';
import { instant } from './days.js';
import type { Dice } from './dice.js';
import { type Order, refundView, type Status } from './order.js';
import { problem } from './problems.js';
import type { Request, Session } from './session.js';
import type { Shop } from './shop.js';
import type { Credit, Entry } from './wallet.js';

const STATUSES: Status[] = ['pending', 'completed', 'cancelled', 'expired', 'partially_refunded', 'refunded'];

export async function readOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice);
  const path = dice.pick([`/orders/${order.id}`, `/orders/by-external-id/${encodeURIComponent(order.externalId)}`]);
  await session.send(shop, { method: 'GET', path }, { status: 200, body: order.view(session.now) });
}

/** "An order of another merchant is 404." */
export async function readForeign(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const other = session.shops.find((one) => one !== shop) as Shop;
  const { id, externalId } = shop.anOrder(dice);
  const requests: Request[] = [
    { method: 'GET', path: `/orders/${id}` },
    { method: 'GET', path: `/orders/by-external-id/${encodeURIComponent(externalId)}` },
    { method: 'PUT', path: `/orders/${id}/redemption`, body: { amount: '0' } },
    { method: 'POST', path: `/orders/${id}/complete`, body: {} },
    { method: 'POST', path: `/orders/${id}/cancel` },
    { method: 'POST', path: `/orders/${id}/refunds`, body: { external_id: 'r', amount: '1' } },
    { method: 'GET', path: `/orders/${id}/refunds` },
    ...shop.grants.slice(-1).map(({ id }): Request => ({ method: 'POST', path: `/grants/${id}/void` })),
    ...shop.grants.slice(-1).map(({ id }): Request => ({ method: 'GET', path: `/grants/${id}` })),
  ];
  await session.send(other, dice.pick(requests), problem('not_found'));
}

/** Reads all pages of a list with a random filter, and compares every element. */
export async function listOrders(session: Session, shop: Shop, dice: Dice): Promise<void> {
  // Until a sweep, the filter may find an order under its earlier status.
  if (shop.orders.some(({ due }) => due)) await session.pass(0, true);
  const start = Math.min(...shop.orders.map(({ createdAt }) => createdAt));
  const middle = dice.pick(shop.orders).createdAt;
  const [filter, accepts, dateOf] = dice.pick<[string, (order: Order) => boolean, (order: Order) => number]>([
    [`created_from=${instant(start)}`, () => true, created],
    [`created_from=${instant(middle)}`, ({ createdAt }) => createdAt >= middle, created],
    [`created_from=${instant(start)}&created_to=${instant(middle)}`, ({ createdAt }) => createdAt < middle, created],
    [`completed_from=${instant(start)}`, ({ completedAt }) => completedAt !== undefined, completed],
    [
      `completed_from=${instant(start)}&completed_to=${instant(middle)}`,
      (order) => completed(order) < middle,
      completed,
    ],
  ]);
  const statuses = dice.once(2) ? [dice.pick(STATUSES), dice.pick(STATUSES)] : STATUSES;
  const query = `${filter}${statuses === STATUSES ? '' : `&status=${statuses.join()}`}&limit=${1 + dice.upTo(10)}`;
  const listed = await pages(session, shop, `/orders?${query}`);
  const expected = shop.orders.filter((order) => accepts(order) && statuses.includes(order.status));
  session.expectSame(
    expected.map(({ id }) => id).sort(),
    listed.map(({ id }) => id as string).sort(),
    `the orders of ${query}`,
  );
  const byId = new Map(expected.map((order) => [order.id, order]));
  listed.forEach((order, index) => {
    session.expectSame(byId.get(order.id as string)?.view(session.now), order, `order ${index} of ${query}`);
  });
  // "newest first", "sorted by completion": of the same instant, any order.
  const dates = listed.map(({ id }) => dateOf(byId.get(id as string) as Order));
  session.expectSame(
    [...dates].sort((a, b) => b - a),
    dates,
    `the dates of ${query}`,
  );
}

const created = (order: Order): number => order.createdAt;
const completed = (order: Order): number => order.completedAt ?? Infinity;

export async function readRefunds(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const orders = shop.orders.filter(({ refunds }) => refunds.length > 0);
  const order = dice.pick(orders.length > 0 ? orders : shop.orders);
  const listed = await pages(session, shop, `/orders/${order.id}/refunds?limit=${1 + dice.upTo(3)}`);
  const byId = new Map(order.refunds.map((refund) => [refund.id, refundView(order, refund)]));
  session.expectSame(order.refunds.length, listed.length, 'the number of refunds');
  for (const refund of listed) session.expectSame(byId.get(refund.id as string), refund, 'refund');
  const dates = listed.map(({ created_at }) => created_at as string);
  session.expectSame([...dates].sort().reverse(), dates, 'the dates of the refunds');
  for (const refund of order.refunds.slice(-1)) {
    const path = `/orders/${order.id}/refunds/${refund.id}`;
    await session.send(shop, { method: 'GET', path }, { status: 200, body: refundView(order, refund) });
  }
}

export async function readGrant(session: Session, shop: Shop, dice: Dice): Promise<void> {
  if (shop.grants.length === 0) return;
  const grant = dice.pick(shop.grants);
  await session.send(
    shop,
    { method: 'GET', path: `/grants/${grant.id}` },
    { status: 200, body: shop.grantView(grant) },
  );
}

export async function readPolicy(session: Session, shop: Shop): Promise<void> {
  await session.send(shop, { method: 'GET', path: '/policy' }, { status: 200, body: shop.policyView() });
}

/** Reads a wallet by its ID, and its whole statement after a sweep: then every entry is written. */
export async function readStatement(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const document = dice.pick(session.documents);
  const wallet = shop.wallet(document);
  if (wallet.id === undefined) return;
  const body = shop.walletView(document, session.now);
  await session.send(shop, { method: 'GET', path: `/wallets/${wallet.id}` }, { status: 200, body });
  await session.pass(0, true);
  const entries = (await pages(session, shop, `/wallets/${wallet.id}/entries?limit=${10 + dice.upTo(91)}`)).reverse();
  const orders = new Map(shop.orders.map(({ id, externalId }) => [id, externalId]));
  const credits = new Map<unknown, Credit>();
  let [balance, debt, at] = ['0.00', '0.00', ''];
  const written = new Map<string, bigint>();
  entries.forEach((entry, index) => {
    const { kind, amount, order_id: orderId, credit_id: creditId } = entry;
    const signed = signedCents(amount as string);
    const onDebt = kind === 'debt' || kind === 'repay';
    // "Balance after this entry", "Debt after this entry", "from 1 without gaps"
    balance = onDebt ? balance : brl(signedCents(balance) + signed);
    debt = onDebt ? brl(signedCents(debt) + signed) : debt;
    session.expectSame(
      { seq: index + 1, balance, debt },
      pick(entry, ['seq', 'balance', 'debt']),
      `entry ${index + 1}`,
    );
    session.expectSame(true, (entry.created_at as string) >= at, `entry ${index + 1} is in the order of time`);
    at = entry.created_at as string;
    if (kind === 'earn' || kind === 'grant')
      credits.set(creditId, creditOf(wallet.credits, credits, orders.get(orderId as string)));
    const model = { kind: kind === 'release' ? 'hold' : kind, credit: credits.get(creditId), amount: signed } as Entry;
    Object.assign(model, {
      at: Date.parse(entry.effective_at as string),
      order: orders.get(orderId as string),
      refund: entry.refund_id,
    });
    addTo(written, model);
  });
  session.expectSame(summed(wallet.entries), Object.fromEntries(nonZero(written)), 'the sums of the entries');
  session.expectSame(brl(wallet.available(session.now) + wallet.pending(session.now)), balance, 'the last balance');
}

/** The model's credit that an `earn` or `grant` creates: grants have no ID in entries, so they are in their order. */
function creditOf(all: Credit[], known: Map<unknown, Credit>, order: string | undefined): Credit {
  const used = [...known.values()];
  return all.find((credit) => credit.order === order && !used.includes(credit)) as Credit;
}

/** Adds an entry to what happened to one credit for the same reason and at the same instant. */
function addTo(sums: Map<string, bigint>, { kind, credit, amount, at, order, refund }: Entry): void {
  // Which order and refund an expiry or a repayment belongs to is not documented.
  const cause = ['expire', 'clawback', 'repay'].includes(kind) ? '' : `${order ?? ''} ${refund ?? ''}`;
  const key = `${kind} ${credit ? `credit ${credit.n}` : ''} ${cause} ${instant(at)}`;
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}

function summed(entries: Entry[]): Record<string, string> {
  const sums = new Map<string, bigint>();
  for (const entry of entries) addTo(sums, entry);
  return Object.fromEntries(nonZero(sums));
}

const nonZero = (sums: Map<string, bigint>): [string, string][] =>
  [...sums].filter(([, amount]) => amount !== 0n).map(([key, amount]) => [key, brl(amount)]);

const signedCents = (amount: string): bigint => BigInt(amount.replace('.', ''));

const pick = (entry: Record<string, unknown>, names: string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, entry[name]]));

/** Reads all pages and counts them as compared. */
async function pages(session: Session, shop: Shop, path: string): Promise<Record<string, unknown>[]> {
  const read = await (await shop.client()).pages(path);
  session.record(`${shop.name} GET ${path}`, read);
  session.compared += read.length;
  return read.flatMap(({ data }: { data: Record<string, unknown>[] }) => data);
}
