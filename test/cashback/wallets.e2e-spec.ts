import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CustomerEntryDto } from '../../src/cashback/entry.dto.js';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { parseMoney, sumCents } from '../../src/platform/values/money.js';
import { atOnce } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { localDate, startOfDayAfter as startOfDayIn } from '../support/days.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Credit, Customer, Entry, Grant, Json, Order, Page, Refund, Shop, Wallet } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf, startOfDayAfter } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

const NEVER_FROZEN = { frozen: false, freeze_changed_at: null, freeze_changed_by: null, freeze_reason: null };

const neverSeen = (document: string) => ({
  id: null,
  document,
  available: '0.00',
  pending: '0.00',
  held: '0.00',
  debt: '0.00',
  ...NEVER_FROZEN,
  next_release: null,
  next_expiry: null,
});

describe('POST /wallets/search', () => {
  it('POST /wallets/search returns the balance, the next release, and the next expiry', async () => {
    const document = aDocument();
    const [soon, later] = [service.clock.inDays(3), service.clock.inDays(9)];
    await merchant.credit(document, '5.00', { expiresAt: later });
    await merchant.credit(document, '1.00', { expiresAt: soon });
    await merchant.credit(document, '2.00', { expiresAt: soon });
    await merchant.credit(document, '30.00', {
      availableAt: service.clock.inDays(20),
      expiresAt: service.clock.inDays(21),
    });
    const completed = await merchant.completed({ document });
    const open = await merchant.create({ document });
    await merchant.hold(open, '2.00');
    expect(await merchant.wallet(document)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      document,
      available: '6.00',
      pending: '37.50',
      held: '2.00',
      debt: '0.00',
      ...NEVER_FROZEN,
      next_release: {
        ...{ amount: '7.50', at: startOfDayAfter(completed.completed_at, 8) },
        available_on: completed.cashback.to_receive.available_on,
      },
      next_expiry: { amount: '1.00', at: soon.toISOString(), expires_on: localDate(+soon - 1, 'America/Sao_Paulo') },
    });
  });

  it('POST /wallets/search adds up the amounts released or expiring at the same instant', async () => {
    const document = aDocument();
    const [from, to] = [service.clock.inDays(1), service.clock.inDays(2)];
    for (const amount of ['1.00', '2.50']) {
      await merchant.credit(document, amount, { expiresAt: to });
      await merchant.credit(document, amount, { availableAt: from, expiresAt: to });
    }
    expect(await merchant.wallet(document)).toMatchObject({
      next_release: { amount: '3.50', at: from.toISOString() },
      next_expiry: { amount: '3.50', at: to.toISOString() },
    });
  });

  it('POST /wallets/search returns only the wallet with this merchant', async () => {
    const document = aDocument();
    const other = await aMerchant(service);
    await merchant.credit(document, '5.00');
    expect(await other.wallet(document)).toEqual(neverSeen(document));
    await other.credit(document, '7.00');
    expect((await other.wallet(document)).available).toBe('7.00');
    expect((await merchant.wallet(document)).available).toBe('5.00');
    expect((await merchant.wallet(document)).id).not.toBe((await other.wallet(document)).id);
  });

  it.each([
    [undefined],
    [null],
    [52998224725],
    [''],
    ['5299822472'],
    ['529982247255'],
    ['529.982.247.25'],
    ['529.982.247-2'],
    ['5299822472a'],
    ['５２９９８２２４７２５'],
    ['52998224725\n'],
    [' 52998224725'],
    [['52998224725']],
  ])('POST /wallets/search returns 400 when the document is %j', async (document) => {
    await merchant.wallet(document).refused(400, 'validation_failed', ['/document']);
  });
});

describe('GET /wallets/{id}', () => {
  it('GET /wallets/{id} returns the wallet like the search by document, also when repeated and while it changes', async () => {
    const document = await merchant.customerWith('5.00', { expiresAt: service.clock.inDays(3) });
    const order = await merchant.create({ document });
    await merchant.hold(order, '2.00');
    const found = await merchant.wallet(document);
    for (const id of [found.id, found.id.toUpperCase()])
      expect(await merchant.client.get(`/wallets/${id}`)).toMatchObject({ status: 200, body: found });
    const grants = atOnce(5, () => merchant.credit(document, '1.00'));
    const seen = await atOnce(5, () => merchant.client.get(`/wallets/${found.id}`));
    await grants;
    for (const { status, body } of seen) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: found.id, held: '2.00', available: expect.stringMatching(/^[3-8]\.00$/) });
    }
    expect((await merchant.client.get(`/wallets/${found.id}`)).body).toEqual(await merchant.wallet(document));
  });

  it('GET /wallets/{id} returns the wallet of an erased customer, because its ID stays', async () => {
    const document = await merchant.customerWith('5.00');
    const { id } = await merchant.wallet(document);
    const { pseudonym } = await merchant.erase(document);
    const body = { id, document: pseudonym, available: '5.00' };
    expect(await merchant.client.get(`/wallets/${id}`)).toMatchObject({ status: 200, body });
    expect(await merchant.wallet(document)).toEqual(neverSeen(document));
  });
});

