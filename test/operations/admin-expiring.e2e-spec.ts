import { beforeAll, describe, expect, it } from '@jest/globals';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { localDate, startOfDayAfter } from '../support/days.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';
const ZERO = '0.00';

describe('`report expiring`', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let other: TestMerchant;
  /** The first instants of the current month and the following ones in São Paulo. */
  const starts: Date[] = [];
  const months: string[] = [];

  beforeAll(async () => {
    merchant = await aMerchant(service, { redeemShareBps: 10_000 });
    other = await aMerchant(service);
    findMonths();
    const document = await merchant.customerWith('9.00');
    await hold(document, '9.00');
    // The command uses the real time, so the credit expires in the past.
    const past = new Date(Date.now() - 1000);
    await rowsOf(service, 'UPDATE cashback_credits SET expires_at = ? WHERE merchant_id = ?', [past, merchant.id]);
    await merchant.credit(aDocument(), '2.00', { expiresAt: before(1) });
    await merchant.credit(aDocument(), '3.00', { expiresAt: starts[1]! });
    await merchant.credit(aDocument(), '4.00', { availableAt: starts[1]!, expiresAt: before(2) });
    await merchant.credit(aDocument(), '100.00', { expiresAt: starts[3]! });
    await other.credit(aDocument(), '7.00', { expiresAt: starts[3]! });
    const holder = aDocument();
    await merchant.credit(holder, '20.00', { expiresAt: starts[2]! });
    await hold(holder, '15.00');
  });

  async function hold(document: string, amount: string): Promise<void> {
    const order = await merchant.create({ document, total: amount });
    await merchant.hold(order, amount);
  }

  const before = (month: number): Date => new Date(starts[month]!.getTime() - 1);

  function findMonths(): void {
    const now = Date.now();
    for (let days = 0; starts.length < 4; days++) {
      const start = startOfDayAfter(now, days, ZONE);
      const month = localDate(start, ZONE).slice(0, 7);
      if (months.at(-1) === month) continue;
      months.push(month);
      starts.push(new Date(start));
    }
  }

  const report = (...args: string[]) => admin.list<Record<string, string>>('report', 'expiring', ...args);

  it('`report expiring` shows per month what will expire if nobody spends it, and the part that orders hold', async () => {
    const rows = await report('--months', '3', '--merchant', merchant.id);
    expect(rows).toEqual([
      // The credit of the 9.00 has expired: it expires when the order releases it.
      { ...rows[0], merchant_id: merchant.id, month: months[0], expiring: '11.00', held: '9.00' },
      { ...rows[1], month: months[1], expiring: '7.00', held: ZERO },
      { ...rows[2], month: months[2], expiring: '20.00', held: '15.00' },
    ]);
    expect(Object.keys(rows[0]!)).toEqual(['merchant_id', 'name', 'month', 'expiring', 'held']);
  });

  it('`report expiring` adds up to what the ledger says that customers own', async () => {
    const rows = await report('--months', '4', '--merchant', merchant.id);
    const cents = (amount: string): number => Math.round(Number(amount) * 100);
    const options = ['--from', `${months[0]!}-01`, '--to', `${months[1]!}-01`, '--merchant', merchant.id];
    const [ledger] = await admin.list<{ closing: string }>('report', 'ledger', ...options);
    expect(rows.reduce((sum, { expiring }) => sum + cents(expiring!), 0)).toBe(cents(ledger!.closing));
    expect(ledger!.closing).toBe('138.00');
  });

  it('`report expiring` shows twelve months of every merchant unless the options say otherwise', async () => {
    const rows = await report();
    expect(rows.map((row) => row.merchant_id)).toEqual([
      ...Array.from({ length: 12 }, () => merchant.id),
      ...Array.from({ length: 12 }, () => other.id),
    ]);
    expect(rows.filter((row) => row.merchant_id === other.id && row.expiring !== ZERO)).toMatchObject([
      { month: months[3], expiring: '7.00' },
    ]);
    const { stdout } = await admin.run('report', 'expiring', '--months', '1', '--format', 'csv');
    expect(stdout.split('\n')).toHaveLength(4);
    expect(stdout).toMatch(/^merchant_id,name,month,expiring,held\r\n/);
  });

  it("`report expiring` counts months in the merchant's time zone", async () => {
    const east = await aMerchant(service, { timeZone: 'Pacific/Kiritimati' });
    await east.credit(aDocument(), '5.00', { expiresAt: before(2) });
    const rows = await report('--merchant', east.id);
    expect(rows.filter(({ expiring }) => expiring !== ZERO)).toMatchObject([{ month: months[2], expiring: '5.00' }]);
  });

  it('GET /reports/expiring returns the same as `report expiring`', async () => {
    for (const shop of [merchant, other]) {
      const { data } = await shop.get<{ data: object[] }>('/reports/expiring?months=4');
      const rows = await report('--months', '4', '--merchant', shop.id);
      expect(rows).toMatchObject(data);
      expect((await shop.get<{ data: object[] }>('/reports/expiring')).data).toHaveLength(12);
    }
  });

  it.each(['0', '121', 'all'])('`report expiring` refuses %j as a number of months', async (text) => {
    expect(await admin.refusal('report', 'expiring', '--months', text)).toContain('whole number from 1 to 120');
  });

  it('`report expiring` exits with 1 for an unknown merchant', async () => {
    const unknown = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
    expect(await admin.refusal('report', 'expiring', '--merchant', unknown)).toMatch(/^error: /);
  });
});
