import type { Connection, RowDataPacket } from 'mysql2/promise';
import { after, DAY_MS } from '../../../src/platform/values/time.js';
import { connect } from '../../../tools/database/connection.mjs';
import { atOnce } from '../client.js';
import { aMerchant, anOrder, PASSWORD, type TestMerchant } from '../factories.js';
import { aCustomerWithCredits } from '../many-credits.js';
import { startService } from '../service.js';
import { orderRequest } from './load.js';
import type { Stream } from './load-process.mjs';

/** The load streams, after the data that they need was written to the database. */
export interface Mix {
  streams: Stream[];
  /** The orders and the logins of a merchant that is not part of the hostile load. */
  victim: Stream[];
}

const LARGEST_ORDERS = 100;
const CREDITS = 50_000;
const HOLDERS = 12;
/** The maximum size of a request body, without the space that its numbers may need. */
const LARGEST_BODY = 255 * 1024;

/** An order of about 250 KiB: 500 items with descriptions of the maximum length. */
const largestOrder = (): Record<string, unknown> =>
  anOrder({
    items: Array.from({ length: 500 }, (_, index) => ({
      id: `sku-${index}`,
      price: '0.30',
      description: 'x'.repeat(455),
    })),
  });

/** A body with as many unknown members as possible. */
function unknownMembers(): string {
  const members: string[] = [];
  for (let length = 2; length < LARGEST_BODY; length += members.at(-1)!.length + 1)
    members.push(`"a${members.length}":0`);
  return `{${members.slice(0, -1).join(',')}}`;
}

/** Fills the tables. @param from the addresses of the hostile clients. @returns the load. */
export async function seedMix(databaseUrl: string, orders: number, from: string[]): Promise<Mix> {
  const service = await startService({ databaseUrl, env: { LOG_LEVEL: 'error' } });
  const sql = await connect(databaseUrl);
  try {
    const [large, rich, many, crowd, victim] = await Promise.all([
      aMerchant(service),
      aMerchant(service),
      aMerchant(service),
      aMerchant(service),
      aMerchant(service),
    ]);
    for (let created = 0; created < LARGEST_ORDERS; created += 4) {
      await atOnce(4, () => large.create(largestOrder()));
    }
    await seedOrders(sql, many, orders);
    const now = service.clock.now();
    const document = await aCustomerWithCredits(service, rich, {
      ...{ count: CREDITS, amount: '1.00', availableAt: now, expiresAt: after(now, 180 * DAY_MS) },
    });
    const held = await atOnce(HOLDERS, () => rich.create({ document }));
    // Update the statistics of the grown tables, which a production server has updated long before.
    await sql.query('ANALYZE TABLE orders, cashback_credits, cashback_entries');
    const holdsOf = held.map((order) => order.id);
    const streams = [
      ...readers(large, many),
      ...spenders(rich, document, holdsOf),
      ...logins(large),
      ...connections(large, crowd),
    ].map((stream) => ({ ...stream, from }));
    return { victim: ordersAndLogins(victim), streams };
  } finally {
    await sql.end();
    await service.stop();
  }
}

/** Rows per statement: enough to be fast, and few enough for a short transaction. */
const CHUNK = 50_000;

