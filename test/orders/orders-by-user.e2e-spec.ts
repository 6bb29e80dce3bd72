import { describe, expect, it } from '@jest/globals';
import { aMerchant, aUser } from '../support/factories.js';
import { idsOf, type Order, type Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

const CAMPAIGN = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';
const OTHER = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f11';

const list = async (shop: Shop, query: string): Promise<string[]> =>
  (await shop.all<Order>(`/orders?${query}`)).map(({ id }) => id);

/** Orders that one user creates and another completes, a second apart. @returns them, the newest first. */
async function completedBy(cashier: Shop, creator: Shop, count: number): Promise<Order[]> {
  const orders: Order[] = [];
  for (let n = 0; n < count; n++) {
    orders.unshift(await cashier.complete(await creator.create()));
    await service.clock.advance({ seconds: 1 });
  }
  return orders;
}

describe('user_id of GET /orders', () => {
  it('GET /orders?user_id returns the orders that an API user completed, newest first, in pages and in a period', async () => {
    const shop = await aMerchant(service);
    const cashier = await aUser(service, shop.id, ['sell'], 'Caixa 3');
    const [own, theirs] = [await completedBy(shop, cashier, 2), await completedBy(cashier, shop, 4)];
    // Who creates, cancels or refunds an order has not completed it.
    await cashier.cancel(await cashier.create());
    await shop.refund(theirs[0]!, '1.00');
    const ids = idsOf({ data: theirs });
    expect(await list(shop, `user_id=${cashier.userId}`)).toEqual(ids);
    expect(await list(shop, `user_id=${cashier.userId.toUpperCase()}&limit=2`)).toEqual(ids);
    expect(await list(cashier, `user_id=${shop.userId}&limit=1`)).toEqual(idsOf({ data: own }));
    const at = theirs[2]!.created_at;
    expect(await list(shop, `user_id=${cashier.userId}&created_from=${at}&limit=1`)).toEqual(ids.slice(0, 3));
    expect(await list(shop, `user_id=${cashier.userId}&created_to=${at}`)).toEqual(ids.slice(3));
    for (const by of ['operator', CAMPAIGN]) expect(await list(shop, `user_id=${by}`)).toEqual([]);
    expect(await list(await aMerchant(service), `user_id=${cashier.userId}`)).toEqual([]);
  });

  it('the pages of GET /orders?user_id return each order once when all have the same creation date', async () => {
    const shop = await aMerchant(service);
    const ids = idsOf({ data: await completedBy(shop, shop, 7) }).sort();
    await rowsOf(service, 'UPDATE orders SET created_at = ? WHERE merchant_id = ?', [service.clock.now(), shop.id]);
    expect(await list(shop, `user_id=${shop.userId}&limit=3`)).toEqual(ids.reverse());
  });
});

describe('campaign_id of GET /orders', () => {
  it('GET /orders?campaign_id returns the orders of a campaign in every status, newest first, in pages and in a period', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const orders = [await shop.create(), ...(await completedBy(shop, shop, 4))];
    const foreign = await other.create();
    const ids = idsOf({ data: orders }).sort().reverse();
    const set = (id: string, campaign: string): Promise<unknown> =>
      rowsOf(service, 'UPDATE orders SET campaign_id = ? WHERE id = ?', [campaign, id]);
    for (const id of [...ids.slice(1), foreign.id]) await set(id, CAMPAIGN);
    await set(ids[0]!, OTHER);
    expect(await list(shop, `campaign_id=${CAMPAIGN}`)).toEqual(ids.slice(1));
    expect(await list(shop, `campaign_id=${CAMPAIGN.toUpperCase()}&limit=1`)).toEqual(ids.slice(1));
    expect(await list(shop, `campaign_id=${OTHER}`)).toEqual([ids[0]]);
    const at = orders.find(({ id }) => id === ids[2])!.created_at;
    expect(await list(shop, `campaign_id=${CAMPAIGN}&created_to=${at}`)).toEqual(ids.slice(3));
    expect(await list(other, `campaign_id=${CAMPAIGN}`)).toEqual([foreign.id]);
    expect(await list(other, `campaign_id=${OTHER}`)).toEqual([]);
  });
});

