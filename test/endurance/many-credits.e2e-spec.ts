import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { encodeCursor } from '../../src/platform/database/lists.js';
import { createDataSource } from '../../src/schema.js';
import { AdminCommandLine } from '../support/admin.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aCustomerWithCredits, forgetEvents } from '../support/many-credits.js';
import { type Service, startService } from '../support/service.js';
import { type Credit, type Entry, idsOf, type Order, type Page } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsReadBy } from '../support/server-counters.js';
import { rowsOf } from '../support/wallets.js';

const CREDITS = 5000;
const DAY_MS = 86_400_000;
const days = (count: number): Date => new Date(Date.now() + count * DAY_MS);

/** One wallet has 10,000 available credits and the other has 10,000 pending credits, of 1.00 each. */
describe('a wallet with 10,000 open credits', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1' } });
  /**
   * A second instance with more connections, because reconciliation is too slow for the only connection of the first.
   */
  let reconciler: Service;
  const documents: Record<string, string> = {};

  beforeAll(async () => {
    reconciler = await startService({ databaseUrl: service.databaseUrl });
    const credits = { count: 2 * CREDITS, amount: '1.00', expiresAt: days(100) };
    documents.available = await aCustomerWithCredits(service, merchant, {
      ...credits,
      availableAt: days(-1),
    });
    documents.pending = await aCustomerWithCredits(service, merchant, {
      ...credits,
      availableAt: days(5),
    });
  });
  afterAll(() => reconciler?.stop());

  const rowsRead = (request: () => PromiseLike<unknown>): Promise<number> => rowsReadBy(service, request);

  it.each(['available', 'pending'])('requests read few rows for a wallet with 10,000 credits: %s', async (kind) => {
    const document = documents[kind]!;
    const all = { available: '10000.01', pending: '0.01' }[kind];
    expect((await merchant.create({ document })).cashback.to_redeem.available).toBe(all);
    await merchant.credit(document, '1.00');
    const after = { available: '10001.01', pending: '1.01' }[kind];
    let created!: Order;
    const read = await rowsRead(async () => (created = await merchant.create({ document })));
    expect(created.cashback.to_redeem.available).toBe(after);
    expect(read).toBeLessThan(200);
    expect(await rowsRead(() => merchant.order(created))).toBeLessThan(200);
    expect(await rowsRead(() => merchant.orders('limit=5'))).toBeLessThan(400);
    expect(await rowsRead(() => merchant.wallet(document))).toBeLessThan(kind === 'available' ? 200 : 21_000);
    await expectInvariants(reconciler);
  });

  it.each(['available', 'pending'])(
    'redeeming, completing, and refunding read few rows for a wallet with 10,000 credits: %s',
    async (kind) => {
      const document = documents[kind]!;
      const order = await merchant.create({ document, total: '4.00' });
      expect(await rowsRead(() => merchant.hold(order, kind === 'available' ? '2.00' : '1.00'))).toBeLessThan(1000);
      expect(await rowsRead(() => merchant.complete(order))).toBeLessThan(1000);
      expect(await rowsRead(() => merchant.refund(order, '4.00'))).toBeLessThan(1000);
      await expectInvariants(reconciler);
    },
  );

  it('POST /wallets/search returns the next release and expiry of a wallet with 10,000 credits', async () => {
    expect(await merchant.wallet(documents.available!)).toMatchObject({
      pending: '0.00',
      held: '0.00',
      next_release: null,
      next_expiry: { amount: '0.01' },
    });
    expect(await merchant.wallet(documents.pending!)).toMatchObject({
      pending: '10000.00',
      next_release: { amount: '10000.00', at: expect.any(String) },
      next_expiry: { amount: '0.01' },
    });
  });

  it('an order can hold and redeem, and a refund return, all 800 credits of a wallet', async () => {
    const document = await aCustomerWithCredits(service, merchant, {
      count: 800,
      amount: '0.01',
      availableAt: days(-1),
      expiresAt: days(100),
    });
    const order = await merchant.create({ document, total: '100.00' });
    const held = await merchant.hold(order, '8.01');
    expect(held.cashback.to_redeem).toMatchObject({ available: '0.00', held: '8.01' });
    const completed = await merchant.complete(order);
    expect(completed.cashback.to_redeem).toMatchObject({ available: '0.00', redeemed: '8.01' });
    expect((await merchant.refund(order, '100.00')).cashback_returned).toBe('8.01');
    expect(await merchant.wallet(document)).toMatchObject({ available: '8.01', pending: '0.00', held: '0.00' });
    await expectInvariants(reconciler);
  });

  it('released holds and returned redemptions repay a debt beside 50,000 open credits and read few rows', async () => {
    const shop = await aMerchant(service, { releaseDays: 0, redeemShareBps: 10_000 });
    const document = aDocument();
    /** An order whose eligible total is the redemption, so that it earns nothing. */
    const anOrderHolding = async (amount: string): Promise<Order> =>
      shop.hold(await shop.create({ document, total: '20.00', eligible_total: amount }), amount);
    const first = await shop.completed({ document, total: '200.00' });
    await shop.complete(await anOrderHolding('10.00'));
    await shop.credit(document, '14.00');
    const [released, returned] = [await anOrderHolding('8.00'), await anOrderHolding('6.00')];
    await shop.complete(returned);
    await shop.refund(first, '200.00');
    expect(await shop.wallet(document)).toMatchObject({ available: '0.00', held: '8.00', debt: '10.00' });

    // The credits are written directly, because granted cashback would repay the debt.
    const credits = { document, count: 50_000, amount: '0.02', availableAt: days(-1), expiresAt: days(100) };
    await aCustomerWithCredits(service, shop, credits);
    await shop.credit(document, '0.01');
    expect(await shop.wallet(document)).toMatchObject({ available: '1000.00', held: '8.00', debt: '9.98' });
    // A request reads about ten rows for each credit that it changes, of which there are up to 150.
    const few = async (act: () => PromiseLike<unknown>): Promise<void> =>
      expect(await rowsReadBy(service, act)).toBeLessThan(5000);
    await few(() => shop.cancel(released));
    await few(() => shop.create({ document }));
    await few(() => shop.refund(returned, '20.00'));
    expect(await shop.wallet(document)).toMatchObject({ available: '1004.02', held: '0.00', debt: '0.00' });
    // The events until here have a debt beside available cashback.
    await forgetEvents(service.dataSource, shop.id, service.clock.now());
    let order!: Order;
    await few(async () => (order = await anOrderHolding('3.00')));
    await few(() => shop.hold(order, '1.00'));
    await few(() => shop.complete(order, { redeem: '2.00' }));
    await few(() => shop.refund(order, '20.00'));
    expect(await shop.wallet(document)).toMatchObject({ available: '1004.02', held: '0.00', debt: '0.00' });
    // The operator's command has no time limit per statement.
    expect(await new AdminCommandLine(service).run('reconcile')).toMatchObject({ code: 0 });
  });

  it('none of 1,200 expired credits is available, whether or not the sweep has written them off', async () => {
    const lasting = await aLongLivedMerchant(service);
    const credits = { count: 1200, amount: '1.00', availableAt: days(-1), expiresAt: days(10) };
    const document = await aCustomerWithCredits(service, lasting, credits);
    for (const { clock } of [service, reconciler]) clock.skip(40 * DAY_MS);
    await lasting.credit(document, '1.00');
    const left = { available: '1.00', pending: '0.00' };
    expect(await lasting.wallet(document)).toMatchObject(left);
    expect((await lasting.create({ document })).cashback.to_redeem.available).toBe('1.00');
    await expectInvariants(reconciler);
    await service.clock.sweep();
    expect(await lasting.wallet(document)).toMatchObject(left);
    const [row] = await rowsOf(
      service,
      'SELECT COUNT(*) AS n FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id WHERE w.document = ? AND c.is_open = 1',
      [document],
    );
    expect(Number(row!.n)).toBe(1);
    await expectInvariants(reconciler);
  });
});