/** Creates orders every 30 seconds, going back from now: copies of one, with every column that the service writes. */
async function seedOrders(sql: Connection, merchant: TestMerchant, count: number): Promise<void> {
  const { id, created_at } = await merchant.create();
  const hex = `LPAD(LOWER(HEX(${Date.parse(created_at)} - n * 30000)), 12, '0')`;
  const past = (column: string): string => `${column} - INTERVAL n * 30 SECOND`;
  const changes: Record<string, string> = {
    // A UUID of version 7 begins with its instant.
    id: `CONCAT(LEFT(${hex}, 8), '-', SUBSTR(${hex}, 9), '-7000-8000-', LPAD(LOWER(HEX(n)), 12, '0'))`,
    external_id: "CONCAT('PED-', MD5(n))",
    created_at: past('created_at'),
    updated_at: past('updated_at'),
    expires_at: past('expires_at'),
  };
  const [rows] = await sql.query<RowDataPacket[]>(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = DATABASE() AND table_name = 'orders' AND COALESCE(generation_expression, '') = ''`,
  );
  const columns = rows.map(({ name }) => name as string);
  const values = columns.map((column) => changes[column] ?? column);
  for (let first = 0; first < count; first += CHUNK)
    // MySQL limits a recursion to 1000 by default.
    await sql.query(
      `INSERT INTO orders (${columns.join()})
       WITH RECURSIVE k (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 999),
            numbers (n) AS (SELECT 1 + ${first} + a.i + 1000 * b.i FROM k a CROSS JOIN k b WHERE b.i < ${CHUNK / 1000})
       SELECT ${values.join()} FROM (SELECT * FROM orders WHERE id = '${id}') original JOIN numbers WHERE n <= ${count}`,
    );
}

/** Twenty orders per second, and a login per two seconds. */
function ordersAndLogins({ tokens, email }: TestMerchant): Stream[] {
  const login = { method: 'POST', path: '/auth/login', body: JSON.stringify({ email, password: PASSWORD }) };
  return [
    {
      name: 'orders',
      kind: 'requests',
      connections: 4,
      everyMs: 200,
      requests: [orderRequest(tokens.access_token)],
    },
    { name: 'logins', kind: 'requests', connections: 1, everyMs: 2000, requests: [login] },
  ];
}

/** Reads pages of the largest orders, and filters that match nothing among very many orders. */
function readers(large: TestMerchant, many: TestMerchant): Stream[] {
  const filters = ['status=refunded', 'status=cancelled', 'status=partially_refunded', 'status=completed'].concat(
    'created_to=2001-01-01T00:00:00Z',
    'status=completed&created_from=2001-01-01T00:00:00Z',
  );
  return [
    { ...page(large), name: 'largest orders', kind: 'requests', connections: 12 },
    {
      name: 'empty filters',
      kind: 'requests',
      connections: 12,
      requests: filters.map((filter) => ({
        method: 'GET',
        path: `/orders?${filter}`,
        token: many.tokens.access_token,
      })),
    },
  ];
}

const page = ({ tokens }: TestMerchant): Pick<Stream, 'requests'> => ({
  requests: [{ method: 'GET', path: '/orders?limit=100', token: tokens.access_token }],
});

/** Searches for the wallet with 50,000 credits and holds its cashback. */
function spenders(rich: TestMerchant, document: string, orderIds: string[]): Stream[] {
  const token = rich.tokens.access_token;
  const search = { method: 'POST', path: '/wallets/search', token, body: JSON.stringify({ document }) };
  const holds = orderIds.flatMap((id, index) => [
    search,
    { method: 'PUT', path: `/orders/${id}/redemption`, token, body: JSON.stringify({ amount: `${index + 1}.00` }) },
  ]);
  return [{ name: 'rich wallet', kind: 'requests', connections: HOLDERS, requests: holds }];
}

/** Logins with unknown members, with the right password of one user, and with unknown emails. */
function logins({ email }: TestMerchant): Stream[] {
  const login = (body: string): Stream['requests'][number] => ({ method: 'POST', path: '/auth/login', body });
  const right = login(JSON.stringify({ email, password: PASSWORD }));
  const nobody = login(JSON.stringify({ email: 'nobody-%n@shop.example', password: PASSWORD }));
  return [
    { name: 'unknown members', kind: 'requests', connections: 4, requests: [login(unknownMembers())] },
    { name: 'login storm', kind: 'requests', connections: 32, requests: [right, nobody] },
  ];
}

/** Unfinished uploads, responses that are not read, and more connections than the service can serve at once. */
function connections(large: TestMerchant, crowd: TestMerchant): Stream[] {
  const upload = orderRequest('none', { note: 'x'.repeat(LARGEST_BODY - 1000) });
  return [
    { name: 'idle uploads', kind: 'idle-upload', connections: 800, requests: [upload] },
    { ...page(large), name: 'slow readers', kind: 'slow-reader', connections: 20 },
    {
      name: 'crowd',
      kind: 'requests',
      connections: 3500,
      everyMs: 5000,
      requests: [orderRequest(crowd.tokens.access_token)],
    },
  ];
}
