import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import {
  aCompletedOrder,
  aCreatedOrder,
  aDocument,
  aMerchant,
  grant,
  type TestMerchant,
} from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { service } = useService();

const idsOf = (answer: Pick<Answer, 'body'>): string[] => answer.body.data.map(({ id }: { id: string }) => id);

/** Creates orders of a merchant, one second apart. @returns the orders, newest first. */
async function ordersOf(merchant: TestMerchant, number: number): Promise<any[]> {
  const orders: any[] = [];
  for (let at = 0; at < number; at++) {
    await service.clock.advance({ seconds: 1 });
    orders.unshift(await aCreatedOrder(merchant));
  }
  return orders;
}

describe('GET /orders/{id}', () => {
  it('GET /orders/{id} returns the same order as POST /orders, however often it is called', async () => {
    const merchant = await aMerchant(service);
    const order = await aCreatedOrder(merchant);
    const answers = await atOnce(5, () => merchant.client.get(`/orders/${order.id}`));
    expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(Array(5).fill({ status: 200, body: order }));
  });

  it('GET /orders/{id} accepts the ID in upper or lower case', async () => {
    const merchant = await aMerchant(service);
    const order = await aCreatedOrder(merchant);
    expect(await merchant.client.get(`/orders/${order.id.toUpperCase()}`)).toMatchObject({ status: 200, body: order });
  });

  it('GET /orders/{id} returns the same 404 for an order of another merchant and for an unknown ID', async () => {
    const [merchant, other] = [await aMerchant(service), await aMerchant(service)];
    const order = await aCreatedOrder(merchant);
    const refusal = await other.client.get(`/orders/${order.id}`);
    expectProblem(refusal, 404, 'not_found');
    const never = await other.client.get('/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10');
    expectProblem(never, 404, 'not_found');
    const { request_id: _id, instance: _instance, ...said } = refusal.body;
    expect(never.body).toMatchObject(said);
  });

  it.each([
    '1',
    'null',
    '0193f1c27c1e7d5a9a530f2f4c9f6b10',
    '{0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10}',
    "'%20OR%201=1--",
    '%00',
    '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b1%F0%9F%8D%95',
  ])('GET /orders/{id} returns 404 when the ID is malformed: %s', async (id) => {
    const merchant = await aMerchant(service);
    expectProblem(await merchant.client.get(`/orders/${id}`), 404, 'not_found');
    expectProblem(await merchant.client.post(`/orders/${id}/complete`), 404, 'not_found');
  });

  it('GET /orders/{id} and GET /orders return a consistent available and held amount while the hold changes', async () => {
    const merchant = await aMerchant(service);
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    let changing = true;
    const changes = (async () => {
      for (let at = 0; at < 60; at++)
        await merchant.client.put(`/orders/${order.id}/redemption`, { amount: at % 2 === 0 ? '70.00' : '0.00' });
      changing = false;
    })();
    const seen = new Set<string>();
    while (changing) {
      const answers = [
        await merchant.client.get(`/orders/${order.id}`),
        await merchant.client.get(`/orders?external_id=${order.external_id}`),
      ];
      for (const found of [answers[0]?.body, answers[1]?.body.data[0]]) {
        const { available, held, maximum } = found.cashback.to_redeem;
        seen.add(`${available} + ${held}, at most ${maximum}`);
      }
    }
    await changes;
    expect(
      [...seen].filter((sum) => sum !== '80.00 + 0.00, at most 75.00' && sum !== '10.00 + 70.00, at most 75.00'),
    ).toEqual([]);
    await expectInvariants(service);
  });
});