const MILLION = 1_000_000;

/** Rows of a million numbers, from 0. */
const NUMBERS =
  'WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 99), numbers (n) AS (SELECT a.n + 100 * b.n + 10000 * c.n FROM k a JOIN k b JOIN k c)';

/** Half of the credits expire on one day and half on another: a shop that books anonymous buyers under one document. */
describe('a wallet with a million open credits and as many entries', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1' } });
  let wallet: string;
  /** Without a time limit for statements. */
  let dataSource: DataSource;

  beforeAll(async () => {
    dataSource = await createDataSource(service.databaseUrl).initialize();
    const document = await merchant.customerWith('1.00', { expiresAt: days(1) });
    wallet = (await merchant.wallet(document)).id;
    const [now, expiresAt] = [service.clock.now(), days(100)];
    await dataSource.query(
      `INSERT INTO cashback_credits (id, wallet_id, merchant_id, seq, amount_cents, remaining_cents, held_cents, available_at, expires_at, created_at) ${NUMBERS}
       SELECT UUID(), ?, ?, n + 2, 100, 100, 0, ?, ? + INTERVAL n DIV 500000 DAY, ? FROM numbers`,
      [wallet, merchant.id, now, expiresAt, now],
    );
    await dataSource.query(
      "INSERT INTO cashback_grants (credit_id, merchant_id, created_by, external_id, content_digest) SELECT id, merchant_id, 'operator', CONCAT('G-', id), '' FROM cashback_credits WHERE expires_at >= ?",
      [expiresAt],
    );
    await dataSource.query(
      `INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, order_id, effective_at, created_at, made_by) ${NUMBERS}
       SELECT e.wallet_id, e.merchant_id, n + 2, IF(n % 2 = 0, 'redeem', 'return'), IF(n % 2 = 0, -100, 100), IF(n % 2 = 0, 0, 100), 0, e.credit_id, UUID(), ?, ?, 'operator'
         FROM cashback_entries e JOIN numbers WHERE e.wallet_id = ?`,
      [now, now, wallet],
    );
    await dataSource.query('UPDATE wallets SET last_seq = ? WHERE id = ?', [MILLION + 1, wallet]);
    await dataSource.query(
      'ANALYZE TABLE cashback_credits, cashback_grants, cashback_entries, cashback_holds, wallets',
    );
  }, 600_000);
  afterAll(() => dataSource?.destroy());

  it.each([0, 20, 250_000, 499_995, 500_001, MILLION - 10])(
    'GET /wallets/{id}/credits reads few rows after %d credits',
    async (depth) => {
      const rows = await dataSource.query<{ id: string; seq: string; expires_at: Date }[]>(
        'SELECT id, seq, expires_at FROM cashback_credits WHERE wallet_id = ? ORDER BY expires_at, seq LIMIT ?, 21',
        [wallet, Math.max(0, depth - 1)],
      );
      const [last] = rows;
      const cursor =
        depth === 0
          ? ''
          : `&cursor=${encodeCursor(`credits ${wallet}`, [last!.expires_at.getTime(), Number(last!.seq)])}`;
      let page!: Page<Credit>;
      const read = await rowsReadBy(service, async () => {
        page = await merchant.credits({ id: wallet }, `limit=20${cursor}`);
      });
      const expected = (depth === 0 ? rows : rows.slice(1)).slice(0, 20).map(({ id }) => id);
      expect(idsOf(page)).toEqual(expected);
      expect(page.next_cursor === null).toBe(depth === MILLION - 10);
      expect(read).toBeLessThan(400);
    },
  );

  it('a page of a statement reads few of a million entries, at the beginning, in the middle and at the end', async () => {
    for (const [before, length] of [
      [MILLION + 2, 20],
      [MILLION / 2, 20],
      [2, 1],
    ] as const) {
      const cursor = encodeCursor(`entries ${wallet}`, [before]);
      let page!: Page<Entry>;
      const read = await rowsReadBy(service, async () => {
        page = await merchant.entries({ id: wallet }, `cursor=${cursor}`);
      });
      expect(page.data).toHaveLength(length);
      expect(page.data[0]!.seq).toBe(before - 1);
      expect(read).toBeLessThan(400);
    }
  });
});