describe('GET /wallets/{id}/entries', () => {
  /** A customer with 80.00 who held 20.00, completed the order, and was partially refunded. */
  async function aWalletWithEntries(): Promise<{ document: string; order: Order; refund: Refund; id: string }> {
    const created = await merchant.orderWith('80.00');
    await merchant.hold(created, '20.00');
    const order = await merchant.complete(created);
    const refund = await merchant.refund(created, '75.00');
    return { document: created.document, order, refund, id: (await merchant.wallet(created.document)).id };
  }

  it('GET /wallets/{id}/entries returns every entry with its kind, amount, order, and balance, newest first', async () => {
    const { order, refund, id } = await aWalletWithEntries();
    const body = await merchant.entries({ id });
    const caused = { order_id: order.id, refund_id: null };
    expect(body).toMatchObject({
      next_cursor: null,
      data: [
        { seq: 5, kind: 'take_back', amount: '-3.25', balance: '73.25', order_id: order.id, refund_id: refund.id },
        { seq: 4, kind: 'return', amount: '10.00', balance: '76.50', order_id: order.id, refund_id: refund.id },
        { seq: 3, kind: 'earn', amount: '6.50', balance: '66.50', ...caused, effective_at: order.completed_at },
        { seq: 2, kind: 'redeem', amount: '-20.00', balance: '60.00', ...caused },
        { seq: 1, kind: 'grant', amount: '80.00', balance: '80.00', order_id: null, refund_id: null },
      ],
    });
    expect(body.data.map(({ debt }: { debt: string }) => debt)).toEqual(Array(5).fill('0.00'));
    expect(body.data[0]).toEqual({
      ...body.data[0],
      credit_id: expect.any(String),
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  it('a cursor of entries or credits is refused for another wallet, and finds no wallet of another merchant', async () => {
    const [{ id }, { id: another }, other] = [
      await aWalletWithEntries(),
      await aWalletWithEntries(),
      await aMerchant(service),
    ];
    for (const list of ['entries', 'credits']) {
      const { next_cursor } = await merchant.get<Page<unknown>>(`/wallets/${id}/${list}?limit=1`);
      await other.get(`/wallets/${id}/${list}?cursor=${next_cursor}`).refused(404, 'not_found');
    }
    const { next_cursor } = await merchant.entries({ id }, 'limit=1');
    await merchant
      .entries({ id: another }, `cursor=${next_cursor}`)
      .refused(400, 'validation_failed', { errors: [{ parameter: 'cursor' }] });
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=x'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["entries","1"]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from('["entries",1.5]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from('["entries",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`],
  ])('GET /wallets/{id}/entries returns 400 when %s is invalid: %s', async (parameter, query) => {
    const { id } = await aWalletWithEntries();
    await merchant.entries({ id }, query).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });
});

describe('a customer with a CNPJ', () => {
  it('a company has a wallet with each merchant, and none under another branch or the first 11 characters', async () => {
    const other = await aMerchant(service);
    await merchant.grant({ document: '33000167000101', amount: '80.00' });
    expect((await merchant.wallet('33000167000101')).available).toBe('80.00');
    for (const another of ['33000167000292', '33000167000', '33000167000100'])
      expect((await merchant.wallet(another)).id).toBeNull();
    expect((await other.wallet('33000167000101')).id).toBeNull();
  });
});

describe('the credits of a wallet', () => {
  const UNKNOWN_ID = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
  /** The day in São Paulo (UTC-3). */
  const dayOf = (instant: Date): string => new Date(instant.getTime() - 3 * 3_600_000).toISOString().slice(0, 10);

  /** All open credits of a customer, as the pages list them. */
  async function creditsOf(document: string, limit = 100): Promise<Credit[]> {
    const { id } = await merchant.wallet(document);
    return merchant.all(`/wallets/${id}/credits?limit=${limit}`);
  }

  /** A customer with `number` credits of 1.00, which all expire in the same millisecond. @returns the wallet. */
  async function aWalletOf(number: number): Promise<{ id: string; document: string; expiresAt: Date }> {
    const [document, expiresAt] = [aDocument(), service.clock.inDays(30)];
    for (let at = 0; at < number; at++) await merchant.credit(document, '1.00', { expiresAt });
    return { id: (await merchant.wallet(document)).id, document, expiresAt };
  }

  describe('GET /wallets/{id}/credits', () => {
    it('GET /wallets/{id}/credits returns each open credit with its amounts, days and source, earliest expiry first', async () => {
      const document = aDocument();
      const sorry = { external_id: `SORRY-${document}`, document, amount: '12.00', reason: 'Late delivery' };
      const granted = await merchant.grant({ ...sorry, expires_on: dayOf(service.clock.inDays(9)) });
      const order = await merchant.completed({ document });
      const promo = {
        external_id: `PROMO-${document}`,
        document,
        amount: '5.00',
        expires_on: dayOf(service.clock.inDays(3)),
      };
      const soon = await merchant.grant(promo);
      const { id } = await merchant.wallet(document);
      const [earned] = await rowsOf(service, 'SELECT id FROM cashback_credits WHERE order_id = ?', [order.id]);
      const { available_at, expires_at, expires_on } = order.cashback.to_receive;
      const pick = ({ amount, remaining, available_at, expires_at, expires_on }: Credit | Grant): object => ({
        ...{ amount, remaining, held: '0.00', available_at, expires_at, expires_on },
      });
      const source = { type: 'grant', reason: null, return: false };
      for (const path of [`/wallets/${id}/credits`, `/wallets/${id.toUpperCase()}/credits`])
        expect(await merchant.client.get(path)).toMatchObject({
          status: 200,
          body: {
            next_cursor: null,
            data: [
              { ...pick(soon), id: soon.id, source: { ...source, id: soon.id, external_id: promo.external_id } },
              {
                ...pick(granted),
                id: granted.id,
                source: { ...source, id: granted.id, external_id: sorry.external_id, reason: 'Late delivery' },
              },
              {
                ...{
                  id: earned!.id,
                  amount: '7.50',
                  remaining: '7.50',
                  held: '0.00',
                  available_at,
                  expires_at,
                  expires_on,
                },
                source: { type: 'order', id: order.id, external_id: order.external_id, reason: null, return: false },
              },
            ],
          },
        });
    });

    it('GET /wallets/{id}/credits adds up to the available, pending and held balance, without credits that are wholly held, spent or expired', async () => {
      const document = await merchant.customerWith('5.00', { expiresAt: service.clock.inDays(2) });
      await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(20) });
      await merchant.credit(document, '30.00', { expiresAt: service.clock.inDays(40) });
      await merchant.completed({ document });
      const order = await merchant.create({ document });
      const remaining = async (): Promise<string[]> =>
        (await creditsOf(document)).map(({ remaining, held }) =>
          held === '0.00' ? remaining : `${remaining} (${held})`,
        );
      await merchant.hold(order, '7.00');
      expect(await merchant.wallet(document)).toMatchObject({ available: '38.00', pending: '7.50', held: '7.00' });
      expect(await remaining()).toEqual(['10.00 (2.00)', '30.00', '7.50']);
      await merchant.cancel(order);
      expect(await remaining()).toEqual(['5.00', '10.00', '30.00', '7.50']);
      service.clock.skip(3 * 86_400_000);
      // The sweep has not written the expiry yet.
      expect(await remaining()).toEqual(['10.00', '30.00', '7.50']);
      await service.clock.advance({ days: 40 });
      expect(await remaining()).toEqual(['7.50']);
    });

    /** A customer with credits that are spent, expired, voided, wholly held, partly held and open. */
    async function aCustomerOfAllStates(): Promise<{ document: string; id: string; amounts: string[] }> {
      const document = aDocument();
      for (const [amount, days] of [
        ['4.00', 1],
        ['1.00', 2],
        ['2.00', 20],
        ['3.00', 40],
      ] as const)
        await merchant.credit(document, amount, { expiresAt: service.clock.inDays(days) });
      // It redeems 4.00 and 0.50 of 1.00, the rest of which expires, and holds 2.00 and 0.50 of 3.00.
      await merchant.completed({ document, total: '100.00' }, { redeem: '4.50' });
      await service.clock.advance({ days: 3 });
      await merchant.voidGrant(await merchant.grant({ document, amount: '6.00' }));
      await merchant.hold(await merchant.create({ document, total: '100.00' }), '2.50');
      const { id } = await merchant.wallet(document);
      return { document, id, amounts: ['4.00', '1.00', '2.00', '3.00', '6.00', '4.77'] };
    }

    it('GET /wallets/{id}/credits?status=all returns each credit, also spent and expired ones, earliest expiry first', async () => {
      const { id, amounts } = await aCustomerOfAllStates();
      const shown = ({ amount, remaining, held }: Credit): string[] => [amount, remaining, held];
      const all = (await merchant.credits({ id }, 'status=all')).data;
      expect(all.map(shown)).toEqual([
        ['4.00', '0.00', '0.00'],
        ['1.00', '0.00', '0.00'],
        ['2.00', '2.00', '2.00'],
        ['3.00', '3.00', '0.50'],
        ['6.00', '0.00', '0.00'],
        ['4.77', '4.77', '0.00'],
      ]);
      expect(all.map(({ amount }) => amount)).toEqual(amounts);
      expect(all.map(({ expires_at }) => expires_at)).toEqual(all.map(({ expires_at }) => expires_at).sort());
      const open = (await merchant.credits({ id })).data;
      expect(open.map(shown)).toEqual([
        ['3.00', '3.00', '0.50'],
        ['4.77', '4.77', '0.00'],
      ]);
      for (const credit of open) expect(all).toContainEqual(credit);
      expect((await merchant.credits({ id }, 'status=open')).data).toEqual(open);
    });

    it('GET /wallets/{id}/credits names a grant of the operator without an external ID by its ID', async () => {
      const document = await merchant.customerWith('5.00');
      const { id, source } = (await creditsOf(document))[0]!;
      expect(source).toEqual({ type: 'grant', id, external_id: id, reason: null, return: false });
      expect(await merchant.readGrant({ id })).toMatchObject({ external_id: id });
    });

    it.each([1, 3, 7])(
      'GET /wallets/{id}/credits pages of %d return each credit once while credits with the same expiry are granted',
      async (limit) => {
        const { id, document, expiresAt } = await aWalletOf(7);
        await merchant.credit(document, '2.00', { expiresAt: service.clock.inDays(1) });
        await merchant.credit(document, '3.00', { expiresAt: service.clock.inDays(60) });
        const before = (await creditsOf(document)).map((credit) => credit.id);
        expect(before).toHaveLength(9);
        const seen: string[] = [];
        for (let cursor = ''; ;) {
          const body = await merchant.credits({ id }, `limit=${limit}${cursor}`);
          seen.push(...body.data.map((credit: { id: string }) => credit.id));
          if (body.next_cursor === null) break;
          cursor = `&cursor=${body.next_cursor}`;
          if (seen.length < 9) await merchant.credit(document, '1.00', { expiresAt });
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((credit) => before.includes(credit))).toEqual(before);
      },
    );

    it('GET /wallets/{id}/credits continues after a credit that has expired since', async () => {
      const document = aDocument();
      for (const days of [1, 2, 3])
        await merchant.credit(document, `${days}.00`, { expiresAt: service.clock.inDays(days) });
      const { id } = await merchant.wallet(document);
      const body = await merchant.credits({ id }, 'limit=1');
      await service.clock.advance({ hours: 49 });
      const next = await merchant.credits({ id }, `cursor=${body.next_cursor}`).answer;
      expect(next.body).toMatchObject({ data: [{ amount: '3.00' }], next_cursor: null });
    });

    it.each([
      ['limit', 'limit=0'],
      ['limit', 'limit=101'],
      ['limit', 'limit=x'],
      ['cursor', 'cursor='],
      ['cursor', 'cursor=abc'],
      ['cursor', `cursor=${Buffer.from('["credits",1]').toString('base64url')}`],
      ['cursor', `cursor=${Buffer.from(`["credits","${UNKNOWN_ID}",1]`).toString('base64url')}`],
      ['cursor', `cursor=${Buffer.from(`["credits",8640000000000001,"${UNKNOWN_ID}"]`).toString('base64url')}`],
      ['summary', 'summary=true'],
      ['status', 'status=x'],
      ['status', 'status='],
      ['status', 'status=spent'],
      ['status', 'status=open,all'],
    ])('GET /wallets/{id}/credits returns 400 when %s is invalid: %s', async (parameter, query) => {
      const { id } = await aWalletOf(1);
      await merchant.credits({ id }, query).refused(400, 'validation_failed', { errors: [{ parameter }] });
    });
  });
});

describe('what expires in the months to come', () => {
  const ZONE = 'America/Sao_Paulo';

  let merchant: TestMerchant;
  /** The first instants of the current month and the following ones in São Paulo. */
  const starts: Date[] = [];
  const months: string[] = [];

  beforeEach(async () => {
    merchant = await aMerchant(service, { redeemShareBps: 10_000 });
    const now = service.clock.now().getTime();
    starts.length = months.length = 0;
    for (let days = 0; starts.length < 5; days++) {
      const start = startOfDayIn(now, days, ZONE);
      const month = localDate(start, ZONE).slice(0, 7);
      if (months.at(-1) !== month) starts.push(new Date(start));
      if (months.at(-1) !== month) months.push(month);
    }
  });

  interface Month {
    month: string;
    expiring: string;
    held: string;
  }

  const expiringOf = async (id: string, query = '', shop = merchant): Promise<Month[]> =>
    (await shop.send<{ data: Month[] }>('GET', `/wallets/${id}/expiring${query}`, {}, 200)).data;

  const sumOf = (amounts: string[]): number => sumCents(amounts.map(parseMoney));

  async function hold(document: string, amount: string): Promise<void> {
    await merchant.hold(await merchant.create({ document, total: amount, payment_methods: [] }), amount);
  }

  describe('GET /wallets/{id}/expiring', () => {
    it('GET /wallets/{id}/expiring has each month with what expires in it, and adds up to what the wallet has', async () => {
      const document = await merchant.customerWith('2.00', { expiresAt: new Date(starts[1]!.getTime() - 1) });
      await merchant.credit(document, '3.00', { expiresAt: starts[1]! });
      await merchant.credit(document, '4.00', { availableAt: starts[1]!, expiresAt: starts[3]! });
      await merchant.credit(document, '9.00', { expiresAt: starts[4]! });
      await merchant.customerWith('100.00', { expiresAt: starts[1]! });
      // It holds all of the first credit, and a part of the second.
      await hold(document, '3.50');
      const wallet = await merchant.wallet(document);
      expect(await expiringOf(wallet.id, '?months=4')).toEqual([
        { month: months[0], expiring: '2.00', held: '2.00' },
        { month: months[1], expiring: '3.00', held: '1.50' },
        { month: months[2], expiring: '0.00', held: '0.00' },
        { month: months[3], expiring: '4.00', held: '0.00' },
      ]);
      const year = await expiringOf(wallet.id);
      expect(year).toHaveLength(12);
      const { available, pending, held } = wallet;
      expect(sumOf(year.map(({ expiring }) => expiring))).toBe(sumOf([available, pending, held]));
      expect(sumOf(year.map((month) => month.held))).toBe(sumOf([held]));
      expect(await expiringOf(wallet.id)).toEqual(year);
    });

    it('the customers of a merchant add up to GET /reports/expiring', async () => {
      const documents = [aDocument(), aDocument(), aDocument()];
      for (const [at, document] of documents.entries()) {
        await merchant.credit(document, `${at + 1}.00`, { expiresAt: starts[at + 1]! });
        await merchant.credit(document, '5.00', { expiresAt: starts[2]! });
        await hold(document, '1.50');
      }
      const { data } = await merchant.get<{ data: Month[] }>('/reports/expiring');
      const own = await Promise.all(documents.map(async (of) => expiringOf((await merchant.wallet(of)).id)));
      for (const [at, { month, expiring, held }] of data.entries()) {
        expect(own.map((rows) => rows[at]!.month)).toEqual([month, month, month]);
        expect(sumOf(own.map((rows) => rows[at]!.expiring))).toBe(sumOf([expiring]));
        expect(sumOf(own.map((rows) => rows[at]!.held))).toBe(sumOf([held]));
      }
    });

    it('what has expired and is still held counts in the current month, and is gone after the release', async () => {
      const document = await merchant.customerWith('9.00', { expiresAt: service.clock.inMinutes(1) });
      const order = await merchant.create({ document });
      await merchant.hold(order, '9.00');
      service.clock.skip(2 * 60_000);
      const { id } = await merchant.wallet(document);
      expect((await expiringOf(id, '?months=1'))[0]).toMatchObject({ expiring: '9.00', held: '9.00' });
      await merchant.cancel(order);
      expect((await expiringOf(id, '?months=1'))[0]).toMatchObject({ expiring: '0.00', held: '0.00' });
    });

    it('months are those of the merchant’s time zone', async () => {
      const east = await aMerchant(service, { timeZone: 'Pacific/Kiritimati' });
      const document = aDocument();
      const end = new Date(starts[2]!.getTime() - 1);
      await east.credit(document, '5.00', { expiresAt: end });
      const { id } = await east.wallet(document);
      const found = (await expiringOf(id, '', east)).filter(({ expiring }) => expiring !== '0.00');
      expect(found).toMatchObject([{ month: localDate(+end, 'Pacific/Kiritimati').slice(0, 7), expiring: '5.00' }]);
    });

    it('an erased customer keeps what it has, and a user without permissions can read it', async () => {
      const document = await merchant.customerWith('5.00');
      await hold(document, '5.00');
      const { id } = await merchant.wallet(document);
      const before = await expiringOf(id);
      expect(sumOf(before.map(({ held }) => held))).toBe(500);
      await merchant.erase(document);
      expect(await expiringOf(id, '', await aUser(service, merchant.id, []))).toEqual(before);
    });

    it.each(['0', '121', '-1', 'all', ''])(
      'GET /wallets/{id}/expiring refuses %j as a number of months',
      async (text) => {
        const { id } = await merchant.wallet(await merchant.customerWith('5.00'));
        const errors = [{ parameter: 'months' }];
        await merchant.get(`/wallets/${id}/expiring?months=${text}`).refused(400, 'validation_failed', { errors });
      },
    );
  });
});

describe('statements', () => {
  const NO_NAMES = {
    order_external_id: null,
    refund_external_id: null,
    grant_id: null,
    grant_external_id: null,
    reason: null,
  };

  describe('the names in a statement', () => {
    it('each line has the external IDs of its order, refund and grant, and only those of the grant itself have its reason', async () => {
      const document = aDocument();
      const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
      const { body: granted } = await merchant.client.post('/grants', sorry);
      const order = await merchant.completed({ document }, { redeem: '5.00' });
      const refund = await merchant.refund(order, '150.00', { external_id: 'DEV-Nº 1' });
      await merchant.voidGrant(granted);
      const ofOrder = { ...NO_NAMES, order_id: order.id, order_external_id: order.external_id };
      const fromGrant = { grant_id: granted.id, grant_external_id: sorry.external_id, reason: null };
      const ofGrant = { ...fromGrant, reason: 'Late delivery' };
      const ofRefund = { refund_id: refund.id, refund_external_id: 'DEV-Nº 1' };
      expect(await merchant.statement(document)).toMatchObject([
        { kind: 'grant', ...NO_NAMES, ...ofGrant, credit_id: granted.id },
        { kind: 'redeem', ...ofOrder, ...fromGrant },
        { kind: 'earn', ...ofOrder },
        { kind: 'return', ...ofOrder, ...ofRefund, ...fromGrant },
        { kind: 'take_back', ...ofOrder, ...ofRefund },
        { kind: 'void', ...NO_NAMES, ...ofGrant, order_id: null, refund_id: null },
      ]);
    });

    it('lines of the debt and of a grant without an external ID and a reason have names too', async () => {
      const document = aDocument();
      const first = await merchant.completed({ document });
      await service.clock.advance({ days: 10 });
      await merchant.completed({ document, total: '15.00' }, { redeem: '7.50' });
      await merchant.refund(first, '150.00', { external_id: 'DEV-1' });
      await merchant.credit(document, '50.00');
      const lines = await merchant.statement(document);
      const ofOrder = { order_id: first.id, order_external_id: first.external_id, refund_external_id: 'DEV-1' };
      expect(lines.find(({ kind }) => kind === 'debt')).toMatchObject({ ...NO_NAMES, ...ofOrder, credit_id: null });
      const granted = lines.find(({ kind }) => kind === 'grant');
      expect(granted).toMatchObject({
        grant_id: granted?.credit_id,
        grant_external_id: granted?.credit_id,
        reason: null,
      });
      expect(lines.find(({ kind }) => kind === 'repay')).toMatchObject({ ...NO_NAMES, order_id: null });
    });
  });

  describe('the source of a line', () => {
    it('the lines of a void, an expiry, a debit and its void, and a corrected customer say where their credit comes from', async () => {
      const document = aDocument();
      const granted = await merchant.grant({ document, amount: '20.00', reason: 'Late delivery', store: 'RJ-003' });
      const debit = await merchant.debit({ document, amount: '5.00', reason: 'Granted twice', store: 'MG-001' });
      await merchant.voidDebit(debit);
      await merchant.debit({ document, amount: '2.00', reason: 'Another reason' });
      await merchant.voidGrant(granted);
      await merchant.credit(document, '3.00', { expiresAt: service.clock.inDays(1) });
      const operator = (await merchant.statement(document)).at(-1)!.credit_id!;
      await service.clock.advance({ days: 2 });
      const order = await merchant.completed({ document, store: 'SP-014' });
      const right = aDocument();
      await merchant.changeCustomer(order, right);
      const ofGrant = {
        type: 'grant',
        id: granted.id,
        external_id: granted.external_id,
        store: 'RJ-003',
        return: false,
      };
      const ofOperator = { type: 'grant', id: operator, external_id: operator, store: null, return: false };
      const ofOrder = { type: 'order', id: order.id, external_id: order.external_id, store: 'SP-014', return: false };
      const ofDebit = { debit_id: debit.id, debit_external_id: debit.external_id, reason: 'Granted twice' };
      const none = { debit_id: null, debit_external_id: null };
      const lines = [...(await merchant.statement(document)), ...(await merchant.statement(right))];
      expect(lines).toMatchObject([
        { kind: 'grant', amount: '20.00', source: ofGrant, ...none, reason: 'Late delivery' },
        { kind: 'debit', amount: '-5.00', source: ofGrant, ...ofDebit, store: 'MG-001' },
        { kind: 'debit', amount: '5.00', source: ofGrant, ...ofDebit, store: 'MG-001' },
        { kind: 'debit', amount: '-2.00', source: ofGrant, reason: 'Another reason' },
        { kind: 'void', amount: '-18.00', source: ofGrant, ...none, reason: 'Late delivery' },
        { kind: 'grant', amount: '3.00', source: ofOperator, ...none, reason: null },
        { kind: 'expire', amount: '-3.00', source: ofOperator, ...none, reason: null },
        { kind: 'earn', amount: '7.50', source: ofOrder, ...none, reason: null },
        { kind: 'move_out', amount: '-7.50', source: ofOrder, ...none, reason: null },
        { kind: 'move_in', amount: '7.50', source: ofOrder, ...none, reason: null },
      ]);
      expect(lines.map((line) => line.lines)).toEqual(lines.map(() => 1));
      for (const { source } of lines)
        expect(Object.keys(source!).sort()).toEqual(['external_id', 'id', 'return', 'store', 'type']);
    });

    it('a line of a credit that a refund returned as a new one names the order on which it was redeemed', async () => {
      const document = await merchant.customerWith('20.00', { expiresAt: service.clock.inDays(1) });
      const order = await merchant.completed({ document, earn_amount: '0.00', store: 'SP-014' }, { redeem: '20.00' });
      await service.clock.advance({ days: 2 });
      const refund = await merchant.refund(order, '150.00');
      const last = (await merchant.statement(document)).at(-1)!;
      expect(last).toMatchObject({
        ...{ kind: 'return', amount: '20.00', refund_id: refund.id, grant_id: null, reason: null },
        source: { type: 'order', id: order.id, external_id: order.external_id, return: true },
      });
      const [credit] = (await merchant.credits(await merchant.wallet(document))).data;
      expect(credit).toMatchObject({ id: last.credit_id, store: last.source!.store });
    });
  });

  describe('GET /wallets/{id}/entries?by=change', () => {
    /** A customer with three grants, of each of which an order redeems a part, and two refunds that return it. */
    async function aWallet(): Promise<{ id: string; document: string; order: Order }> {
      const document = aDocument();
      for (const [amount, days] of [
        ['20.00', 60],
        ['10.00', 20],
        ['30.00', 40],
      ] as const)
        await merchant.credit(document, amount, { expiresAt: service.clock.inDays(days) });
      const order = await merchant.completed({ document }, { redeem: '45.00' });
      await merchant.refund(order, '75.00');
      await merchant.refund(order, '75.00');
      const { id } = await merchant.wallet(document);
      return { id, document, order };
    }

    it('a redemption and a refund of many credits are one line with the sum, and the balance after it', async () => {
      const { id, document, order } = await aWallet();
      const entries = await merchant.statement(document);
      const short = ({ seq, kind, amount, balance, lines }: Entry): unknown[] => [seq, kind, amount, balance, lines];
      expect(entries.map(short)).toEqual([
        [1, 'grant', '20.00', '20.00', 1],
        [2, 'grant', '10.00', '30.00', 1],
        [3, 'grant', '30.00', '60.00', 1],
        [4, 'redeem', '-10.00', '50.00', 1],
        [5, 'redeem', '-30.00', '20.00', 1],
        [6, 'redeem', '-5.00', '15.00', 1],
        [7, 'earn', '5.25', '20.25', 1],
        [8, 'return', '5.00', '25.25', 1],
        [9, 'return', '17.50', '42.75', 1],
        [10, 'take_back', '-2.63', '40.12', 1],
        [11, 'return', '12.50', '52.62', 1],
        [12, 'return', '10.00', '62.62', 1],
        [13, 'take_back', '-2.62', '60.00', 1],
      ]);
      const changes = (await merchant.entries({ id }, 'by=change')).data.toReversed();
      expect(changes.map(short)).toEqual([
        [1, 'grant', '20.00', '20.00', 1],
        [2, 'grant', '10.00', '30.00', 1],
        [3, 'grant', '30.00', '60.00', 1],
        [6, 'redeem', '-45.00', '15.00', 3],
        [7, 'earn', '5.25', '20.25', 1],
        [9, 'return', '22.50', '42.75', 2],
        [10, 'take_back', '-2.63', '40.12', 1],
        [12, 'return', '22.50', '62.62', 2],
        [13, 'take_back', '-2.62', '60.00', 1],
      ]);
      // A line of one entry is that entry. One of several names no credit, and is the last entry otherwise.
      const several = { credit_id: null, source: null, grant_id: null, grant_external_id: null, reason: null };
      for (const change of changes) {
        const last = entries[change.seq - 1]!;
        const { lines, amount } = change;
        expect(change).toEqual(lines === 1 ? last : { ...last, ...several, lines, amount });
      }
      expect(changes[3]).toMatchObject({ order_id: order.id, order_external_id: order.external_id, refund_id: null });
    });

    it.each([1, 2, 3, 5, 100])(
      'pages of %d lines by change return the same lines, and end between changes',
      async (limit) => {
        const { id } = await aWallet();
        const { data } = await merchant.entries({ id }, 'by=change&limit=100');
        expect(data).toHaveLength(9);
        const pages = await merchant.client.pages<Entry>(`/wallets/${id}/entries?by=change&limit=${limit}`);
        expect(pages.flatMap((page) => page.data)).toEqual(data);
        for (const page of pages) expect(page.data.length).toBeLessThanOrEqual(limit);
      },
    );

    it.each([1, 2])(
      'pages of %d lines by change return each existing line once while lines are added',
      async (limit) => {
        const { id, document } = await aWallet();
        const { data } = await merchant.entries({ id }, 'by=change&limit=100');
        const seen: Entry[] = [];
        for (let cursor = ''; ;) {
          const page = await merchant.entries({ id }, `by=change&limit=${limit}${cursor}`);
          seen.push(...page.data);
          if (page.next_cursor === null) break;
          await merchant.credit(document, '10.00');
          await merchant.completed({ document, total: '50.00', earn_amount: '0.00' }, { redeem: '15.00' });
          cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
        }
        expect(seen).toEqual(data);
      },
    );

    it('changes of the same kind stay apart: two orders, two grants, and a debit and its void', async () => {
      const document = aDocument();
      for (const days of [20, 30]) await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(days) });
      await merchant.completed({ document, earn_amount: '0.00' }, { redeem: '4.00' });
      await merchant.completed({ document, earn_amount: '0.00' }, { redeem: '4.00' });
      const debit = await merchant.debit({ document, amount: '5.00', reason: 'Granted twice' });
      await merchant.voidDebit(debit);
      const { id } = await merchant.wallet(document);
      const changes = (await merchant.entries({ id }, 'by=change')).data.toReversed();
      expect(changes.map(({ kind, amount, lines }) => [kind, amount, lines])).toEqual([
        ['grant', '10.00', 1],
        ['grant', '10.00', 1],
        ['redeem', '-4.00', 1],
        ['redeem', '-4.00', 1],
        ['debit', '-5.00', 2],
        ['debit', '5.00', 2],
      ]);
      // The reason of a debit is of the debit, and not of a credit.
      for (const change of changes.slice(-2))
        expect(change).toMatchObject({ debit_id: debit.id, reason: 'Granted twice', source: null, credit_id: null });
    });

    it('GET /wallets/{id}/entries returns 400 when by is another word', async () => {
      const { id } = await merchant.wallet(await merchant.customerWith('5.00'));
      const first = await merchant.entries({ id }, 'by=change&limit=1');
      expect(first).toMatchObject({ data: [{ kind: 'grant', lines: 1 }], next_cursor: null });
      for (const by of ['x', '', 'Change', 'credit'])
        await merchant.entries({ id }, `by=${by}`).refused(400, 'validation_failed', { errors: [{ parameter: 'by' }] });
    });
  });

  describe('the balance of a statement', () => {
    it('the balance is what is available, pending, held, or expired and not yet written off', async () => {
      const document = await merchant.customerWith('30.00', { expiresAt: service.clock.inDays(2) });
      await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(20) });
      await merchant.completed({ document });
      const order = await merchant.create({ document, expires_at: service.clock.inDays(4).toISOString() });
      await merchant.hold(order, '12.00');
      const seen = async (): Promise<string[]> => {
        const { available, pending, held } = await merchant.wallet(document);
        return [available, pending, held, (await merchant.statement(document)).at(-1)!.balance];
      };
      expect(await seen()).toEqual(['28.00', '7.50', '12.00', '47.50']);
      service.clock.skip(3 * 86_400_000);
      expect(await seen()).toEqual(['10.00', '7.50', '12.00', '47.50']);
      await service.app.get(SweepsService).doAll();
      expect(await seen()).toEqual(['10.00', '7.50', '12.00', '29.50']);
    });
  });
});

