import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { localDate, startOfDayAfter } from '../support/days.js';
import type { Order } from '../support/shop.js';
import { useAdmin } from '../support/use-admin.js';

const ZONE = 'America/Sao_Paulo';
const ZERO = '0.00';
const HOUR_MS = 3_600_000;

/** A line of the report. */
type Figures = Record<string, string>;

describe('`report ledger`', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let samoa: TestMerchant;
  const [redeemer, voided, debtor, holder, latecomer] = Array.from({ length: 5 }, aDocument) as [
    ...[string, string, string, string, string],
  ];
  /** The month whose last days the test fills, and the next one. */
  let [month, next] = ['', ''];
  let monthBefore: Figures;

  const monthOf = (ms: number): string => localDate(ms, ZONE).slice(0, 7);
  const now = (): number => service.clock.now().getTime();
  const advanceTo = (ms: number): Promise<void> => service.clock.advance({ ms: ms - now() });

  /** The beginning of the second month after the current one, in São Paulo. */
  function aMonthAhead(): number {
    let [start, changes] = [now(), 0];
    for (let days = 1; changes < 2; days++) {
      const before = monthOf(start);
      start = startOfDayAfter(now(), days, ZONE);
      if (monthOf(start) !== before) changes++;
    }
    return start;
  }

  /** The options for a month, such as `--from 2026-11-01 --to 2026-12-01`. */
  const daysOf = (of: string): string[] => ['--from', `${of}-01`, '--to', firstAfter(of)];
  const firstAfter = (of: string): string =>
    `${new Date(Date.parse(`${of}-01`) + 31 * 24 * HOUR_MS).toISOString().slice(0, 7)}-01`;
  const report = (of: string, ...args: string[]): Promise<Figures[]> =>
    admin.list<Figures>('report', 'ledger', ...daysOf(of), ...args);
  const reportOf = async (shop: TestMerchant, of: string): Promise<Figures> =>
    (await report(of, '--merchant', shop.id))[0]!;

  const post = async (path: string, body: object = {}): Promise<{ id: string }> => {
    const { status, body: answer } = await merchant.client.post(path, body);
    expect([200, 201]).toContain(status);
    return answer;
  };

  beforeAll(async () => {
    const policy = { redeemShareBps: 10_000, releaseDays: 0, validityDays: 1, earnRateBps: 1000 };
    merchant = await aLongLivedMerchant(service, policy);
    samoa = await aLongLivedMerchant(service, { ...policy, timeZone: 'Pacific/Pago_Pago' });
    const start = aMonthAhead();
    // What is valid for a day expires on the last day of the month. Nothing happens then.
    await advanceTo(start - 26 * HOUR_MS);
    month = monthOf(now());
    await fillMonth();
    // In Samoa it is still the month before.
    await advanceTo(start + 4 * HOUR_MS);
    monthBefore = await reportOf(merchant, month);
    next = monthOf(now());
    await fillNext();
  });

  let refunded: Order;

  async function fillMonth(): Promise<void> {
    await merchant.credit(redeemer, '80.00');
    refunded = await merchant.completed({ document: redeemer, total: '100.00' }, { redeem: '30.00' });
    const { id } = await post('/grants', { external_id: 'G-1', document: voided, amount: '10.00' });
    await post(`/grants/${id}/void`);
    const first = await merchant.completed({ document: debtor, total: '100.00' });
    await merchant.completed({ document: debtor, total: '9.00' }, { redeem: '9.00' });
    await post(`/orders/${first.id}/refunds`, { external_id: 'DEV-1', amount: '100.00' });
    await post('/grants', { external_id: 'G-2', document: holder, amount: '20.00', expires_on: '2998-01-01' });
    await hold(holder, '15.00');
    const wrong = await merchant.debit({ document: holder, amount: '2.00' });
    await merchant.voidDebit(wrong);
    await merchant.debit({ document: holder, amount: '3.00' });
  }

  async function hold(document: string, amount: string): Promise<void> {
    const expires = new Date(now() + 6 * 86_400_000).toISOString();
    const order = await merchant.create({ document, expires_at: expires });
    await merchant.hold(order, amount);
  }

  async function fillNext(): Promise<void> {
    // Writes down what expired in the month before, and repays a part of the debt.
    await post(`/orders/${refunded.id}/refunds`, { external_id: 'DEV-1', amount: '50.00' });
    await merchant.completed({ document: debtor, total: '60.00' });
    await merchant.credit(latecomer, '1.11');
    await samoa.credit(latecomer, '1.11');
  }

  it('`report ledger` explains exactly how what customers own changed in a month', async () => {
    expect(await reportOf(merchant, month)).toEqual({
      merchant_id: merchant.id,
      name: expect.stringMatching(/^Shop/),
      from: `${month}-01`,
      to: firstAfter(month),
      opening: ZERO,
      earned: '17.00',
      granted: '110.00',
      redeemed: '39.00',
      returned: ZERO,
      taken_back: '10.00',
      voided: '10.00',
      debited: '3.00',
      expired: ZERO,
      closing: '65.00',
      closing_debt: '9.00',
      closed: true,
      late: 0,
    });
  });

  it('`report ledger` counts an expiry that is written late in the month in which it is written', async () => {
    const row = await reportOf(merchant, next);
    expect(row).toMatchObject({
      ...{ opening: '65.00', earned: '6.00', granted: '1.11', redeemed: ZERO, voided: ZERO, debited: ZERO },
      // What the order earned has expired too, so its refund takes nothing back.
      ...{ returned: '15.00', taken_back: ZERO, expired: '57.00' },
      ...{ closing: '30.11', closing_debt: '3.00' },
    });
  });

  it('`report ledger` says of a past month what it said before later entries were written', async () => {
    expect(await reportOf(merchant, month)).toEqual(monthBefore);
    expect((await report(month))[0]).toEqual(monthBefore);
  });

  it('`report ledger` closes with the sum of what the API says of each wallet', async () => {
    const row = await reportOf(merchant, next);
    const cents = (amount: string): number => Math.round(Number(amount) * 100);
    const wallets = await Promise.all(
      [redeemer, voided, debtor, holder, latecomer].map((document) => merchant.wallet(document)),
    );
    const sum = (member: 'available' | 'pending' | 'held' | 'debt'): number =>
      wallets.reduce((left, wallet) => left + cents(wallet[member]), 0);
    expect(cents(row.closing_debt!)).toBe(sum('debt'));
    expect(cents(row.closing!)).toBe(sum('available') + sum('pending') + sum('held') - sum('debt'));
    await expectInvariants(service);
  });

  it("`report ledger` divides months in each merchant's own time zone", async () => {
    expect(await reportOf(samoa, month)).toMatchObject({
      opening: ZERO,
      granted: '1.11',
    });
    expect(await reportOf(samoa, next)).toMatchObject({ opening: '1.11', granted: ZERO, closing: '1.11' });
    expect((await report(month)).map((row) => [row.merchant_id, row.granted])).toEqual([
      [merchant.id, '110.00'],
      [samoa.id, '1.11'],
    ]);
  });

  it('`report ledger` says whether a month is closed, and shows months without entries', async () => {
    const at = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 7);
    expect(await reportOf(merchant, at(-62))).toMatchObject({ closed: true, opening: ZERO, closing: ZERO });
    expect(await reportOf(merchant, next)).toMatchObject({ closed: false });
    expect(await reportOf(merchant, at(400))).toMatchObject({ closed: false, opening: '30.11', closing: '30.11' });
  });

  it('`report ledger` closes while customers get cashback', async () => {
    const document = aDocument();
    const busy = await aLongLivedMerchant(service);
    const grants = Array.from({ length: 20 }, () => busy.credit(document, '1.00'));
    const [row] = await Promise.all([reportOf(busy, monthOf(now())), ...grants]);
    expect(row).toMatchObject({ opening: ZERO, closing: row.granted });
    expect(await reportOf(busy, monthOf(now()))).toMatchObject({ granted: '20.00', closing: '20.00' });
  });

  it('`report ledger` and `report expiring` read every wallet of a merchant with more wallets than fit into a page', async () => {
    const many = await aLongLivedMerchant(service);
    const lines = Array.from({ length: 501 }, (_, at) => `${aDocument()},0.01,OLD-${at}`);
    const file = path.join(tmpdir(), `credits-${many.id}.csv`);
    await writeFile(file, ['document,amount,external_id', ...lines].join('\n'));
    // On a slow machine, it also shows its progress.
    const { stdout } = await admin.run('cashback', 'import', '--merchant', many.id, '--file', file);
    expect(JSON.parse(stdout)).toMatchObject({ granted: 501 });
    await rm(file);
    expect(await reportOf(many, monthOf(now()))).toMatchObject({ closing: '5.01', granted: ZERO });
    expect(await reportOf(many, monthOf(Date.now()))).toMatchObject({ opening: ZERO, granted: '5.01' });
    const rows = await admin.list('report', 'expiring', '--merchant', many.id);
    expect(rows.filter(({ expiring }) => expiring !== ZERO)).toMatchObject([{ expiring: '5.01' }]);
  });

  it('`report ledger` prints CSV with a header, and a table on a terminal', async () => {
    const begun = monthOf(Date.now());
    const row = await reportOf(merchant, begun);
    const args = ['report', 'ledger', ...daysOf(begun), '--merchant', merchant.id];
    const { stdout } = await admin.run(...args, '--format', 'csv');
    const { merchant_id: id, name, ...figures } = row;
    const cells = [id, `"${name}"`, ...Object.values(figures)];
    expect(stdout).toBe(`${Object.keys(row).join(',')}\r\n${cells.join(',')}\r\n`);
    const table = (await admin.onTerminal(...args)).map((line) => line.split(/ {2,}/));
    expect(table).toEqual([Object.keys(row), Object.values(row).map(String)]);
    expect((await admin.onTerminal(...args, '--format', 'json')).map((line): unknown => JSON.parse(line))).toEqual([
      row,
    ]);
  });

  it.each(['2026-13-01', '2026-11', '01/11/2026', '2026-11-31', '9999-01-01'])(
    '`report ledger` refuses %j as a day and says how to write one',
    async (text) => {
      expect(await admin.refusal('report', 'ledger', '--from', text)).toContain('such as 2026-11-20');
    },
  );

  it('`report ledger` takes the options of the API: `--by` has rows per day, month, store or pair of stores', async () => {
    const rows = await report(month, '--by', 'day', '--merchant', merchant.id);
    expect(rows.length).toBeGreaterThanOrEqual(28);
    expect(rows.at(-1)).toMatchObject({ to: firstAfter(month), closing: '65.00' });
    expect(await report(month, '--by', 'month', '--merchant', merchant.id)).toEqual([monthBefore]);
    expect(await report(month, '--by', 'store', '--merchant', merchant.id)).toMatchObject([
      { store: null, closing: '65.00' },
    ]);
    expect(await admin.refusal('report', 'ledger', ...daysOf(month), '--by', 'week')).toContain('store_pair');
    const wrong = ['--from', firstAfter(month), '--to', `${month}-01`];
    expect(await admin.refusal('report', 'ledger', ...wrong)).toContain('to must be after from');
  });

  it('`merchant set` refuses another time zone after the first entry of the ledger, and keeps the one that is set', async () => {
    const change = ['merchant', 'set', merchant.id, '--time-zone'];
    expect(await admin.refusal(...change, 'America/Manaus')).toContain('time_zone cannot change after the first entry');
    expect(await admin.json(...change, ZONE)).toMatchObject({ policy: { time_zone: ZONE } });
  });

  it('`report ledger` exits with 1 without days, for an unknown merchant and for an unknown format', async () => {
    expect(await admin.refusal('report', 'ledger')).toContain('--from');
    const unknown = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
    await admin.refusal('report', 'ledger', ...daysOf(month), '--merchant', unknown);
    expect(await admin.refusal('report', 'ledger', ...daysOf(month), '--format', 'xml')).toContain('csv');
  });
});
