import { describe, expect, it } from '@jest/globals';
import { encodeCursor } from '../../src/platform/database/lists.js';
import type { Answer } from '../support/client.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { useOneConnection } from '../support/one-connection.js';
import { rowsReadBy } from '../support/server-counters.js';
import { idsOf, type Order, type Page } from '../support/shop.js';

const ORDERS = 10_000;
const LIMIT = 20;

/**
 * The maximum number of rows that the database may read for a page of 20 orders, including the token lookup and
 * temporary tables. A scan of a merchant's orders reads at least 10,000 rows.
 */
const MAX_ROWS_READ = 600;

const STATUSES = ['pending', 'expired', 'completed', 'cancelled', 'partially_refunded', 'refunded'];

/**
 * How to seed a merchant's orders: order `n` was created `n` steps ago and expires after `minutes`. The texts are SQL.
 */
interface Orders {
  stepSeconds: number;
  status: string;
  minutes: string;
  /** The statuses to filter by. */
  statuses: string[];
}

/** Merchants with 10,000 orders each. A table scan reads many rows before it finds some of their pages. */
const MERCHANTS: Record<string, Orders> = {
  'of every status': {
    statuses: STATUSES,
    stepSeconds: 60,
    status:
      "CASE WHEN n >= 9990 THEN 'refunded' WHEN n % 1000 = 0 THEN 'cancelled' WHEN n % 10 < 2 THEN 'pending' WHEN n % 10 = 2 THEN 'partially_refunded' ELSE 'completed' END",
    minutes: '30',
  },
  'pending, of which one is not expired': {
    statuses: ['pending', 'expired'],
    stepSeconds: 60,
    status: "'pending'",
    minutes: 'IF(n = 6000, 30000, 1)',
  },
  'pending, of which one is expired': {
    statuses: ['pending', 'expired'],
    stepSeconds: 1,
    status: "'pending'",
    minutes: 'IF(n = 6000, 30, 10080)',
  },
  'pending, of which half are expired': {
    statuses: ['pending', 'expired'],
    stepSeconds: 1,
    status: "'pending'",
    minutes: '80',
  },
  'pending, which expire after 1 minute to 7 days': {
    statuses: ['pending', 'expired'],
    stepSeconds: 60,
    status: "'pending'",
    minutes: 'ELT(1 + n % 5, 1, 30, 1440, 4320, 10080)',
  },
  'created in the same millisecond': {
    statuses: ['pending', 'expired', 'completed'],
    stepSeconds: 0,
    status: "IF(n % 2 = 0, 'pending', 'completed')",
    minutes: '30',
  },
};

const { service, dataSource, clock } = useOneConnection();

async function seed(merchantId: string, { stepSeconds, status, minutes }: Orders, count = ORDERS): Promise<void> {
  await dataSource.query(
    `INSERT INTO orders (id, merchant_id, external_id, status, document, total_cents, items, payment_methods, policy, held_cents,
                         lapsed_cents, redeemed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, kept_cents, lost_cents, content_digest, version,
                         created_at, updated_at, expires_at, completed_at, created_by)
     WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 99), numbers (n) AS (SELECT a.n + 100 * b.n + 10000 * c.n FROM k a JOIN k b JOIN k c WHERE c.n < ?)
     SELECT UUID(), m.id, CONCAT('PED-', n), ${status}, '52998224725', 15000, '[{"id":"sku-1","priceCents":15000}]', '[]', m.policy, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', 1,
            ? - INTERVAL n * ? SECOND, ? - INTERVAL n * ? SECOND, ? - INTERVAL n * ? SECOND + INTERVAL ${minutes} MINUTE,
            IF(${status} IN ('completed', 'partially_refunded', 'refunded'), ? - INTERVAL n * ? SECOND + INTERVAL n % 7 MINUTE, NULL),
            (SELECT id FROM api_users WHERE merchant_id = m.id LIMIT 1)
       FROM merchants m JOIN numbers WHERE m.id = ? AND n < ?`,
    [count / 10_000, ...Array<unknown[]>(4).fill([clock.now(), stepSeconds]).flat(), merchantId, count],
  );
  await dataSource.query(
    "UPDATE orders SET status = 'expired' WHERE merchant_id = ? AND status = 'pending' AND expires_at <= ?",
    [merchantId, clock.now()],
  );
  await dataSource.query('ANALYZE TABLE orders');
}