describe('the ledger of a merchant', () => {
  const clock = new FrozenClock();
  const { service } = useService({ clock });

  type CustomerEntry = Json<CustomerEntryDto>;

  const all = (shop: Shop, query = ''): Promise<CustomerEntry[]> => shop.all<CustomerEntry>(`/entries?${query}`);
  const namesOf = (entries: CustomerEntry[]): string[] =>
    entries.map(({ wallet_id: wallet, seq }) => `${wallet} ${seq}`);

  describe('GET /entries', () => {
    it('GET /entries returns the statements of all customers with whose they are, newest first, in pages', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      await other.customerWith('9.00');
      const [ana, rui] = [await shop.customerWith('5.00'), await shop.customerWith('7.00')];
      await shop.credit(ana, '3.00');
      // Redeems two credits and earns a third, at one instant.
      const order = await shop.completed({ document: ana, store: 'SP-014' }, { redeem: '6.00' });
      await shop.refund(order, '150.00');
      const own: CustomerEntry[] = [];
      for (const document of [ana, rui]) {
        const { id } = await shop.wallet(document);
        const { data } = await shop.get<Page<Entry>>(`/wallets/${id}/entries?limit=100`);
        own.push(...data.map((entry) => ({ ...entry, wallet_id: id, document })));
      }
      const keyOf = ({ created_at: at, wallet_id: wallet, seq }: CustomerEntry): string =>
        `${at} ${wallet} ${String(seq).padStart(4, '0')}`;
      const expected = own.sort((one, another) => (keyOf(one) < keyOf(another) ? 1 : -1));
      expect(await all(shop)).toEqual(expected);
      for (const limit of [1, 2, 3]) expect(await all(shop, `limit=${limit}`)).toEqual(expected);
      expect(await all(other)).toMatchObject([{ kind: 'grant', amount: '9.00' }]);
    });

    it('GET /entries returns each entry once in pages when all have the same instant', async () => {
      const shop = await aMerchant(service);
      for (let count = 0; count < 3; count++)
        await shop.completed({ document: await shop.customerWith('5.00') }, { redeem: '5.00' });
      const names = namesOf(await all(shop));
      expect(new Set(names).size).toBe(9);
      for (const limit of [1, 2, 4]) expect(namesOf(await all(shop, `limit=${limit}`))).toEqual(names);
    });

    it('GET /entries has what is behind a figure of the ledger report: what expired in a day, and what a store redeemed', async () => {
      const shop = await aLongLivedMerchant(service);
      const document = await shop.customerWith('10.00', { expiresAt: service.clock.inDays(2) });
      await shop.credit(document, '20.00', { expiresAt: service.clock.inDays(40) });
      await shop.completed({ document, store: 'RJ-003' }, { redeem: '4.00' });
      await service.clock.advance({ hours: 49 });
      const from = new Date(service.clock.now().getTime() - 24 * 3_600_000).toISOString();
      expect(await all(shop, `kind=expire&created_from=${from}`)).toMatchObject([
        { kind: 'expire', amount: '-6.00', document, source: { type: 'grant' }, by: null },
      ]);
      expect(await all(shop, `kind=expire&created_to=${from}`)).toEqual([]);
      const kinds = async (query: string): Promise<string[]> => (await all(shop, query)).map(({ kind }) => kind);
      expect(await kinds('store=RJ-003&limit=1')).toEqual(['earn', 'redeem']);
      expect(await kinds('kind=redeem,expire')).toEqual(['expire', 'redeem']);
      expect(await kinds('kind=redeem&kind=expire&store=RJ-003')).toEqual(['redeem']);
      expect(await kinds('store=RJ-004')).toEqual([]);
    });

    it('GET /entries needs the permission reports, and names what is wrong in a filter', async () => {
      const shop = await aMerchant(service);
      const till = await aUser(service, shop.id, ['sell', 'grants']);
      await till.send('GET', '/entries', {}, 200).refused(403, 'forbidden', { permission: 'reports' });
      for (const [parameter, value] of [
        ['kind', 'expired'],
        ['kind', ''],
        ['store', ' SP'],
        ['created_from', 'yesterday'],
        ['cursor', 'eyJ4Ijp9'],
      ])
        await shop
          .send('GET', `/entries?${parameter}=${value}`, {}, 200)
          .refused(400, 'validation_failed', { errors: [{ parameter }] });
    });
  });
});

