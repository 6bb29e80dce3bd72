import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { idsOf, type Order, type Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

/** Three orders, of which the first is the last to change. @returns them, the latest change first. */
async function changedOrders(shop: Shop): Promise<[Order, Order, Order]> {
  const created = [await shop.create(), await shop.create(), await shop.create()];
  await service.clock.advance({ seconds: 1 });
  const second = await shop.complete(created[1]!);
  await service.clock.advance({ seconds: 1 });
  return [await shop.cancel(created[0]!), second, created[2]!];
}

describe('updated_from and updated_to of GET /orders', () => {
  it('GET /orders?updated_from returns the orders of the merchant in every status, the latest change first', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    await other.completed();
    const [cancelled, completed, pending] = await changedOrders(shop);
    const list = async (query: string): Promise<string[]> => idsOf(await shop.orders(query));
    const all = [cancelled.id, completed.id, pending.id];
    expect(await list('updated_from=2020-01-01T00:00:00Z')).toEqual(all);
    expect(await list(`updated_from=${pending.updated_at}`)).toEqual(all);
    expect(await list(`updated_from=${completed.updated_at}`)).toEqual([cancelled.id, completed.id]);
    expect(await list(`updated_to=${cancelled.updated_at}`)).toEqual([completed.id, pending.id]);
    expect(await list(`updated_from=${completed.updated_at}&updated_to=${cancelled.updated_at}`)).toEqual([
      completed.id,
    ]);
    expect(await list(`updated_from=${completed.updated_at}&updated_to=${completed.updated_at}`)).toEqual([]);
    expect(await list(`updated_from=${completed.updated_at}&external_id=${cancelled.external_id}`)).toEqual([
      cancelled.id,
    ]);
    expect(await list(`updated_to=${completed.updated_at}&external_id=${cancelled.external_id}`)).toEqual([]);
  });

  it('the pages by change return each order once, also many orders that changed in the same millisecond', async () => {
    const shop = await aMerchant(service);
    const ids: string[] = [];
    for (let n = 0; n < 9; n++) ids.push((await shop.create()).id);
    await rowsOf(service, 'UPDATE orders SET updated_at = created_at WHERE merchant_id = ?', [shop.id]);
    await rowsOf(service, 'UPDATE orders SET updated_at = ? WHERE merchant_id = ? AND id <> ?', [
      ...[service.clock.now(), shop.id, ids[4]],
    ]);
    const pages = await shop.client.pages('/orders?updated_from=2020-01-01T00:00:00Z&limit=2');
    const same = ids.filter((id) => id !== ids[4]).sort();
    expect(pages.flatMap((body) => idsOf(body as never))).toEqual([...same.reverse(), ids[4]]);
    expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 2, 2, 1]);
  });

  it('the pages by change return no order twice while orders change', async () => {
    const shop = await aMerchant(service);
    const orders: Order[] = [];
    for (let n = 0; n < 6; n++) orders.push(await shop.create());
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await shop.orders(`updated_from=2020-01-01T00:00:00Z&limit=2${cursor}`);
      seen.push(...idsOf(page));
      if (page.next_cursor === null) break;
      await shop.cancel({ id: seen[0]! });
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(idsOf({ data: orders.reverse() }));
  });

  it.each([
    ['status', 'updated_from=2020-01-01T00:00:00Z&status=pending'],
    ['created_from', 'updated_to=2030-01-01T00:00:00Z&created_from=2020-01-01T00:00:00Z'],
    ['created_to', 'updated_from=2020-01-01T00:00:00Z&created_to=2030-01-01T00:00:00Z'],
    ['completed_from', 'updated_from=2020-01-01T00:00:00Z&completed_from=2020-01-01T00:00:00Z'],
    ['completed_to', 'updated_from=2020-01-01T00:00:00Z&completed_to=2030-01-01T00:00:00Z'],
    ['updated_from', 'updated_from=yesterday'],
    ['updated_to', 'updated_to=2026-11-20'],
  ])('GET /orders returns 400 that names %s for %s', async (parameter, query) => {
    const shop = await aMerchant(service);
    await shop.orders(query).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });

  it('GET /orders returns 400 when the cursor of a page is used by another instant', async () => {
    const shop = await aMerchant(service);
    await changedOrders(shop);
    const sorts = ['', 'updated_from=2020-01-01T00:00:00Z&', 'completed_to=2030-01-01T00:00:00Z&'];
    await shop.completed();
    const cursors = await Promise.all(sorts.map(async (one) => (await shop.orders(`${one}limit=1`)).next_cursor));
    for (const [from, cursor] of cursors.entries())
      for (const [to, sort] of sorts.entries()) {
        const page = shop.orders(`${sort}cursor=${cursor}`);
        if (from === to) await page;
        else await page.refused(400, 'validation_failed', { errors: [{ parameter: 'cursor' }] });
      }
  });
});