interface Row {
  id: string;
  external_id: string;
  status: string;
  created_at: Date;
  expires_at: Date;
  completed_at: Date | null;
}

/** The merchant's orders, newest first, read by a table scan. */
async function allOrders(merchantId: string): Promise<Row[]> {
  const rows: Row[] = await dataSource.query(
    'SELECT id, external_id, status, created_at, expires_at, completed_at FROM orders WHERE merchant_id = ? ORDER BY created_at DESC, id DESC',
    [merchantId],
  );
  return rows.map((row) => ({ ...row, external_id: row.external_id.toString() }));
}

/** A filter: its query string and a predicate for the orders that match. */
type Filter = [query: string, matches: (order: Row) => boolean];

/** Every filter and every pair of filters, with the statuses that occur in these orders. */
function filtersOver(orders: Row[], statuses: string[]): Filter[] {
  const at = (share: number): Row => orders[Math.floor(ORDERS * share)] as Row;
  const [old, middle, recent] = [at(0.99), at(0.5), at(0.01)];
  const kinds: Filter[][] = [
    [...statuses, statuses.join(','), statuses.slice(1).join(',')].map((list) => [
      `status=${list}`,
      (order) => list.split(',').includes(order.status),
    ]),
    [[`external_id=${middle.external_id}`, (order) => order.external_id === middle.external_id]],
    [old, middle].map(({ created_at: instant }) => [
      `created_from=${instant.toISOString()}`,
      (order) => order.created_at >= instant,
    ]),
    [old, middle, recent].map(({ created_at: instant }) => [
      `created_to=${instant.toISOString()}`,
      (order) => order.created_at < instant,
    ]),
  ];
  const pairs = kinds.flatMap((ones, kind) =>
    ones.flatMap((one) =>
      kinds
        .slice(kind + 1)
        .flat()
        .map((other) => both(one, other)),
    ),
  );
  return [['', () => true], ...kinds.flat(), ...pairs];
}

const both = ([one, matchesOne]: Filter, [other, matchesOther]: Filter): Filter => [
  `${one}&${other}`,
  (order) => matchesOne(order) && matchesOther(order),
];

/** The filters by completion: with each status that occurs in these orders, and with several. */
function completionFilters(orders: Row[], statuses: string[]): Filter[] {
  const [late, middle, early] = [0.01, 0.5, 0.99].map(
    (share) => orders[Math.floor(orders.length * share)]?.completed_at,
  );
  const periods = [{ from: early }, { from: middle }, { to: late }, { to: middle }, { from: early, to: middle }];
  return [undefined, ...statuses, statuses.join(',')].flatMap((list) =>
    periods.map(({ from, to }): Filter => [
      `${from ? `completed_from=${from.toISOString()}&` : ''}${to ? `completed_to=${to.toISOString()}&` : ''}${list ? `status=${list}` : ''}`,
      ({ status, completed_at: at }) =>
        at !== null && (!from || at >= from) && (!to || at < to) && (!list || list.split(',').includes(status)),
    ]),
  );
}

/** Sends the request and compares its page with the scan. @returns the number of rows that the database read for it. */
async function readPage(
  merchant: TestMerchant,
  orders: Row[],
  [query, matches]: Filter,
  cursor?: Row,
  after: (order: Row) => string = ({ created_at, id }) => encodeCursor('orders', [created_at.getTime(), id]),
): Promise<number> {
  const page = cursor === undefined ? '' : `&cursor=${after(cursor)}`;
  let answer!: Answer<Page<Order>>;
  const read = await rowsReadBy(service, async () => {
    answer = await merchant.orders(`limit=${LIMIT}&${query}${page}`).answer;
  });
  const { status, body } = answer;
  const start = cursor === undefined ? 0 : orders.indexOf(cursor) + 1;
  const expected = orders.slice(start).filter(matches);
  expect({ query, status, ids: idsOf(body), isLast: body.next_cursor === null }).toEqual({
    query,
    status: 200,
    ids: expected.slice(0, LIMIT).map(({ id }) => id),
    isLast: expected.length <= LIMIT,
  });
  return read;
}