const HOUR_MS = 3_600_000;

describe('the available balance between the dates that change it', () => {
  let merchant: TestMerchant;
  let document: string;

  beforeEach(async () => {
    merchant = await aLongLivedMerchant(service);
    document = aDocument();
  });

  const inHours = (hours: number): Date => new Date(service.clock.now().getTime() + hours * HOUR_MS);

  /** Grants an amount that is available from and until a number of hours from now. */
  const grantFor = (amount: string, from: number, until: number): Promise<void> =>
    merchant.credit(document, amount, { availableAt: inHours(from), expiresAt: inHours(until) });

  /** The balance in a new order, which must be the balance of the wallet. */
  async function available(): Promise<string> {
    const order = await merchant.create({ document });
    const { available: sum } = await merchant.wallet(document);
    expect(order.cashback.to_redeem.available).toBe(sum);
    const body = await merchant.orders(`external_id=${order.external_id}`);
    expect(body.data[0]!.cashback.to_redeem.available).toBe(sum);
    return sum;
  }

  /** The date in the wallet's row, as hours from an instant. */
  async function changesAfter(start: Date): Promise<number | 'never'> {
    const [row] = await rowsOf<{ until: Date }>(
      service,
      'SELECT available_until AS until FROM wallets WHERE merchant_id = ? AND document = ?',
      [merchant.id, document],
    );
    const hours = (row!.until.getTime() - start.getTime()) / HOUR_MS;
    return row!.until.getUTCFullYear() === 9999 ? 'never' : Math.round(hours * 1000) / 1000;
  }

  it('the available balance changes exactly when a credit is released and when it expires', async () => {
    const start = service.clock.now();
    await grantFor('1.00', 0, 4);
    await grantFor('10.00', 2, 5);
    await grantFor('100.00', 3, 6);
    expect(await changesAfter(start)).toBe(2);
    const seen: string[] = [];
    for (let half = 0; half <= 12; half++) {
      seen.push(await available());
      await service.clock.advance({ minutes: 30 });
    }
    const [one, eleven, all] = ['1.00', '11.00', '111.00'];
    expect(seen).toEqual([
      one,
      one,
      one,
      one,
      eleven,
      eleven,
      all,
      all,
      '110.00',
      '110.00',
      '100.00',
      '100.00',
      '0.00',
    ]);
  });
});