describe('user_id, store and campaign_id of GET /orders by completion', () => {
  it('GET /orders returns the orders behind a row of the report of sales, also those that were created earlier', async () => {
    const shop = await aMerchant(service);
    const cashier = await aUser(service, shop.id, ['sell'], 'Caixa 3');
    const early = await shop.create({ store: 'SP-2' });
    await service.clock.advance({ seconds: 1 });
    const from = service.clock.now().toISOString();
    const [first] = await completedBy(cashier, shop, 1);
    const late = await cashier.complete(early);
    await service.clock.advance({ seconds: 1 });
    const others = await completedBy(shop, shop, 3);
    const to = service.clock.now().toISOString();
    await completedBy(cashier, shop, 1);
    await rowsOf(service, 'UPDATE orders SET campaign_id = ? WHERE id = ?', [CAMPAIGN, late.id]);
    const period = `completed_from=${from}&completed_to=${to}`;
    expect(await list(shop, `user_id=${cashier.userId}&${period}`)).toEqual([late.id, first!.id]);
    expect(await list(shop, `user_id=${cashier.userId}&limit=1&${period}`)).toEqual([late.id, first!.id]);
    expect(await list(shop, `user_id=${shop.userId}&limit=1&${period}`)).toEqual(idsOf({ data: others }));
    expect(await list(shop, `store=SP-2&${period}`)).toEqual([late.id]);
    expect(await list(shop, `campaign_id=${CAMPAIGN}&completed_from=${from}`)).toEqual([late.id]);
    expect(await list(await aMerchant(service), `user_id=${cashier.userId}&${period}`)).toEqual([]);
    const errors = [{ parameter: 'created_from' }];
    await shop.orders(`store=SP-2&${period}&created_from=${from}`).refused(400, 'validation_failed', { errors });
  });
});

describe('filters of GET /orders that exclude each other', () => {
  const instant = '2020-01-01T00:00:00Z';
  it.each([`user_id=${OTHER}`, `campaign_id=${CAMPAIGN}`])(
    'GET /orders?%s returns 400 that names what cannot be combined with it',
    async (filter) => {
      const shop = await aMerchant(service);
      const detail = `cannot be combined with ${filter.split('=')[0]}`;
      for (const [parameter, value] of [
        ['status', 'pending'],
        ['external_id', 'PED-1'],
        ...['updated_from', 'updated_to'].map((name) => [name, instant]),
      ])
        await shop
          .orders(`${filter}&${parameter}=${value}`)
          .refused(400, 'validation_failed', { errors: [{ parameter, detail }] });
    },
  );

  it('GET /orders returns 400 when two of store, user_id and campaign_id are combined', async () => {
    const shop = await aMerchant(service);
    const refused = (query: string, ...parameters: string[]) =>
      shop.orders(query).refused(400, 'validation_failed', { errors: parameters.map((parameter) => ({ parameter })) });
    await refused(`store=SP&user_id=${OTHER}`, 'user_id');
    await refused(`user_id=operator&campaign_id=${CAMPAIGN}`, 'campaign_id');
    await refused(`campaign_id=${CAMPAIGN}&store=SP&user_id=operator`, 'user_id', 'campaign_id');
  });

  it('GET /orders returns 400 when user_id or campaign_id is not a UUID', async () => {
    const shop = await aMerchant(service);
    for (const [parameter, value] of [
      ['user_id', 'Caixa'],
      ['user_id', ''],
      ['campaign_id', 'operator'],
      ['campaign_id', 'Natal'],
    ])
      await shop.orders(`${parameter}=${value}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });
});
