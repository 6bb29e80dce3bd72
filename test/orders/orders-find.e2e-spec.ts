import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { type Order, type Page, type Shop, idsOf } from '../support/shop.js';

const { service, merchant } = useService();
const byExternalId = (externalId: string, shop: TestMerchant = merchant): Promise<Answer> =>
  shop.client.get(`/orders/by-external-id/${encodeURIComponent(externalId)}`);

describe('GET /orders/by-external-id/{external_id}', () => {
  it.each(['PED/1 ?#%&+', 'Nº 1', 'refunds', 'redemption', '🧾'.repeat(100)])(
    'GET /orders/by-external-id/{external_id} returns the same as GET /orders/{id} for the ID %s',
    async (external_id) => {
      const order = await merchant.create({ external_id });
      expect(await byExternalId(external_id)).toMatchObject({ status: 200, body: order });
      await merchant.complete(order);
      expect((await byExternalId(external_id)).body).toEqual(await merchant.order(order));
    },
  );

  it('GET /orders/by-external-id/{external_id} returns 404 for an unknown ID, another case, and an order of another merchant', async () => {
    await merchant.create({ external_id: 'Ped-Exact' });
    for (const id of ['never', 'ped-exact', 'Ped-Exact ', 'x'.repeat(101), '\u0000'])
      expectProblem(await byExternalId(id), 404, 'not_found');
    expectProblem(await byExternalId('Ped-Exact', await aMerchant(service)), 404, 'not_found');
    expectProblem(await merchant.client.get('/orders/by-external-id/%FF'), 404, 'route_not_found');
  });
});

describe('several statuses of GET /orders', () => {
  it('GET /orders?status returns the orders of every status in the list, newest first, with a cursor', async () => {
    const shop = await aMerchant(service);
    const expired = await shop.create();
    await service.clock.advance({ minutes: 31 });
    const [completed, cancelled, pending] = [await shop.completed(), await shop.create(), await shop.create()];
    await shop.cancel(cancelled);
    const list = async (query: string): Promise<string[]> => idsOf(await shop.orders(query));
    expect(await list('status=pending,expired')).toEqual([pending.id, expired.id]);
    expect(await list('status=expired,cancelled')).toEqual([cancelled.id, expired.id]);
    expect(await list('status=pending&status=expired')).toEqual([pending.id, expired.id]);
    expect(await list('external_id=a[]=b')).toEqual([]);
    // OpenAPI has no brackets.
    const bracketed = await fetch(`${service.url}/orders?status[]=pending&status%5B%5D=expired`, {
      headers: { authorization: `Bearer ${shop.client.token}` },
    });
    expect(idsOf((await bracketed.json()) as Page<Order>)).toEqual([pending.id, expired.id]);
    expect(await list('status=completed%2Cpending,pending')).toEqual([pending.id, completed.id]);
    const all = 'status=pending,expired,completed,cancelled,refunded,partially_refunded';
    expect(await list(all)).toEqual([pending.id, cancelled.id, completed.id, expired.id]);
    expect(await list(`status=pending,expired&external_id=${expired.external_id}`)).toEqual([expired.id]);
    expect(await list(`status=pending,completed&external_id=${expired.external_id}`)).toEqual([]);
    const first = await shop.orders('status=pending,completed&limit=1').answer;
    expect(idsOf(first.body)).toEqual([pending.id]);
    expect(await list(`status=pending,completed&cursor=${first.body.next_cursor}`)).toEqual([completed.id]);
  });

  it.each(['pending,', ',', 'pending,open', 'pending;expired', 'pending, expired'])(
    'GET /orders returns 400 when status is %s',
    async (status) => {
      await merchant
        .orders(`status=${status}`)
        .refused(400, 'validation_failed', { errors: [{ parameter: 'status' }] });
    },
  );
});

describe('completed_from and completed_to of GET /orders', () => {
  /** Completes orders in another sequence than they are created. */
  async function completedOrders(shop: Shop): Promise<Order[]> {
    const created = [await shop.create(), await shop.create(), await shop.create()];
    const completed = [];
    for (const { id } of [created[1]!, created[0]!, created[2]!]) {
      await service.clock.advance({ seconds: 1 });
      completed.push(await shop.complete({ id }));
    }
    return completed;
  }

  it('GET /orders?completed_from returns completed orders of the merchant, the latest completion first', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    await other.completed();
    await shop.create();
    const [first, second, third] = (await completedOrders(shop)) as [Order, Order, Order];
    const refunded = await shop.refund(second, '1.00').answer;
    expect(refunded.status).toBe(201);
    const list = async (query: string): Promise<string[]> => idsOf(await shop.orders(query));
    expect(await list(`completed_from=${first.completed_at}`)).toEqual([third.id, second.id, first.id]);
    expect(await list(`completed_from=${second.completed_at}`)).toEqual([third.id, second.id]);
    expect(await list(`completed_to=${third.completed_at}`)).toEqual([second.id, first.id]);
    expect(await list(`completed_from=${second.completed_at}&completed_to=${third.completed_at}`)).toEqual([second.id]);
    expect(await list(`completed_to=${third.completed_at}&status=partially_refunded`)).toEqual([second.id]);
    expect(await list(`completed_from=${first.completed_at}&status=completed,pending`)).toEqual([third.id, first.id]);
    expect(await list(`completed_from=${first.completed_at}&status=pending`)).toEqual([]);
    expect(await list(`completed_from=${first.completed_at}&external_id=${third.external_id}`)).toEqual([third.id]);
    expect(await list(`completed_to=${third.completed_at}&external_id=${third.external_id}`)).toEqual([]);
  });

  it('the pages by completion return each order once, also orders completed in the same millisecond', async () => {
    const shop = await aMerchant(service);
    const orders = await completedOrders(shop);
    await service.dataSource.query('UPDATE orders SET completed_at = ? WHERE merchant_id = ?', [
      service.clock.now(),
      shop.id,
    ]);
    const pages = await shop.client.pages('/orders?completed_from=2020-01-01T00:00:00Z&limit=1');
    const seen: string[] = pages.flatMap((body) => idsOf(body));
    expect(seen.sort()).toEqual(orders.map(({ id }) => id).sort());
  });

  it('GET /orders returns 400 when a cursor is by the other instant, or creations and completions are combined', async () => {
    const shop = await aMerchant(service);
    await completedOrders(shop);
    const from = 'completed_from=2020-01-01T00:00:00Z';
    const byCompletion = (await shop.orders(`${from}&limit=1`)).next_cursor;
    const byCreation = (await shop.orders('limit=1')).next_cursor;
    for (const [query, parameter] of [
      [`cursor=${byCompletion}`, 'cursor'],
      [`${from}&cursor=${byCreation}`, 'cursor'],
      [`${from}&created_from=2020-01-01T00:00:00Z`, 'created_from'],
      [`${from}&created_to=2030-01-01T00:00:00Z`, 'created_to'],
      ['completed_to=yesterday', 'completed_to'],
    ]) {
      await shop.orders(query).refused(400, 'validation_failed', { errors: [{ parameter }] });
    }
  });
});