describe('frozen wallets', () => {
  const merchant = useMerchant(() => aMerchant(service));

  /** A customer with 80.00 in a frozen wallet. */
  async function aFrozenCustomer(): Promise<Wallet> {
    const document = await merchant.customerWith('80.00');
    return merchant.freeze(await merchant.wallet(document));
  }

  describe('PUT /wallets/{id}/freeze', () => {
    it('a frozen wallet says so, with who froze it and why, and so do its customer, its event and its orders', async () => {
      const { document, id } = await merchant.wallet(await merchant.customerWith('80.00'));
      expect(await merchant.wallet(document)).toMatchObject({
        ...{ frozen: false, freeze_changed_at: null, freeze_changed_by: null, freeze_reason: null },
      });
      const frozen = await merchant.freeze({ id }, true, 'Stolen account').changed();
      expect(frozen).toMatchObject({
        ...{ frozen: true, freeze_changed_at: expect.any(String), freeze_changed_by: merchant.by },
        ...{ freeze_reason: 'Stolen account', available: '80.00' },
      });
      expect(await merchant.wallet(document)).toEqual(frozen);
      const customers = await merchant.all<Customer>('/customers?limit=100');
      expect(customers.find(({ wallet_id }) => wallet_id === id)).toMatchObject({ frozen: true });
      const order = await merchant.create({ document });
      expect(order.cashback.to_redeem).toMatchObject({ available: '80.00', maximum: '0.00', limited_by: 'frozen' });
      expect(await merchant.order(order)).toEqual(order);
      expect((await merchant.orders('limit=1')).data[0]).toEqual(order);
      expect((await merchant.quote({ document, total: '10.00' })).cashback.to_redeem).toMatchObject({
        ...{ maximum: '0.00', limited_by: 'frozen' },
      });
      const unfrozen = await merchant.freeze({ id }, false, 'It was her').changed();
      expect(unfrozen).toMatchObject({ frozen: false, freeze_reason: 'It was her' });
      const events = (await eventsOf(service, merchant)).filter(({ type }) => type.endsWith('frozen'));
      expect(events.slice(-2)).toMatchObject([
        {
          type: 'wallet.frozen',
          by: merchant.by,
          data: { wallet: { id, document, frozen: true, available: '80.00' } },
        },
        { type: 'wallet.unfrozen', data: { wallet: { frozen: false } } },
      ]);
    });

    it('nothing new can be held or redeemed of a frozen wallet, in any way', async () => {
      const { document } = await aFrozenCustomer();
      const order = await merchant.create({ document });
      const refusal = { maximum: '0.00', limited_by: 'frozen' };
      await merchant.hold(order, '0.01').refused(422, 'redemption_exceeds_maximum', refusal);
      await merchant.complete(order, { redeem: '10.00' }).refused(422, 'redemption_exceeds_maximum', refusal);
      await merchant.sell({ document }, { redeem: '10.00' }).refused(422, 'redemption_exceeds_maximum', refusal);
      await merchant
        .quote({ document, total: '10.00', redeem: '1.00' })
        .refused(422, 'redemption_exceeds_maximum', refusal);
      expect(await merchant.complete(order)).toMatchObject({ status: 'completed' });
      expect(await merchant.wallet(document)).toMatchObject({ available: '80.00', pending: '7.50' });
    });

    it('an order keeps its customer while the wallet is frozen, and can be corrected to a frozen one', async () => {
      const order = await merchant.completed();
      const wallet = await merchant.wallet(order.document);
      await merchant.freeze(wallet);
      const refused = await merchant.changeCustomer(order, aDocument()).refused(409, 'wallet_frozen');
      expect(refused.next_action).toBe('fix_request');
      const other = await aFrozenCustomer();
      const free = await merchant.completed();
      expect(await merchant.changeCustomer(free, other.document)).toMatchObject({ moved: '7.50' });
    });

    it('to freeze needs true or false, and a reason', async () => {
      const wallet = await merchant.wallet(await merchant.customerWith('1.00'));
      await merchant.freeze(wallet, 'yes').refused(400, 'validation_failed', ['/frozen']);
      await merchant.freeze(wallet, true, '').refused(400, 'validation_failed', ['/reason']);
      await merchant.freeze(wallet, true, null).refused(400, 'validation_failed', ['/reason']);
      expect((await merchant.wallet(wallet.document)).frozen).toBe(false);
    });

    it('beside holds at the same time, either an order held before the freeze or it is refused', async () => {
      for (let round = 0; round < 5; round++) {
        const order = await merchant.orderWith('80.00');
        const wallet = await merchant.wallet(order.document);
        const [held, frozen] = await Promise.all([
          merchant.hold(order, '20.00').answer,
          merchant.freeze(wallet).answer,
        ]);
        expect(frozen.status).toBe(200);
        expect([200, 422]).toContain(held.status);
        expect((await merchant.wallet(order.document)).held).toBe(held.status === 200 ? '20.00' : '0.00');
      }
    });
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