describe('GET /orders of a merchant with 10,000 orders', () => {
  it.each(Object.entries(MERCHANTS))(
    'GET /orders reads few rows and returns the correct page for every filter and depth when the orders are %s',
    async (_, merchantOrders) => {
      const merchant = await aMerchant(service);
      await seed(merchant.id, merchantOrders);
      const orders = await allOrders(merchant.id);
      const cursors = [undefined, ...[0.01, 0.5, 0.99].map((share) => orders[Math.floor(ORDERS * share)])];
      const reads: [number, string][] = [];
      for (const filter of filtersOver(orders, merchantOrders.statuses))
        for (const cursor of cursors)
          reads.push([await readPage(merchant, orders, filter, cursor), `${filter[0]} after ${cursor?.external_id}`]);
      expect(reads.filter(([read]) => read > MAX_ROWS_READ)).toEqual([]);
    },
  );

  it.each(['of every status', 'created in the same millisecond'])(
    'GET /orders by completion reads few rows and returns the correct page when the orders are %s',
    async (name) => {
      const merchant = await aMerchant(service);
      const merchantOrders = MERCHANTS[name] as Orders;
      await seed(merchant.id, merchantOrders);
      const orders = (await allOrders(merchant.id))
        .filter((order) => order.completed_at !== null)
        .sort((a, b) => Number(b.completed_at) - Number(a.completed_at) || (a.id < b.id ? 1 : -1));
      const statuses = merchantOrders.statuses.filter((one) => /completed|refunded/.test(one));
      const cursors = [undefined, ...[0.01, 0.5, 0.99].map((share) => orders[Math.floor(orders.length * share)])];
      const after = ({ id, completed_at }: Row): string => encodeCursor('completed orders', [Number(completed_at), id]);
      const reads: [number, string][] = [];
      for (const filter of completionFilters(orders, statuses))
        for (const cursor of cursors)
          reads.push([
            await readPage(merchant, orders, filter, cursor, after),
            `${filter[0]} after ${cursor?.external_id}`,
          ]);
      expect(reads.filter(([read]) => read > MAX_ROWS_READ)).toEqual([]);
    },
  );
});

const CUSTOMER = '52998224725';
const MILLION = 1_000_000;

/** The status of order `n` of the customer with a million orders. */
const STATUS_OF = (n: number): string =>
  n >= MILLION - 10 ? 'refunded' : n % 1000 === 0 ? 'cancelled' : n % 10 < 2 ? 'pending' : 'completed';

describe('POST /orders/search of a customer with a million orders', () => {
  it('POST /orders/search reads few rows and returns the correct page for every status and depth', async () => {
    const merchant = await aMerchant(service);
    const status = `CASE WHEN n >= ${MILLION - 10} THEN 'refunded' WHEN n % 1000 = 0 THEN 'cancelled' WHEN n % 10 < 2 THEN 'pending' ELSE 'completed' END`;
    await seed(merchant.id, { stepSeconds: 1, status, minutes: '60000', statuses: [] }, MILLION);
    const cursorAfter = async (n: number): Promise<string | undefined> => {
      const [row] = await dataSource.query<{ id: string }[]>(
        'SELECT id FROM orders WHERE merchant_id = ? AND external_id = ?',
        [merchant.id, `PED-${n}`],
      );
      return encodeCursor('customer orders', [clock.now().getTime() - 1000 * n, row!.id]);
    };
    const reads: [number, string][] = [];
    for (const filter of [undefined, ...STATUSES.map((one) => [one]), ['refunded', 'cancelled'], STATUSES])
      for (const start of [-1, 10, 499_999, 999_970, MILLION - 5]) {
        const cursor = start < 0 ? undefined : await cursorAfter(start);
        let page!: Page<Order>;
        const read = await rowsReadBy(service, async () => {
          page = await merchant.searchOrders({
            ...{ document: CUSTOMER, limit: LIMIT, cursor },
            ...(filter && { status: filter }),
          });
        });
        const expected: string[] = [];
        for (let n = start + 1; n < MILLION && expected.length <= LIMIT; n++)
          if (filter?.includes(STATUS_OF(n)) ?? true) expected.push(`PED-${n}`);
        expect({ filter, start, ids: page.data.map((order) => order.external_id) }).toEqual({
          ...{ filter, start, ids: expected.slice(0, LIMIT) },
        });
        expect(page.next_cursor === null).toBe(expected.length <= LIMIT);
        reads.push([read, `${filter?.join() ?? 'every status'} after ${start}`]);
      }
    expect(reads.filter(([read]) => read > MAX_ROWS_READ)).toEqual([]);
  }, 600_000);
});
