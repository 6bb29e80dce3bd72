import { beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { numberEvents } from '../support/events.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';
const HOUR = 3_600_000;
const ZERO = '0.00';
const NOTHING = {
  ...{ earned: ZERO, granted: ZERO, redeemed: ZERO, returned: ZERO, taken_back: ZERO, voided: ZERO, debited: ZERO },
  ...{ expired: ZERO, closing_debt: ZERO },
};

type Row = Record<string, string | boolean | null>;
interface LedgerReport {
  data: Row[];
  total: Row;
}

const { service } = useService();

const today = (zone = ZONE): string => dayOf(service.clock.now(), zone);
const ledger = async (shop: TestMerchant, query: string): Promise<LedgerReport> =>
  await shop.get<LedgerReport>(`/reports/ledger?${query}`);

/** Moves the clock to an instant and does what is due. */
async function goTo(instant: Date | number): Promise<void> {
  await service.clock.advance({ ms: Number(instant) - service.clock.now().getTime() });
}

describe('GET /reports/ledger by store', () => {
  let merchant: TestMerchant;
  let query: string;

  beforeAll(async () => {
    merchant = await aLongLivedMerchant(service, { releaseDays: 0, redeemShareBps: 10_000, earnRateBps: 1000 });
    query = `from=${today()}&to=${addDays(today(), 1)}`;
    // A earns 10.00, and B redeems it.
    const document = aDocument();
    await merchant.completed({ document, total: '100.00', store: 'A' });
    await merchant.completed({ document, total: '10.00', store: 'B' }, { redeem: '10.00' });
    // C earns 5.00 that B takes back and that A makes a debt, which C repays with 1.00.
    const debtor = aDocument();
    const order = await merchant.completed({ document: debtor, total: '50.00', store: 'C' });
    await merchant.refund(order, '20.00', { store: 'B' });
    await merchant.completed({ document: debtor, total: '3.00', store: 'C' }, { redeem: '3.00' });
    await merchant.refund(order, '30.00', { store: 'A' });
    await merchant.completed({ document: debtor, total: '10.00', store: 'C' });
    await merchant.grant({ document: aDocument(), amount: '2.00', store: 'A' });
    await merchant.grant({ document: aDocument(), amount: '0.50' });
  });

  const EXPECTED = [
    { ...NOTHING, store: 'A', opening: ZERO, earned: '10.00', granted: '2.00', redeemed: '10.00', closing: '2.00' },
    { ...NOTHING, store: 'C', opening: ZERO, earned: '6.00', redeemed: '3.00', taken_back: '3.00', closing: ZERO },
    {
      ...NOTHING,
      store: null,
      opening: ZERO,
      granted: '0.50',
      taken_back: '2.00',
      closing: '-1.50',
      closing_debt: '2.00',
    },
  ];

  it('GET /reports/ledger?by=store has a row per store that owes cashback, which adds up, and the debts without a store', async () => {
    const { data, total } = await ledger(merchant, `${query}&by=store`);
    expect(data).toMatchObject(EXPECTED);
    expect(total).toMatchObject({ opening: ZERO, earned: '16.00', granted: '2.50', redeemed: '13.00' });
    expect(total).toMatchObject({ taken_back: '5.00', closing: '0.50', closing_debt: '2.00', closed: false });
  });

  it('GET /reports/ledger?by=store_pair says in which store cashback of another one was used, so that stores can clear', async () => {
    const { data, total } = await ledger(merchant, `${query}&by=store_pair`);
    const between = data.filter(({ store, in_store: place }) => store !== null && store !== place);
    expect(between).toMatchObject([
      { store: 'A', in_store: 'B', redeemed: '10.00', earned: ZERO, taken_back: ZERO },
      { store: 'C', in_store: 'B', redeemed: ZERO, earned: ZERO, taken_back: '2.00' },
    ]);
    expect(data.map(({ store, in_store: place }) => [store, place])).toContainEqual([null, 'A']);
    expect(total).toEqual((await ledger(merchant, `${query}&by=store`)).total);
  });

  it('GET /reports/ledger by store says the same after the day has been summed, and is closed then', async () => {
    const before = await ledger(merchant, `${query}&by=store_pair`);
    await goTo(startOfDay(addDays(today(), 1), ZONE).getTime() + HOUR / 2);
    const after = await ledger(merchant, `${query}&by=store_pair`);
    expect(after.data).toEqual(before.data.map((row) => ({ ...row, closed: true })));
    expect((await ledger(merchant, `${query}&by=store`)).data).toMatchObject(EXPECTED);
    const later = `from=${today()}&to=${addDays(today(), 1)}`;
    expect((await ledger(merchant, `${later}&by=store`)).data).toMatchObject(
      EXPECTED.filter(({ store }) => store !== 'C').map(({ store, closing, closing_debt }) => ({
        ...NOTHING,
        store,
        opening: closing,
        closing,
        closing_debt,
      })),
    );
    await expectInvariants(service);
  });

  it('GET /reports/ledger has what was debited, less what voids restored, in the store that owes it and where it was debited', async () => {
    const shop = await aLongLivedMerchant(service);
    const period = `from=${today()}&to=${addDays(today(), 1)}`;
    const document = aDocument();
    await shop.grant({ document, amount: '30.00', store: 'A' });
    await shop.debit({ document, amount: '5.00', store: 'B' });
    const voided = await shop.debit({ document, amount: '4.00', store: 'C' });
    const report = await ledger(shop, period);
    expect(report.data).toMatchObject([{ ...NOTHING, granted: '30.00', debited: '9.00', closing: '21.00' }]);
    await shop.voidDebit(voided);
    expect((await ledger(shop, period)).total).toMatchObject({ granted: '30.00', debited: '5.00', closing: '25.00' });
    expect((await ledger(shop, `${period}&by=store`)).data).toMatchObject([
      { ...NOTHING, store: 'A', granted: '30.00', debited: '5.00', closing: '25.00' },
    ]);
    const pairs = (await ledger(shop, `${period}&by=store_pair`)).data;
    expect(pairs.map(({ store, in_store, granted, debited }) => [store, in_store, granted, debited])).toEqual([
      ['A', 'A', '30.00', ZERO],
      ['A', 'B', ZERO, '5.00'],
    ]);
    await expectInvariants(service);
  });

  it('GET /reports/outstanding?by=store says what each store owes, now and at the end of a past day', async () => {
    const past = addDays(today(), -1);
    const { body: then } = await merchant.client.get<LedgerReport & { as_of: string }>(
      `/reports/outstanding?as_of=${past}&by=store`,
    );
    expect(then).toEqual({
      as_of: startOfDay(today(), ZONE).toISOString(),
      data: [
        { store: 'A', balance: '2.00', debt: ZERO },
        { store: null, balance: '0.50', debt: '2.00' },
      ],
      total: { balance: '2.50', debt: '2.00' },
    });
    const { body: now } = await merchant.client.get<LedgerReport>('/reports/outstanding?by=store');
    const some = { pending: ZERO, held: ZERO, expiring_in_30_days: ZERO };
    expect(now.data).toEqual([
      { store: 'A', balance: '2.00', debt: ZERO, available: '2.00', ...some },
      { store: null, balance: '0.50', debt: '2.00', available: '0.50', ...some },
    ]);
    expect(now.total).toEqual({ balance: '2.50', debt: '2.00', available: '2.50', ...some });
  });
});

describe('GET /reports/ledger by day and month', () => {
  it('GET /reports/ledger?by=day and by=month divide a period in parts of which each opens with what the last one closed', async () => {
    const merchant = await aLongLivedMerchant(service);
    const first = today();
    for (const amount of ['1.00', '2.00', '4.00']) {
      await merchant.credit(aDocument(), amount);
      await goTo(startOfDay(addDays(today(), 20), ZONE).getTime() + HOUR);
    }
    const to = addDays(first, 61);
    const days = await ledger(merchant, `from=${first}&to=${to}&by=day`);
    expect(days.data).toHaveLength(61);
    expect(days.data.filter(({ granted }) => granted !== ZERO)).toMatchObject([
      { from: first, to: addDays(first, 1), opening: ZERO, granted: '1.00', closing: '1.00', closed: true },
      { from: addDays(first, 20), opening: '1.00', granted: '2.00', closing: '3.00', closed: true },
      { from: addDays(first, 40), opening: '3.00', granted: '4.00', closing: '7.00', closed: true },
    ]);
    expect(days.data.at(-1)).toMatchObject({ closing: '7.00', closed: false });
    const months = await ledger(merchant, `from=${first}&to=${to}&by=month`);
    expect(months.total).toEqual(days.total);
    expect(months.data[0]!.from).toBe(first);
    expect(months.data.slice(1).every(({ from }) => String(from).endsWith('-01'))).toBe(true);
    expect(months.data.at(-1)!.to).toBe(to);
    for (const { from, to: end, ...month } of months.data) {
      const own = days.data.filter((day) => day.from! >= from! && day.to! <= end!);
      expect(month).toMatchObject({ opening: own[0]!.opening, closing: own.at(-1)!.closing });
    }
    const whole = await ledger(merchant, `from=${first}&to=${to}`);
    expect(whole.data).toEqual([whole.total]);
    expect(whole.total).toEqual({
      ...days.total,
      ...NOTHING,
      from: first,
      to,
      opening: ZERO,
      granted: '7.00',
      closing: '7.00',
    });
  });

  it.each([
    // The clocks skip 00:00 of September 6, 2026 in Chile, and repeat 23:00 of April 3, 2027.
    ['America/Santiago', '2026-09-06', 23],
    ['America/Santiago', '2027-04-03', 25],
    ['Europe/Lisbon', '2027-03-28', 23],
    ['Pacific/Kiritimati', '2026-12-31', 24],
  ])(
    'GET /reports/ledger in %s counts what happens on %s, a day of %d hours, from its first to its last millisecond',
    async (zone, day, hours) => {
      const merchant = await aLongLivedMerchant(service, { timeZone: zone });
      const [start, end] = [startOfDay(day, zone), startOfDay(addDays(day, 1), zone)];
      expect(+end - +start).toBe(hours * HOUR);
      const document = aDocument();
      await merchant.credit(document, '1.00');
      await merchant.completed({ document, total: '20.00' });
      // An entry cannot be made at an exact instant, so the rows are moved.
      await rowsOf(service, 'DROP TRIGGER IF EXISTS tr_cashback_entries_no_update');
      const at = (kind: string, instant: Date): Promise<unknown> =>
        rowsOf(
          service,
          'UPDATE cashback_entries SET created_at = ?, effective_at = ? WHERE merchant_id = ? AND kind = ?',
          [instant, instant, merchant.id, kind],
        );
      for (const [granted, earned, expected] of [
        [start, new Date(+end - 1), { opening: ZERO, granted: '1.00', earned: '1.00', closing: '2.00' }],
        [new Date(+start - 1), end, { opening: '1.00', granted: ZERO, earned: ZERO, closing: '1.00' }],
      ] as const) {
        await at('grant', granted);
        await at('earn', earned);
        const query = `from=${day}&to=${addDays(day, 1)}`;
        expect((await ledger(merchant, query)).total).toMatchObject(expected);
      }
    },
  );
});

describe('GET /reports/ledger', () => {
  it('GET /reports/ledger counts an entry that is committed after the end of its day, before and after the day is summed', async () => {
    const merchant = await aLongLivedMerchant(service);
    const document = aDocument();
    await merchant.credit(document, '1.00');
    const day = today();
    const query = `from=${day}&to=${addDays(day, 1)}`;
    const midnight = startOfDay(addDays(day, 1), ZONE).getTime();
    const late = service.dataSource.createQueryRunner();
    await late.startTransaction();
    await late.query(
      `INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at)
       SELECT wallet_id, merchant_id, seq + 1, 'void', -40, 60, 0, credit_id, ?, ? FROM cashback_entries WHERE merchant_id = ?`,
      [new Date(midnight - 1), new Date(midnight - 1), merchant.id],
    );
    await goTo(midnight + 9 * 60_000);
    expect((await ledger(merchant, query)).total).toMatchObject({ closing: '1.00', closed: false });
    await late.commitTransaction();
    await late.release();
    expect((await ledger(merchant, query)).total).toMatchObject({ voided: '0.40', closing: '0.60', closed: false });
    await goTo(midnight + 11 * 60_000);
    expect((await ledger(merchant, query)).total).toMatchObject({ voided: '0.40', closing: '0.60', closed: true });
  });

  it('GET /reports shows nothing of another merchant, and needs the permission `reports`', async () => {
    const [merchant, other] = [await aLongLivedMerchant(service), await aLongLivedMerchant(service)];
    await merchant.credit(aDocument(), '1.00');
    const query = `from=${today()}&to=${addDays(today(), 1)}`;
    expect((await ledger(other, query)).total).toMatchObject({ granted: ZERO, closing: ZERO });
    expect((await ledger(other, `${query}&by=store`)).data).toEqual([]);
    expect(await other.get('/reports/outstanding')).toMatchObject({ total: { balance: ZERO } });
    expect(await other.get('/reports/expiring?months=120')).not.toMatchObject({ data: [{ expiring: '1.00' }] });
    const seller = await aUser(service, merchant.id, ['sell', 'refund', 'grants']);
    for (const report of [`ledger?${query}`, 'outstanding', 'expiring', `frequent?${query}`, `customers?${query}`])
      await seller.get(`/reports/${report}`).refused(403, 'forbidden', { permission: 'reports' });
  });

  it.each([
    ['ledger', 'from', 'is required'],
    ['ledger?from=2026-11-01', 'to', 'is required'],
    ['ledger?from=2026-11-31&to=2026-12-01', 'from', 'calendar day'],
    ['ledger?from=2026-11-01T00:00:00Z&to=2026-12-01', 'from', 'calendar day'],
    ['ledger?from=2026-12-01&to=2026-11-01', 'to', 'must be after from'],
    ['ledger?from=2026-11-01&to=2026-11-01', 'to', 'must be after from'],
    ['ledger?from=2026-11-01&to=2027-11-03', 'to', 'at most 366 days'],
    ['ledger?from=2026-11-01&to=2026-12-01&by=week', 'by', 'store or store_pair or day or month'],
    ['ledger?from=2026-11-01&to=2026-12-01&by=day&by=month', 'by', 'store or'],
    ['ledger?from=2026-11-01&to=2026-12-01&csv=de', 'csv', 'pt-BR'],
    ['ledger?from=2026-11-01&to=2026-12-01&month=2026-11', 'month', 'not a query parameter'],
    ['outstanding?as_of=yesterday', 'as_of', 'calendar day'],
    ['outstanding?as_of=9998-12-31', 'as_of', 'that is over'],
    ['outstanding?by=day', 'by', 'must be store'],
    ['expiring?months=0', 'months', '1 to 120'],
    ['frequent?from=2026-12-01&to=2026-11-01', 'to', 'must be after from'],
    ['customers?from=2026-11-01&to=2026-12-03', 'to', 'at most 31 days'],
    ['customers?from=2026-11-01&to=2026-11-02&limit=1001', 'limit', '1 to 1000'],
    ['frequent?from=2026-11-01&to=2026-12-03', 'to', 'at most 31 days'],
    ['frequent?from=2026-11-01&to=2026-11-02&at_least=1', 'at_least', '2 to 1000'],
  ])('GET /reports/%s is refused and names the parameter', async (path, parameter, detail) => {
    const merchant = await aLongLivedMerchant(service);
    const problem = await merchant.get(`/reports/${path}`).refused(400, 'validation_failed');
    expect(problem.errors).toContainEqual({ parameter, detail: expect.stringContaining(detail) });
  });

  it('GET /reports/ledger refuses a report of more than 10,000 rows, and names the parameter', async () => {
    const merchant = await aLongLivedMerchant(service);
    const rows = Array.from({ length: 10_001 }, (_, at) => [
      merchant.id,
      '2020-01-01',
      `${at}`,
      `${at}`,
      'grant',
      1,
      1,
    ]);
    await rowsOf(service, 'INSERT INTO ledger_days VALUES ?', [rows]);
    const query = 'from=2020-01-01&to=2020-01-02';
    const problem = await merchant.get(`/reports/ledger?${query}&by=store`).refused(400, 'validation_failed');
    expect(problem.errors).toEqual([{ parameter: 'by', detail: expect.stringContaining('10000 rows') }]);
    expect((await ledger(merchant, query)).total).toMatchObject({ granted: '100.01', closing: '100.01' });
    await rowsOf(service, 'DELETE FROM ledger_days WHERE merchant_id = ? LIMIT 1', [merchant.id]);
    expect((await ledger(merchant, `${query}&by=store`)).data).toHaveLength(10_000);
  });

  it('GET /reports/outstanding?as_of refuses the current local day, although it is over elsewhere', async () => {
    const merchant = await aLongLivedMerchant(service, { timeZone: 'Pacific/Pago_Pago' });
    const own = today('Pacific/Pago_Pago');
    await merchant.get(`/reports/outstanding?as_of=${own}`).refused(400, 'validation_failed');
    expect(await merchant.get(`/reports/outstanding?as_of=${addDays(own, -1)}`)).toMatchObject({
      data: [{ balance: ZERO, debt: ZERO }],
    });
  });

  it('the time zone of a merchant cannot change after the first entry of its ledger, other rules can', async () => {
    const merchant = await aLongLivedMerchant(service);
    await merchant.setPolicy({ timeZone: 'America/Manaus' });
    await numberEvents(service);
    await merchant.setPolicy({ timeZone: ZONE });
    await merchant.credit(aDocument(), '1.00');
    await expect(merchant.setPolicy({ timeZone: 'America/Manaus' })).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/time_zone', detail: expect.stringContaining('after the first entry') }],
    });
    await merchant.setPolicy({ timeZone: ZONE, releaseDays: 1 });
    expect((await merchant.policy()).time_zone).toBe(ZONE);
  });

  it('a change of the time zone waits for a first entry that is not yet committed', async () => {
    const merchant = await aLongLivedMerchant(service);
    const open = service.dataSource.createQueryRunner();
    await open.startTransaction();
    const wallet = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
    const now = service.clock.now();
    await open.query('SET foreign_key_checks = 0');
    await open.query(
      `INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at)
       VALUES (?, ?, 1, 'earn', 1, 1, 0, ?, ?, ?)`,
      [wallet, merchant.id, wallet, now, now],
    );
    const change = merchant.setPolicy({ timeZone: 'America/Manaus' });
    setTimeout(() => void open.rollbackTransaction(), 300);
    await change;
    await open.query('SET foreign_key_checks = 1');
    await open.release();
    expect((await merchant.policy()).time_zone).toBe('America/Manaus');
  });
});
