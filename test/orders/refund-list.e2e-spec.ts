import { describe, expect, it } from '@jest/globals';
import { aDocument, aMerchant, aUser } from '../support/factories.js';
import { idsOf, type Page, type Refund, type Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

const list = (shop: Shop, query = ''): Promise<Page<Refund>> =>
  Promise.resolve(shop.send<Page<Refund>>('GET', `/refunds${query && `?${query}`}`, {}, 200));

/** Refunds of several orders, a second apart. @returns them, newest first. */
async function refundsOf(shop: Shop, count: number): Promise<Refund[]> {
  const orders = [await shop.completed(), await shop.completed(), await shop.completed()];
  const refunds: Refund[] = [];
  for (let n = 0; n < count; n++) {
    refunds.unshift(await shop.refund(orders[n % 3]!, '1.00'));
    await service.clock.advance({ seconds: 1 });
  }
  return refunds;
}

describe('GET /refunds', () => {
  it('GET /refunds returns the refunds of all orders of the merchant as they were created, newest first, and which can be undone', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const refunds = await refundsOf(shop, 5);
    const [foreign] = await refundsOf(other, 1);
    // Only the last refund of each order can be undone.
    const now = refunds.map((refund, at) => ({ ...refund, voidable: at < 3 }));
    expect(await list(shop)).toEqual({ data: now, next_cursor: null });
    expect(idsOf(await list(other))).toEqual([foreign!.id]);
    expect((await shop.all<Refund>('/refunds?limit=2')).map(({ id }) => id)).toEqual(idsOf({ data: refunds }));
  });

  it('GET /refunds says who made each refund, where and why', async () => {
    const shop = await aMerchant(service);
    const cashier = await aUser(service, shop.id, ['sell', 'refund'], 'Caixa 3');
    const order = await shop.completed();
    await cashier.refund(order, '1.00', { reason: 'Defective', store: 'RJ-003', metadata: { till: '3' } });
    expect((await list(shop)).data).toMatchObject([
      {
        order_id: order.id,
        order_external_id: order.external_id,
        reason: 'Defective',
        store: 'RJ-003',
        metadata: { till: '3' },
        created_by: { user_id: cashier.userId, name: 'Caixa 3' },
      },
    ]);
  });

  it('GET /refunds includes created_from and excludes created_to', async () => {
    const shop = await aMerchant(service);
    const refunds = await refundsOf(shop, 4);
    const ids = idsOf({ data: refunds });
    const [second, third] = [refunds[1]!.created_at, refunds[2]!.created_at];
    expect(idsOf(await list(shop, `created_from=${third}`))).toEqual(ids.slice(0, 3));
    expect(idsOf(await list(shop, `created_to=${second}`))).toEqual(ids.slice(2));
    expect(idsOf(await list(shop, `created_from=${third}&created_to=${second}`))).toEqual([ids[2]]);
    expect(await list(shop, `created_from=${second}&created_to=${third}`)).toEqual({ data: [], next_cursor: null });
    const pages = await shop.client.pages(`/refunds?created_from=${third}&limit=1`);
    expect(pages.flatMap((page) => idsOf(page as never))).toEqual(ids.slice(0, 3));
  });

  it('GET /refunds?user_id returns the refunds of an API user, also of orders of others, in pages and in a period', async () => {
    const shop = await aMerchant(service);
    const cashier = await aUser(service, shop.id, ['sell', 'refund', 'reports'], 'Caixa 3');
    const [own, theirs] = [await refundsOf(shop, 2), await refundsOf(cashier, 4)];
    const last = await cashier.refund(await shop.completed(), '1.00');
    const ids = idsOf({ data: [last, ...theirs] });
    const found = async (query: string): Promise<string[]> =>
      (await shop.all<Refund>(`/refunds?${query}`)).map(({ id }) => id);
    expect(await found(`user_id=${cashier.userId}`)).toEqual(ids);
    expect(await found(`user_id=${cashier.userId.toUpperCase()}&limit=2`)).toEqual(ids);
    expect(await found(`user_id=${shop.userId}&limit=1`)).toEqual(idsOf({ data: own }));
    const at = theirs[1]!.created_at;
    expect(await found(`user_id=${cashier.userId}&created_from=${at}&limit=1`)).toEqual(ids.slice(0, 3));
    expect(await found(`user_id=${cashier.userId}&created_to=${at}`)).toEqual(ids.slice(3));
    for (const by of ['operator', shop.id]) expect(await found(`user_id=${by}`)).toEqual([]);
    expect(await list(await aMerchant(service), `user_id=${cashier.userId}`)).toMatchObject({ data: [] });
  });

  it('the pages of GET /refunds return each refund once when all have the same creation date', async () => {
    const shop = await aMerchant(service);
    const refunds = await refundsOf(shop, 7);
    const at = service.clock.now();
    await rowsOf(service, 'UPDATE refunds SET created_at = ? WHERE merchant_id = ?', [at, shop.id]);
    const ids = idsOf({ data: refunds }).sort().reverse();
    for (const bounds of ['', `&created_from=${at.toISOString()}`])
      expect((await shop.all<Refund>(`/refunds?limit=3${bounds}`)).map(({ id }) => id)).toEqual(ids);
    expect(await list(shop, `created_to=${at.toISOString()}`)).toMatchObject({ data: [] });
  });

  it('the pages of GET /refunds return each existing refund once while refunds are added', async () => {
    const shop = await aMerchant(service);
    const refunds = await refundsOf(shop, 5);
    const order = await shop.completed();
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await list(shop, `limit=2${cursor}`);
      seen.push(...idsOf(page));
      if (page.next_cursor === null) break;
      await shop.refund(order, '0.01');
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(idsOf({ data: refunds }));
  });

  it('GET /refunds has the refunds of an erased customer without reasons', async () => {
    const shop = await aMerchant(service);
    const document = aDocument();
    const refund = await shop.refund(await shop.completed({ document }), '1.00', { reason: 'Ana moved' });
    await shop.erase(document);
    expect((await list(shop)).data).toEqual([{ ...refund, reason: null }]);
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['created_from', 'created_from=2026-11-20'],
    ['created_to', 'created_to=2026-11-20T13:45:00'],
    ['store', 'store=SP-014'],
    ['user_id', 'user_id=Caixa'],
    ['cursor', 'cursor=abc'],
  ])('GET /refunds returns 400 when %s is invalid: %s', async (parameter, query) => {
    const shop = await aMerchant(service);
    await shop.get(`/refunds?${query}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });

  it('GET /refunds refuses the cursor of an order’s refunds, and the other way around', async () => {
    const shop = await aMerchant(service);
    const refunds = await refundsOf(shop, 4);
    const order = { id: refunds[0]!.order_id };
    const [all, own] = [await list(shop, 'limit=1'), await shop.refunds(order, 'limit=1')];
    const errors = [{ parameter: 'cursor' }];
    await shop.get(`/refunds?cursor=${own.next_cursor}`).refused(400, 'validation_failed', { errors });
    await shop.refunds(order, `cursor=${all.next_cursor}`).refused(400, 'validation_failed', { errors });
  });
});
