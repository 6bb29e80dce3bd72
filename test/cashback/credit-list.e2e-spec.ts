import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { CustomerCredit, Page, Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

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
    expect(await list(shop, `cursor=${next_cursor}`)).toMatchObject({ data: [{ amount: '3.00' }], next_cursor: null });
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

  it('GET /credits has the pseudonym of an erased customer, and no reason', async () => {
    const shop = await aMerchant(service);
    const { document } = await shop.grant({ reason: 'For Ana' });
    const { pseudonym } = await shop.erase(document);
    expect((await list(shop)).data).toMatchObject([{ document: pseudonym, source: { type: 'grant', reason: null } }]);
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