describe('store of GET /orders', () => {
  it('GET /orders?store returns the orders of this store, newest first, in a period', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const store = 'São Paulo – 14';
    const ofStore: Order[] = [];
    for (let n = 0; n < 5; n++) {
      ofStore.unshift(await shop.create({ store }));
      await shop.create({ store: n % 2 ? 'são paulo – 14' : undefined });
      await other.create({ store });
      await service.clock.advance({ seconds: 1 });
    }
    await shop.complete(ofStore[1]!);
    const list = async (query: string): Promise<string[]> =>
      (await shop.all<Order>(`/orders?store=${encodeURIComponent(store)}${query}`)).map(({ id }) => id);
    const ids = idsOf({ data: ofStore });
    expect(await list('')).toEqual(ids);
    expect(await list('&limit=2')).toEqual(ids);
    expect(await list(`&created_from=${ofStore[3]!.created_at}&limit=1`)).toEqual(ids.slice(0, 4));
    expect(await list(`&created_to=${ofStore[1]!.created_at}`)).toEqual(ids.slice(2));
    expect(idsOf(await shop.orders('store=unknown'))).toEqual([]);
  });

  it.each([
    ['status', 'status=pending'],
    ['external_id', 'external_id=PED-1'],
    ['updated_from', 'updated_from=2020-01-01T00:00:00Z'],
    ['updated_to', 'updated_to=2020-01-01T00:00:00Z'],
  ])('GET /orders?store returns 400 that names %s in combination with it', async (parameter, query) => {
    const shop = await aMerchant(service);
    const errors = [{ parameter, detail: 'cannot be combined with store' }];
    await shop.orders(`store=SP-014&${query}`).refused(400, 'validation_failed', { errors });
  });

  it('GET /orders?store never merges stores: a blank at an end is 400, and what looks the same is different', async () => {
    const shop = await aMerchant(service);
    const stores = ['SP 1', 'SP  1', 'S\u00e3o', 'Sa\u0303o', 'sp 1'];
    for (const store of stores) await shop.create({ store });
    for (const store of stores)
      expect((await shop.orders(`store=${encodeURIComponent(store)}`)).data.map((order) => order.store)).toEqual([
        store,
      ]);
  });

  it.each(['', 'x'.repeat(101), '%00', '%20', 'SP-014%20', '%C2%A0SP', 'SP%E2%80%8B', '..'])(
    'GET /orders returns 400 when store is "%s"',
    async (store) => {
      const shop = await aMerchant(service);
      await shop.orders(`store=${store}`).refused(400, 'validation_failed', { errors: [{ parameter: 'store' }] });
      await shop.client
        .get(`/credits?store=${store}`)
        .then((answer) => expectProblem(answer, 400, 'validation_failed'));
      for (const list of ['orders', 'grants'])
        expectProblem(await shop.client.get(`/${list}?external_id=${store}`), 400, 'validation_failed');
    },
  );
});
