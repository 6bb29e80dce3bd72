import { describe, expect, it } from '@jest/globals';
import { encodeCursor } from '../../src/platform/database/lists.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { useOneConnection } from '../support/one-connection.js';
import { rowsReadBy } from '../support/server-counters.js';
import type { Page } from '../support/shop.js';

const SMALL = 10_000;
const MILLION = 1_000_000;

/** The number of a merchant's orders and of its refunds, which take long to write. */
const ordersOf = (count: number): number => Math.min(count, 100_000);

const { service, dataSource, clock } = useOneConnection();

/** Row `n` was created `n` seconds ago. */
const createdAt = (n: number): Date => new Date(clock.ms - n * 1000);

/** The ID of row `n`: a UUID v7, of which 10 have the same instant. */
const idOf = (merchant: TestMerchant, n: number): string => {
  const ms = createdAt(n - (n % 10))
    .getTime()
    .toString(16)
    .padStart(12, '0');
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8${merchant.id.slice(-3)}-${n.toString(16).padStart(12, '0')}`;
};
const ID = `
  LOWER(CONCAT(LPAD(HEX((@ms - (n - n % 10) * 1000) DIV 65536), 8, '0'), '-', LPAD(HEX((@ms - (n - n % 10) * 1000) % 65536), 4, '0'),
               '-7000-8', RIGHT(@merchant, 3), '-', LPAD(HEX(n), 12, '0')))`;

/**
 * The credit of customer `n` is spent, pending, released since the wallet was written, expired and not written off, or
 * available, by the last digit of `n`.
 */
const OPEN = (n: number): boolean => n % 10 !== 0 && n % 10 !== 3;
const CENTS = 'IF(n % 10 = 0, 0, 100)';
const EXPIRES = 'IF(n % 10 = 3, @now - INTERVAL 1 HOUR, @now + INTERVAL 1 + n % 180 DAY)';
const AVAILABLE = 'ELT(LEAST(n % 10, 3), @now + INTERVAL 5 DAY, @now - INTERVAL 1 DAY)';
const AS_OF = 'IF(n % 10 IN (2, 3), @now - INTERVAL 10 DAY, @now)';

const SEED = [
  `INSERT INTO wallets (id, merchant_id, document, debt_cents, balance_cents, available_cents, pending_cents, held_cents, available_as_of, available_until, last_seq, created_at)
   SELECT ${ID}, @merchant, 10000000000 + n, 0, ${CENTS}, IF(n % 10 IN (0, 1, 2), 0, 100), IF(n % 10 IN (1, 2), 100, 0), 0, ${AS_OF},
          COALESCE(${AVAILABLE}, ${EXPIRES}), 1, @now - INTERVAL n SECOND FROM numbers`,
  `INSERT INTO cashback_credits (id, wallet_id, merchant_id, seq, store, amount_cents, remaining_cents, held_cents, available_at, expires_at, created_at)
   SELECT ${ID}, ${ID}, @merchant, 1, IF(n = 5, 'RARE', CONCAT('SP-', n % 7)), 100, ${CENTS}, 0, COALESCE(${AVAILABLE}, @now - INTERVAL 20 DAY),
          ${EXPIRES}, @now - INTERVAL n SECOND FROM numbers`,
  `INSERT INTO cashback_grants (credit_id, merchant_id, created_by, external_id, content_digest)
   SELECT ${ID}, @merchant, IF(n = 5, 'operator', @user), CONCAT('G-', n), '' FROM numbers`,
  // Customer 4 has half of the orders.
  `INSERT INTO orders (id, merchant_id, external_id, status, document, store, total_cents, items, payment_methods, policy, held_cents, lapsed_cents,
                       redeemed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, kept_cents, lost_cents,
                       content_digest, version, created_at, updated_at, expires_at, created_by)
   SELECT ${ID}, @merchant, CONCAT('PED-', n), ELT(1 + n % 3, 'pending', 'expired', 'cancelled'), 10000000000 + IF(n % 2, n, 4),
          IF(n = 5, 'RARE', CONCAT('SP-', n % 7)), 15000, '[{"id":"sku-1","priceCents":15000}]', '[]',
          (SELECT policy FROM merchants WHERE id = @merchant), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', 1, @now - INTERVAL n SECOND,
          @now - INTERVAL n - n % 10 SECOND, @now + INTERVAL 1 DAY, @user FROM numbers WHERE n < @orders`,
  `INSERT INTO refunds (id, order_id, merchant_id, external_id, version, amount_cents, eligible_cents, due_cents, returned_cents, taken_back_cents, created_at, created_by)
   SELECT ${ID}, ${ID}, @merchant, 'DEV-1', 2, 1, 1, 0, 0, 0, @now - INTERVAL n - n % 10 SECOND, @user FROM numbers WHERE n < @orders`,
  'ANALYZE TABLE wallets, cashback_credits, cashback_grants, orders, refunds',
];

/** A merchant with `count` customers, each with a granted credit of 1.00. */
async function seed(count: number): Promise<TestMerchant> {
  const merchant = await aMerchant(service);
  const runner = dataSource.createQueryRunner();
  await runner.query('SET @merchant = ?, @user = ?, @now = CAST(? AS DATETIME(3)), @ms = ?, @orders = ?', [
    ...[merchant.id, merchant.userId, clock.now(), clock.ms, ordersOf(count)],
  ]);
  await runner.query('CREATE TEMPORARY TABLE numbers (n INT PRIMARY KEY)');
  await runner.query(
    `INSERT INTO numbers WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 999)
     SELECT a.n + 1000 * b.n FROM k a JOIN k b WHERE b.n < ?`,
    [count / 1000],
  );
  for (const statement of SEED) await runner.query(statement);
  await runner.query('DROP TEMPORARY TABLE numbers');
  await runner.release();
  return merchant;
}

/** A page of a list, and the maximum number of rows that the database may read for it. */
interface Read {
  path: string;
  /** The numbers of the rows of the page. */
  rows: number[];
  maximum: number;
}

const LIMIT = 20;

/** Customers by the ID of their wallet: the oldest come first, and of each instant the one with the lowest number. */
function customersFrom(count: number): number[] {
  const rows: number[] = [];
  for (let first = count - 10; rows.length < LIMIT; first -= 10)
    for (let n = first; n < first + 10 && rows.length < LIMIT; n++) if (OPEN(n)) rows.push(n);
  return rows;
}

function customers(merchant: TestMerchant, count: number): Read[] {
  const after = (n: number): string => `cursor=${encodeCursor('customers', [idOf(merchant, n)])}`;
  return [
    { path: '/customers?', rows: customersFrom(count), maximum: 600 },
    { path: `/customers?${after(count / 2 - 1)}`, rows: customersFrom(count / 2 - 10), maximum: 600 },
    { path: '/customers?balance_minimum=1.00', rows: customersFrom(count), maximum: 600 },
    { path: '/customers?balance_minimum=1.01', rows: [], maximum: 1100 },
    { path: `/customers?balance_minimum=1.01&${after(count / 2 - 1)}`, rows: [], maximum: 1100 },
    // The customer with many orders.
    { path: `/customers?limit=1&${after(13)}`, rows: [14], maximum: 50 },
    { path: `/customers?limit=1&${after(3)}`, rows: [4], maximum: 50 },
  ];
}

function grants(merchant: TestMerchant, count: number): Read[] {
  const middle = count / 2;
  const cursor = `cursor=${encodeCursor('grants', [idOf(merchant, middle)])}`;
  const to = `created_to=${createdAt(middle - 1).toISOString()}`;
  return [
    { path: '/grants?', rows: newestFrom(0, count), maximum: 200 },
    { path: `/grants?${cursor}`, rows: newestFrom(middle + 10, count), maximum: 200 },
    { path: `/grants?${to}`, rows: newestFrom(middle, count), maximum: 200 },
    { path: `/grants?user_id=${merchant.userId}&${to}`, rows: newestFrom(middle, count), maximum: 200 },
    { path: '/grants?user_id=operator', rows: [5], maximum: 50 },
    { path: `/grants?external_id=G-${middle}&${to}`, rows: [middle], maximum: 50 },
  ];
}

/** The newest first: of each instant the one with the highest number. */
function newestFrom(start: number, count: number): number[] {
  const rows: number[] = [];
  for (let first = start; first < count && rows.length < LIMIT; first += 10)
    for (let n = first + 9; n >= first; n--) rows.push(n);
  return rows.slice(0, LIMIT);
}

/** Credits by expiry, then by ID. */
function creditsFrom(merchant: TestMerchant, count: number, isWanted: (n: number) => boolean, skipped = 0): number[] {
  const rows: number[] = [];
  for (let day = 0; rows.length < LIMIT + skipped && day < 180; day++) {
    const ofDay: number[] = [];
    for (let n = day; n < count; n += 180) if (OPEN(n) && isWanted(n)) ofDay.push(n);
    rows.push(...ofDay.sort((a, b) => (idOf(merchant, a) < idOf(merchant, b) ? -1 : 1)));
  }
  return rows.slice(skipped, skipped + LIMIT);
}

function credits(merchant: TestMerchant, count: number): Read[] {
  const days = (n: number): number => 1 + (n % 180);
  const expiry = (n: number): number => clock.ms + days(n) * 86_400_000;
  const after = (n: number): string => `cursor=${encodeCursor('credits', [expiry(n), idOf(merchant, n)])}`;
  const tenth = creditsFrom(merchant, count, () => true)[10]!;
  const dayOf = (n: number): string => new Date(expiry(n) - 1 - 3 * 3_600_000).toISOString().slice(0, 10);
  return [
    { path: '/credits?', rows: creditsFrom(merchant, count, () => true), maximum: 300 },
    { path: `/credits?${after(tenth)}`, rows: creditsFrom(merchant, count, () => true, 11), maximum: 300 },
    {
      path: `/credits?expires_from=${dayOf(99)}`,
      rows: creditsFrom(merchant, count, (n) => n % 180 >= 99),
      maximum: 300,
    },
    { path: '/credits?store=SP-3', rows: creditsFrom(merchant, count, (n) => n % 7 === 3), maximum: 2000 },
    { path: `/credits?store=none&${after(99)}`, rows: [], maximum: 7000 },
  ];
}

function orders(merchant: TestMerchant, count: number): Read[] {
  const [total, middle] = [ordersOf(count), ordersOf(count) / 2];
  const [first, second] = [newestFrom(0, total), newestFrom(middle + 10, total)];
  const ofStore = (start: number): number[] =>
    Array.from({ length: LIMIT }, (_, at) => start + ((10 - (start % 7)) % 7) + 7 * at);
  const at = createdAt(middle);
  const key = [at.getTime(), idOf(merchant, middle)];
  const from = 'updated_from=2000-01-01T00:00:00Z';
  return [
    { path: `/orders?${from}`, rows: first, maximum: 200 },
    { path: `/orders?${from}&cursor=${encodeCursor('updated orders', key)}`, rows: second, maximum: 200 },
    { path: `/orders?updated_to=${at.toISOString()}`, rows: second, maximum: 200 },
    { path: '/orders?store=SP-3', rows: ofStore(0), maximum: 200 },
    { path: `/orders?store=SP-3&created_to=${at.toISOString()}`, rows: ofStore(middle + 1), maximum: 200 },
    { path: '/orders?store=RARE', rows: [5], maximum: 50 },
    { path: '/refunds?', rows: first, maximum: 150 },
    { path: `/refunds?cursor=${encodeCursor('refunds', key)}`, rows: second, maximum: 150 },
    { path: `/refunds?created_to=${at.toISOString()}`, rows: second, maximum: 150 },
  ];
}

/** Sends each request and compares its page. @returns the numbers of rows that the database read. */
async function readAll(merchant: TestMerchant, count: number): Promise<Record<string, number[]>> {
  const reads: Record<string, number[]> = {};
  for (const [list, ofList] of Object.entries({ customers, grants, credits, orders })) {
    reads[list] = [];
    for (const { path, rows, maximum } of ofList(merchant, count)) {
      let page!: Page<Record<'id' | 'wallet_id', string>>;
      const read = await rowsReadBy(service, async () => {
        page = await merchant.get<typeof page>(path);
      });
      const ids = page.data.map(({ id, wallet_id: walletId }) => id ?? walletId);
      expect({ path, ids }).toEqual({ path, ids: rows.map((n) => idOf(merchant, n)) });
      expect({ path, read, isTooMuch: read > maximum }).toEqual({ path, read, isTooMuch: false });
      reads[list].push(read);
    }
  }
  return reads;
}

describe('the lists of a merchant with a million customers', () => {
  it('each list reads as few rows of a million as of ten thousand, and returns the correct page at every depth', async () => {
    const small = await readAll(await seed(SMALL), SMALL);
    const large = await readAll(await seed(MILLION), MILLION);
    // Rows of one instant are read in addition to the later ones.
    for (const [list, reads] of Object.entries(large))
      expect({ list, more: reads.filter((read, at) => read > 1.5 * small[list]![at]! + 20) }).toEqual({
        list,
        more: [],
      });
  }, 900_000);
});