describe('GET /orders', () => {
  it('GET /orders returns only the orders of the merchant, newest first, each like GET /orders/{id}', async () => {
    const [merchant, other] = [await aMerchant(service), await aMerchant(service)];
    const document = aDocument();
    await grant(service, merchant, document, '10.00');
    const orders = await ordersOf(merchant, 3);
    await ordersOf(other, 1);
    const rich = await aCompletedOrder(merchant, { document }, { redeem: '10.00' });
    const { status, body } = await merchant.client.get('/orders');
    expect({ status, body }).toEqual({ status: 200, body: { data: [rich, ...orders], next_cursor: null } });
  });

  it('GET /orders returns an empty page to a merchant without orders', async () => {
    const merchant = await aMerchant(service);
    expect(await merchant.client.get('/orders')).toMatchObject({ status: 200, body: { data: [], next_cursor: null } });
  });

  it('GET /orders pages return each existing order once while new orders are created', async () => {
    const merchant = await aMerchant(service);
    const orders = await ordersOf(merchant, 7);
    const seen: string[] = [];
    let cursor = '';
    for (let pages = 1; ; pages++) {
      const page = await merchant.client.get(`/orders?limit=3${cursor}`);
      seen.push(...idsOf(page));
      if (page.body.next_cursor === null) break;
      expect(pages).toBeLessThan(4);
      await ordersOf(merchant, 2);
      cursor = `&cursor=${encodeURIComponent(page.body.next_cursor as string)}`;
    }
    expect(seen).toEqual(orders.map(({ id }) => id));
  });

  it('GET /orders returns no next_cursor when the last page is exactly full', async () => {
    const merchant = await aMerchant(service);
    await ordersOf(merchant, 2);
    expect((await merchant.client.get('/orders?limit=2')).body.next_cursor).toBeNull();
    expect((await merchant.client.get('/orders?limit=1')).body.next_cursor).toEqual(expect.any(String));
  });

  it('GET /orders returns 20 orders by default and accepts a limit of 100', async () => {
    const merchant = await aMerchant(service);
    await atOnce(21, () => aCreatedOrder(merchant));
    expect(idsOf(await merchant.client.get('/orders'))).toHaveLength(20);
    expect(idsOf(await merchant.client.get('/orders?limit=100'))).toHaveLength(21);
  });

  it('GET /orders pages neither lose nor repeat orders created in the same millisecond', async () => {
    const merchant = await aMerchant(service);
    await atOnce(12, () => aCreatedOrder(merchant));
    await service.dataSource.query('UPDATE orders SET created_at = ? WHERE merchant_id = ?', [
      service.clock.now(),
      merchant.id,
    ]);
    const pages = await merchant.client.pages('/orders?limit=5');
    const seen = pages.flatMap((body) => idsOf({ body }));
    expect(new Set(seen).size).toBe(12);
    expect(seen).toHaveLength(12);
  });

  it("GET /orders with the cursor of another merchant returns only the caller's own orders", async () => {
    const [merchant, other] = [await aMerchant(service), await aMerchant(service)];
    const [, mine] = await ordersOf(other, 2);
    await ordersOf(merchant, 2);
    const { body } = await merchant.client.get('/orders?limit=1');
    const answer = await other.client.get(`/orders?cursor=${body.next_cursor}`);
    expect(idsOf(answer)).toContain(mine.id);
    expect(idsOf(answer)).toHaveLength(2);
  });
});

