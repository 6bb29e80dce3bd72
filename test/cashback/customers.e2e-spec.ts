import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ORDER_STATUSES } from '../../src/orders/order-transitions.js';
import { atOnce } from '../support/client.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Customer, CustomerCredit, Page, Shop, Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

const list = (shop: Shop, query = ''): Promise<Page<Customer>> =>
  Promise.resolve(shop.send<Page<Customer>>('GET', `/customers${query && `?${query}`}`, {}, 200));

const documentsOf = ({ data }: Page<Customer>): string[] => data.map(({ document }) => document);

/** A wallet without what the list of customers does not have. */
const withoutChanges = ({ id, document, available, pending, held, debt, frozen, next_expiry }: Wallet) => ({
  ...{ id, document, available, pending, held, debt, frozen, next_expiry },
});

/** A customer who spent what a refund takes back, and has nothing. */
async function aDebtor(shop: Shop): Promise<string> {
  const document = aDocument();
  const order = await shop.completed({ document });
  await shop.completed({ document, total: '7.50' }, { redeem: '7.50' });
  await shop.refund(order, '150.00');
  return document;
}

describe('GET /customers', () => {
  it('GET /customers returns the amounts, the next expiry and the last order of each customer, by wallet ID', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    await other.customerWith('9.00');
    const document = await shop.customerWith('80.00', { expiresAt: service.clock.inDays(20) });
    await shop.credit(document, '30.00', { expiresAt: service.clock.inDays(40) });
    await shop.completed({ document });
    await service.clock.advance({ seconds: 1 });
    const order = await shop.hold(await shop.create({ document }), '10.00');
    const second = await shop.customerWith('1.00');
    // They have no wallet, or nothing.
    await shop.create();
    await shop.voidGrant(await shop.grant());
    const { id: wallet_id, ...wallet } = withoutChanges(await shop.wallet(document));
    expect(wallet).toMatchObject({ available: '100.00', pending: '7.50', held: '10.00', debt: '0.00' });
    const { id: secondId, next_expiry } = await shop.wallet(second);
    expect(await list(shop)).toEqual({
      data: [
        { wallet_id, ...wallet, last_order_at: order.created_at },
        {
          ...{ document: second, wallet_id: secondId, available: '1.00', pending: '0.00', held: '0.00', debt: '0.00' },
          ...{ frozen: false, next_expiry, last_order_at: null },
        },
      ],
      next_cursor: null,
    });
    expect(await list(other)).toMatchObject({ data: [{ available: '9.00' }] });
  });

  it('GET /customers lists a customer who only has a debt, unless there is a minimum', async () => {
    const shop = await aMerchant(service, { releaseDays: 0, redeemShareBps: 10_000 });
    const document = await aDebtor(shop);
    const debt = { available: '0.00', pending: '0.00', held: '0.00', debt: '7.50' };
    expect(await list(shop)).toMatchObject({ data: [{ document, ...debt, next_expiry: null }] });
    expect(documentsOf(await list(shop, 'balance_minimum=0'))).toEqual([document]);
    expect(documentsOf(await list(shop, 'balance_minimum=0.01'))).toEqual([]);
  });

  it('GET /customers?balance_minimum compares what is available, pending and held together', async () => {
    const shop = await aMerchant(service);
    const document = await shop.customerWith('80.00');
    await shop.completed({ document });
    await shop.hold(await shop.create({ document }), '75.00');
    const less = await shop.customerWith('87.49');
    expect(documentsOf(await list(shop, 'balance_minimum=87.49'))).toEqual([document, less]);
    expect(documentsOf(await list(shop, 'balance_minimum=87.5'))).toEqual([document]);
    expect(documentsOf(await list(shop, 'balance_minimum=87.51'))).toEqual([]);
  });

  it('GET /customers has the amounts that the dates decide, before anything is written', async () => {
    const shop = await aLongLivedMerchant(service);
    const gone = await shop.customerWith('5.00', { expiresAt: service.clock.inDays(1) });
    const some = await shop.customerWith('5.00', { expiresAt: service.clock.inDays(1) });
    const expiresAt = service.clock.inDays(30);
    await shop.credit(some, '3.00', { availableAt: service.clock.inDays(2), expiresAt });
    expect(await list(shop)).toMatchObject({ data: [{ document: gone }, { available: '5.00', pending: '3.00' }] });
    service.clock.skip(3 * 86_400_000);
    const next_expiry = { amount: '3.00', at: expiresAt.toISOString() };
    expect(await list(shop)).toMatchObject({
      data: [{ document: some, available: '3.00', pending: '0.00', next_expiry }],
      next_cursor: null,
    });
    expect(documentsOf(await list(shop, 'balance_minimum=3.01'))).toEqual([]);
  });

  it('GET /customers has the pseudonym of an erased customer, whose balance stays owed, and the last order', async () => {
    const shop = await aMerchant(service);
    const document = await shop.customerWith('80.00');
    const order = await shop.create({ document });
    const { pseudonym } = await shop.erase(document);
    expect((await list(shop)).data).toMatchObject([
      { document: pseudonym, available: '80.00', last_order_at: order.created_at },
    ]);
    expect(await shop.get('/reports/outstanding')).toMatchObject({ total: { balance: '80.00' } });
  });

  it.each(ORDER_STATUSES)('GET /customers has the date of the last order if it is %s', async (status) => {
    const shop = await aMerchant(service);
    const document = await shop.customerWith('80.00');
    await shop.create({ document });
    await service.clock.advance({ ms: 10 });
    const { id, created_at } = await shop.create({ document });
    await rowsOf(service, 'UPDATE orders SET status = ? WHERE id = ? AND merchant_id = ?', [status, id, shop.id]);
    expect((await list(shop)).data).toMatchObject([{ last_order_at: created_at }]);
    await rowsOf(service, "UPDATE orders SET status = 'pending' WHERE id = ? AND merchant_id = ?", [id, shop.id]);
  });

  it.each([1, 2, 100])(
    'pages of %d of GET /customers return each customer once while balances change and customers are added',
    async (limit) => {
      const shop = await aMerchant(service);
      const documents: string[] = [];
      for (let n = 0; n < 5; n++) documents.push(await shop.customerWith('80.00'));
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const page = await list(shop, `limit=${limit}${cursor}`);
        seen.push(...documentsOf(page));
        if (page.next_cursor === null) break;
        await shop.completed({ document: documents[0] }, { redeem: '10.00' });
        await shop.completed({ document: documents[4] }, { redeem: '10.00' });
        if (seen.length < 5) await shop.customerWith('1.00');
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(seen.slice(0, 5)).toEqual(documents);
      expect(new Set(seen).size).toBe(seen.length);
    },
  );

  it('a page of GET /customers reads 1,000 wallets, so it can be empty although more follow', async () => {
    const shop = await aMerchant(service);
    const now = service.clock.now();
    const columns =
      'id, merchant_id, document, debt_cents, balance_cents, available_cents, pending_cents, held_cents, last_seq, available_as_of, available_until, created_at';
    const numbers = Array<number>(6).fill(0);
    const empty = Array.from({ length: 2500 }, () => [randomUUID(), shop.id, aDocument(), ...numbers, now, now, now]);
    const id = (await shop.wallet(await shop.customerWith('80.00'))).id;
    await rowsOf(service, `INSERT INTO wallets (${columns}) VALUES ?`, [empty]);
    const pages = await shop.client.pages<Customer>('/customers?limit=10');
    expect(pages.length).toBe(3);
    expect(pages.flatMap(({ data }) => data.map(({ wallet_id }) => wallet_id))).toEqual([id]);
    expect(pages.filter(({ data }) => data.length === 0).length).toBe(2);
    await rowsOf(service, 'DELETE FROM wallets WHERE merchant_id = ? AND last_seq = 0', [shop.id]);
  });

  it.each([
    ['limit', 'limit=0'],
    ['balance_minimum', 'balance_minimum=1,00'],
    ['balance_minimum', 'balance_minimum=-1'],
    ['balance_minimum', 'balance_minimum=1.001'],
    ['balance_minimum', 'balance_minimum='],
    ['document', 'document=52998224725'],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["grants","0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`],
  ])('GET /customers returns 400 when %s is invalid: %s', async (parameter, query) => {
    const shop = await aMerchant(service);
    await shop.get(`/customers?${query}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });
});

describe('the credits of all customers', () => {
  const list = (shop: Shop, query = ''): Promise<Page<CustomerCredit>> =>
    Promise.resolve(shop.send<Page<CustomerCredit>>('GET', `/credits${query && `?${query}`}`, {}, 200));

  const all = (shop: Shop, query = ''): Promise<CustomerCredit[]> => shop.all<CustomerCredit>(`/credits?${query}`);
  const amountsOf = (credits: CustomerCredit[]): string[] => credits.map(({ amount }) => amount);

  /** The day in São Paulo (UTC-3) a number of days from now. */
  const dayIn = (days: number): string =>
    new Date(service.clock.inDays(days).getTime() - 3 * 3_600_000).toISOString().slice(0, 10);

  describe('GET /credits', () => {
    it('GET /credits returns the open credits of all customers like GET /wallets/{id}/credits, earliest expiry first', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      await other.customerWith('9.00');
      const [ana, rui] = [aDocument(), aDocument()];
      await shop.grant({ document: ana, expires_on: dayIn(20), store: 'SP-014', reason: 'Late delivery' });
      await shop.grant({ document: rui, expires_on: dayIn(2) });
      // What a refund returns of this is a credit of its own.
      await shop.refund(await shop.completed({ document: rui, store: 'RJ-003' }, { redeem: '5.00' }), '75.00');
      await shop.completed({ document: ana });
      const own: CustomerCredit[] = [];
      for (const document of [ana, rui]) {
        const { id: wallet_id } = await shop.wallet(document);
        own.push(...(await shop.credits({ id: wallet_id })).data.map((credit) => ({ ...credit, wallet_id, document })));
      }
      const expected = own.sort((a, b) => (a.expires_at + a.id < b.expires_at + b.id ? -1 : 1));
      expect(await list(shop)).toEqual({ data: expected, next_cursor: null });
      expect(expected.map(({ source, store }) => [source.type, source.return, store])).toEqual([
        ['grant', false, null],
        ['order', true, null],
        ['grant', false, 'SP-014'],
        ...[
          ['order', false, 'RJ-003'],
          ['order', false, null],
        ],
      ]);
      expect(await all(shop, 'limit=2')).toEqual(expected);
      expect(await list(other)).toMatchObject({ data: [{ amount: '9.00' }] });
    });

    it('GET /credits lists no credit that is spent, wholly held or expired, also before that is written', async () => {
      const shop = await aLongLivedMerchant(service);
      const document = await shop.customerWith('10.00', { expiresAt: service.clock.inDays(2) });
      await shop.credit(document, '20.00', { expiresAt: service.clock.inDays(3) });
      await shop.credit(document, '30.00', { expiresAt: service.clock.inDays(40) });
      const order = await shop.hold(await shop.create({ document }), '25.00');
      expect((await list(shop)).data).toMatchObject([
        { amount: '20.00', remaining: '20.00', held: '15.00' },
        { amount: '30.00', held: '0.00' },
      ]);
      await shop.cancel(order);
      expect(amountsOf(await all(shop))).toEqual(['10.00', '20.00', '30.00']);
      await shop.completed({ document }, { redeem: '10.00' });
      expect(amountsOf(await all(shop))).toEqual(['20.00', '30.00', '7.00']);
      service.clock.skip(4 * 86_400_000);
      expect(amountsOf(await all(shop))).toEqual(['30.00', '7.00']);
    });

    it('GET /credits compares expires_on: expires_from is included, expires_to is not', async () => {
      const shop = await aMerchant(service);
      for (const days of [1, 2, 3, 4]) await shop.grant({ amount: `${days}.00`, expires_on: dayIn(days) });
      // Within the second day.
      const noon = new Date(`${dayIn(2)}T15:00:00.000Z`);
      await shop.credit(aDocument(), '2.50', { expiresAt: noon });
      const list = async (query: string): Promise<string[]> => amountsOf(await all(shop, `limit=1&${query}`));
      expect(await list(`expires_from=${dayIn(2)}`)).toEqual(['2.50', '2.00', '3.00', '4.00']);
      expect(await list(`expires_to=${dayIn(2)}`)).toEqual(['1.00']);
      expect(await list(`expires_to=${dayIn(3)}`)).toEqual(['1.00', '2.50', '2.00']);
      expect(await list(`expires_from=${dayIn(2)}&expires_to=${dayIn(3)}`)).toEqual(['2.50', '2.00']);
      expect(await list(`expires_from=${dayIn(3)}&expires_to=${dayIn(2)}`)).toEqual([]);
      expect(await list('expires_from=1970-01-01&expires_to=9998-12-31')).toEqual([
        '1.00',
        '2.50',
        '2.00',
        '3.00',
        '4.00',
      ]);
      for (const { expires_on } of await all(shop, `expires_from=${dayIn(2)}&expires_to=${dayIn(3)}`))
        expect(expires_on).toBe(dayIn(2));
    });

    it.each([1, 3, 100])(
      'pages of %d of GET /credits return each credit once when all expire in the same millisecond, while others are granted',
      async (limit) => {
        const shop = await aMerchant(service);
        const expiresAt = service.clock.inDays(30);
        await atOnce(7, () => shop.customerWith('1.00', { expiresAt }));
        await shop.customerWith('2.00', { expiresAt: service.clock.inDays(1) });
        await shop.customerWith('3.00', { expiresAt: service.clock.inDays(60) });
        const before = (await all(shop)).map(({ id }) => id);
        expect(before).toHaveLength(9);
        const seen: string[] = [];
        for (let cursor = ''; ;) {
          const page = await list(shop, `limit=${limit}${cursor}`);
          seen.push(...page.data.map(({ id }) => id));
          if (page.next_cursor === null) break;
          cursor = `&cursor=${page.next_cursor}`;
          if (seen.length < 9) await shop.customerWith('1.00', { expiresAt });
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.filter((id) => before.includes(id))).toEqual(before);
      },
    );

    it('GET /credits continues after a credit that has expired since', async () => {
      const shop = await aLongLivedMerchant(service);
      for (const days of [1, 2, 3]) await shop.customerWith(`${days}.00`, { expiresAt: service.clock.inDays(days) });
      const { next_cursor } = await list(shop, 'limit=1');
      await service.clock.advance({ hours: 49 });
      expect(await list(shop, `cursor=${next_cursor}`)).toMatchObject({
        data: [{ amount: '3.00' }],
        next_cursor: null,
      });
    });

    it('GET /credits?store returns the credits that this store owes, also where they were redeemed elsewhere', async () => {
      const shop = await aMerchant(service);
      const document = aDocument();
      for (const store of ['SP-014', 'sp-014', 'RJ-003', undefined]) await shop.grant({ document, store });
      await shop.completed({ document, store: 'RJ-003' }, { redeem: '20.00' });
      for (const query of ['store=SP-014', 'store=SP-014&limit=1'])
        expect(await all(shop, query)).toMatchObject([{ store: 'SP-014', amount: '50.00', remaining: '30.00' }]);
      expect(amountsOf(await all(shop, 'store=RJ-003'))).toEqual(['50.00', '6.50']);
      expect(await list(shop, 'store=BH-001')).toEqual({ data: [], next_cursor: null });
    });

    it('a page of GET /credits?store reads 1,000 credits, so it can be empty although more follow', async () => {
      const shop = await aMerchant(service);
      const { document } = await shop.grant({ store: 'SP-014', expires_on: dayIn(30) });
      const { id } = await shop.wallet(document);
      await rowsOf(
        service,
        `INSERT INTO cashback_credits (id, wallet_id, merchant_id, seq, amount_cents, remaining_cents, held_cents, available_at, expires_at, created_at)
       WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000)
       SELECT UUID(), ?, ?, n, 100, 100, 0, ?, ?, ? FROM n`,
        [id, shop.id, service.clock.now(), service.clock.inDays(1 / 24), service.clock.now()],
      );
      await rowsOf(
        service,
        'UPDATE cashback_credits SET expires_at = ? WHERE merchant_id = ? AND amount_cents = 100 AND seq <= 700',
        [service.clock.inDays(1), shop.id],
      );
      const first = await list(shop, 'store=SP-014&limit=3');
      expect(first).toEqual({ data: [], next_cursor: expect.any(String) });
      const second = await list(shop, `store=SP-014&limit=3&cursor=${first.next_cursor}`);
      expect([first, second].flatMap(({ data }) => data.map((credit) => credit.document))).toEqual([document]);
      expect(second.next_cursor).toBeNull();
      await rowsOf(service, 'DELETE FROM cashback_credits WHERE merchant_id = ? AND amount_cents = 100', [shop.id]);
    });

    it.each([
      ['limit', 'limit=0'],
      ['expires_from', 'expires_from=2026-11-20T00:00:00Z'],
      ['expires_to', 'expires_to=2026-02-30'],
      ['store', 'store='],
      ['document', 'document=52998224725'],
      ['cursor', 'cursor=abc'],
      ['cursor', `cursor=${Buffer.from('["refunds",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`],
    ])('GET /credits returns 400 when %s is invalid: %s', async (parameter, query) => {
      const shop = await aMerchant(service);
      await shop.get(`/credits?${query}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
    });
  });
});
