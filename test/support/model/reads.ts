import { inEitherForm } from './content.js';
import type { Dice } from './dice.js';
import { anId, anything } from './expected.js';
import type { Order, Status } from './order.js';
import type { Shop } from './shop.js';
import { elements } from './pages.js';
import { compareStatement } from './statement.js';
import { brl, instant, localDate } from './values.js';
import type { Credit, Wallet } from './wallet.js';

const STATUSES: Status[] = ['pending', 'completed', 'cancelled', 'expired', 'partially_refunded', 'refunded'];

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
      ? await elements(shop, '/orders/search', { document: inEitherForm(dice, document), limit, status })
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
  const order = shop.anOrder(dice, ({ allRefunds }) => allRefunds.length > 0);
  const { id, allRefunds: refunds } = order;
  const listed = await elements(shop, `/orders/${id}/refunds?limit=${1 + dice.upTo(3)}`);
  shop.expectSame(refunds.length, listed.length, 'the number of refunds');
  const views = refunds.map((refund) => order.refundView(refund, shop.now));
  for (const refund of listed)
    shop.expectSame(
      views.find((view) => view.id === refund.id),
      refund,
      'refund',
    );
  const dates = listed.map(({ created_at }) => created_at as string);
  shop.expectSame([...dates].sort().reverse(), dates, 'the dates of the refunds');
  for (const body of views.slice(-1))
    await shop.send({ method: 'GET', path: `/orders/${id}/refunds/${String(body.id)}` }, { status: 200, body });
}

/** Reads a wallet by its ID, its credits, and its statement after a sweep: then every entry is written. */
export async function readWallet(shop: Shop, dice: Dice): Promise<void> {
  const document = shop.aDocument(dice);
  const wallet = shop.wallet(document);
  if (wallet.id === undefined) return;
  await shop.sweep();
  await shop.send({ method: 'GET', path: `/wallets/${wallet.id}` }, { status: 200, body: shop.walletView(document) });
  // "?status=open|all (default open). `all`: every credit, earliest expiry first, also spent and expired ones"
  const [status, credits] = dice.pick<[string, Credit[]]>([
    ['', wallet.open(shop.now)],
    ['&status=open', wallet.open(shop.now)],
    ['&status=all', wallet.byExpiry],
    ['&status=all', wallet.byExpiry],
  ]);
  const path = `/wallets/${wallet.id}/credits?limit=${1 + dice.upTo(10)}${status}`;
  const expected = credits.map((credit) => creditView(shop, wallet, credit));
  shop.expectSame(expected, await elements(shop, path), 'credits');
  await compareStatement(shop, dice, document);
}

function creditView(shop: Shop, wallet: Wallet, credit: Credit): object {
  const { kind, origin, amount, remaining, expiresAt } = credit;
  const type = kind === 'grant' ? 'grant' : 'order';
  return {
    ...{ id: anId, amount: brl(amount), remaining: brl(remaining), held: brl(wallet.heldOf(credit)) },
    ...{ available_at: instant(credit.availableAt), expires_at: instant(expiresAt) },
    available_on: localDate(credit.availableAt, shop.rules.timeZone),
    ...{ expires_on: localDate(expiresAt - 1, shop.rules.timeZone), store: credit.store },
    source: { type, id: anId, external_id: origin, reason: anything, return: kind === 'return' },
  };
}