describe('the filters of GET /orders', () => {
  it('GET /orders?external_id matches the exact external_id', async () => {
    const merchant = await aMerchant(service);
    const other = await aMerchant(service);
    const ids = ['Nº 1', 'nº 1', 'Nº 1 ', 'N\u00ba\u00a01', 'No 1'];
    for (const external_id of ids) await aCreatedOrder(merchant, { external_id });
    await aCreatedOrder(other, { external_id: 'Nº 1' });
    for (const externalId of ids) {
      const { body } = await merchant.client.get(`/orders?external_id=${encodeURIComponent(externalId)}`);
      expect(body.data.map(({ external_id }: { external_id: string }) => external_id)).toEqual([externalId]);
    }
    expect((await merchant.client.get('/orders?external_id=never')).body.data).toEqual([]);
  });

  it('GET /orders?status filters by each status, including expired', async () => {
    const merchant = await aMerchant(service);
    const expired = await aCreatedOrder(merchant);
    await service.clock.advance({ minutes: 31 });
    const pending = await aCreatedOrder(merchant);
    const completed = await aCompletedOrder(merchant);
    const partly = await aCompletedOrder(merchant);
    const wholly = await aCompletedOrder(merchant);
    const cancelled = await aCreatedOrder(merchant);
    await merchant.client.post(`/orders/${cancelled.id}/cancel`);
    await merchant.client.post(`/orders/${partly.id}/refunds`, { external_id: 'DEV-1', amount: '1.00' });
    await merchant.client.post(`/orders/${wholly.id}/refunds`, { external_id: 'DEV-1', amount: '150.00' });

    const byStatus: Record<string, string[]> = {};
    for (const status of ['expired', 'pending', 'completed', 'partially_refunded', 'refunded', 'cancelled']) {
      const answer = await merchant.client.get(`/orders?status=${status}`);
      byStatus[status] = idsOf(answer);
      expect(answer.body.data.map((order: { status: string }) => order.status)).toEqual([status]);
    }
    const ids = (order: { id: string }): string[] => [order.id];
    expect(byStatus).toEqual({
      expired: ids(expired),
      pending: ids(pending),
      completed: ids(completed),
      partially_refunded: ids(partly),
      refunded: ids(wholly),
      cancelled: ids(cancelled),
    });
  });

  it('GET /orders includes created_from and excludes created_to, in any time zone', async () => {
    const merchant = await aMerchant(service);
    const [third, second, first] = await ordersOf(merchant, 3);
    const list = async (query: string): Promise<string[]> => idsOf(await merchant.client.get(`/orders?${query}`));
    expect(await list(`created_from=${second.created_at}`)).toEqual([third.id, second.id]);
    expect(await list(`created_to=${second.created_at}`)).toEqual([first.id]);
    expect(await list(`created_from=${second.created_at}&created_to=${third.created_at}`)).toEqual([second.id]);
    const inSaoPaulo = new Date(Date.parse(second.created_at) - 3 * 3_600_000).toISOString().replace('Z', '-03:00');
    expect(await list(`created_from=${inSaoPaulo}`)).toEqual([third.id, second.id]);
    expect(await list(`created_from=${third.created_at}&created_to=${first.created_at}`)).toEqual([]);
  });

  it.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00%2B01:00', '9999-12-31T23:59:59.999Z'])(
    'GET /orders accepts the earliest and latest instants: %s',
    async (instant) => {
      const merchant = await aMerchant(service);
      const order = await aCreatedOrder(merchant);
      const inPast = instant.startsWith('0');
      expect(await merchant.client.get(`/orders?${inPast ? 'created_from' : 'created_to'}=${instant}`)).toMatchObject({
        status: 200,
        body: { data: [order] },
      });
      expect(await merchant.client.get(`/orders?${inPast ? 'created_to' : 'created_from'}=${instant}`)).toMatchObject({
        status: 200,
        body: { data: [] },
      });
    },
  );

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=-1'],
    ['limit', 'limit=1.5'],
    ['limit', 'limit=ten'],
    ['limit', 'limit='],
    ['limit', 'limit=5&limit=6'],
    ['status', 'status=open'],
    ['status', 'status=Pending'],
    ['status', 'status=pending&status=expired'],
    ['created_from', 'created_from=2026-02-30T00:00:00Z'],
    ['created_from', 'created_from=2026-11-20'],
    ['created_to', 'created_to=now'],
    ['created_from', 'created_from=0000-01-01T00:00:00%2B14:00'],
    ['created_to', 'created_to=9999-12-31T23:59:59.999-12:00'],
    ['external_id', 'external_id='],
    ['external_id', `external_id=${'x'.repeat(101)}`],
    ['external_id', 'external_id=%00'],
    ['external_id[$ne]', 'external_id[$ne]=x'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["orders",1]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from('["orders","a","b"]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from('["orders",1,"\' OR 1=1 -- aaaaaaaaaaaaaaaaaaaaaaaa"]').toString('base64url')}`],
    [
      'cursor',
      `cursor=${Buffer.from('["orders",8640000000000001,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`,
    ],
    [
      'cursor',
      `cursor=${Buffer.from('["orders",8640000000000000,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`,
    ],
    [
      'cursor',
      `cursor=${Buffer.from('["orders",-8640000000000000,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`,
    ],
  ])('GET /orders returns 400 when %s is invalid: %s', async (parameter, query) => {
    const merchant = await aMerchant(service);
    const answer = await merchant.client.get(`/orders?${query}`);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.errors).toMatchObject([{ parameter }]);
  });

  it('GET /orders returns 400 with every invalid parameter at once', async () => {
    const merchant = await aMerchant(service);
    const answer = await merchant.client.get('/orders?limit=0&status=x&created_from=y&created_to=z');
    expect(answer.body.errors.map(({ parameter }: { parameter: string }) => parameter).sort()).toEqual([
      'created_from',
      'created_to',
      'limit',
      'status',
    ]);
  });
});
