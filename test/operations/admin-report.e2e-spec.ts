import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

describe('`report outstanding`', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let other: TestMerchant;
  const documents = Array.from({ length: 5 }, aDocument);

  beforeAll(async () => {
    // The command uses the real time, so what has passed by then happens in the past.
    await service.clock.advance({ minutes: -40 });
    merchant = await aMerchant(service);
    other = await aMerchant(service, { releaseDays: 0 });
    await makeWallets();
  });

  /**
   * One customer each with a lapsed hold, an expired credit, a hold, pending cashback, and a debt with another
   * merchant.
   */
  async function makeWallets(): Promise<void> {
    const [lapsed, expired, held, pending, debtor] = documents as [string, string, string, string, string];
    await merchant.credit(lapsed, '50.00');
    await hold(lapsed, '20.00');
    await merchant.credit(expired, '5.00', { expiresAt: service.clock.inMinutes(35) });
    await service.clock.advance({ minutes: 30 });
    // The sweep has not written off the credit yet.
    service.clock.skip(10 * 60_000);
    await merchant.credit(held, '7.00', { expiresAt: service.clock.inMinutes(29 * 24 * 60) });
    await merchant.credit(held, '30.00', { expiresAt: service.clock.inMinutes(31 * 24 * 60) });
    await hold(held, '3.00');
    await merchant.completed({ document: pending });
    const first = await other.completed({ document: debtor });
    await other.completed({ document: debtor, total: '15.00' }, { redeem: '7.50' });
    await other.refund(first, '150.00');
  }

  async function hold(document: string, amount: string): Promise<void> {
    const order = await merchant.create({ document });
    await merchant.hold(order, amount);
  }

  const report = (...args: string[]): Promise<Record<string, string>[]> =>
    admin.list<Record<string, string>>('report', 'outstanding', ...args);

  const cents = (amount?: string): number => Math.round(Number(amount) * 100);

  it('`report outstanding` shows per merchant what its customers can spend, will receive, hold and owe', async () => {
    const rows = await report();
    expect(rows).toEqual([
      {
        merchant_id: merchant.id,
        name: expect.stringMatching(/^Shop/),
        balance: '99.50',
        debt: '0.00',
        available: '84.00',
        pending: '7.50',
        held: '3.00',
        expiring_in_30_days: '4.00',
      },
      { ...rows[1], merchant_id: other.id, balance: '0.00', available: '0.00', pending: '0.00', held: '0.00' },
    ]);
    expect(cents(rows[1]!.debt)).toBeGreaterThan(0);
  });

  it('`report outstanding` adds up what the API says of each wallet', async () => {
    const rows = await report();
    for (const [at, shop] of [merchant, other].entries()) {
      const wallets = await Promise.all(documents.map((document) => shop.wallet(document)));
      for (const member of ['available', 'pending', 'held', 'debt'] as const)
        expect({ member, cents: cents(rows[at]![member]) }).toEqual({
          member,
          cents: wallets.reduce((sum, wallet) => sum + cents(wallet[member]), 0),
        });
    }
  });

  it('`report outstanding` has the balance of the ledger, also what has expired since and is not held', async () => {
    const rows = await report();
    const sumOf = (member: string): number => rows.reduce((sum, row) => sum + cents(row[member]), 0);
    const [ledger] = await rowsOf(
      service,
      `SELECT (SELECT SUM(amount_cents) FROM cashback_entries WHERE credit_id IS NOT NULL) AS balance,
              (SELECT SUM(amount_cents) FROM cashback_entries WHERE credit_id IS NULL) AS debt,
              (SELECT SUM(remaining_cents - held_cents) FROM cashback_credits WHERE expires_at <= UTC_TIMESTAMP(3)) AS expired`,
    );
    expect(sumOf('balance')).toBe(Number(ledger!.balance));
    expect(Number(ledger!.expired)).toBe(500);
    expect(sumOf('debt')).toBe(Number(ledger!.debt));
    await expectInvariants(service);
  });

  it('`report outstanding` changes nothing and shows the same again, for one merchant as for all', async () => {
    const all = await report();
    const one = await report('--merchant', other.id);
    expect(one).toEqual([all[1]]);
    expect(await report()).toEqual(all);
  });

  it('`report outstanding --format csv` prints the same figures as a table, with the name in quotes', async () => {
    await rowsOf(service, 'UPDATE merchants SET name = ? WHERE id = ?', ['Loja "São João", Ltda.', other.id]);
    const rows = await report();
    const { stdout } = await admin.run('report', 'outstanding', '--format', 'csv');
    const [header, first, second] = stdout.trim().split('\r\n');
    expect(header).toBe(Object.keys(rows[0]!).join(','));
    const { merchant_id: id, name, ...figures } = rows[0]!;
    expect(first).toBe([id, `"${name}"`, ...Object.values(figures)].join(','));
    expect(second).toContain(`${other.id},"Loja ""São João"", Ltda.",0.00,`);
  });

  it('`report outstanding` and GET /reports/outstanding say the same, also by store and of a past day', async () => {
    const yesterday = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
    for (const [args, query] of [
      [[], ''],
      [['--by', 'store'], '?by=store'],
      [['--as-of', yesterday], `?as_of=${yesterday}`],
    ] as const) {
      const [of] = await admin.list<Record<string, string>>('report', 'outstanding', '--merchant', other.id, ...args);
      const { data } = await other.get<{ data: object[] }>(`/reports/outstanding${query}`);
      expect(data).toHaveLength(1);
      expect(of).toMatchObject(data[0]!);
    }
    expect(await admin.refusal('report', 'outstanding', '--as-of', '9998-01-01')).toContain('as_of must be a day');
  });

  it('`report outstanding` exits with 1 for an unknown merchant and an unknown format', async () => {
    await admin.refusal('report', 'outstanding', '--merchant', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10');
    expect(await admin.refusal('report', 'outstanding', '--format', 'xml')).toContain('json');
  });
});
