import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { idsOf, type Order } from '../support/shop.js';

const { service } = useService();

/** Creates orders of a merchant, one second apart. @returns the orders, newest first. */
async function ordersOf(merchant: TestMerchant, number: number): Promise<Order[]> {
  const orders: Order[] = [];
  for (let at = 0; at < number; at++) {
    await service.clock.advance({ seconds: 1 });
    orders.unshift(await merchant.create());
  }
  return orders;
}

describe('GET /orders/{id}', () => {
  it('GET /orders/{id} returns the same order as POST /orders, however often it is called', async () => {
    const merchant = await aMerchant(service);
    const order = await merchant.create();
    const answers = await atOnce(5, () => merchant.order(order).answer);
    expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(Array(5).fill({ status: 200, body: order }));
  });

  it('GET /orders/{id} accepts the ID in upper or lower case', async () => {
    const merchant = await aMerchant(service);
    const order = await merchant.create();
    expect(await merchant.order({ id: order.id.toUpperCase() })).toMatchObject(order);
  });

  it('GET /orders/{id} returns the same 404 for an order of another merchant and for an unknown ID', async () => {
    const [merchant, other] = [await aMerchant(service), await aMerchant(service)];
    const order = await merchant.create();
    const refusal = await other.order(order).refused(404, 'not_found');
    const never = await other.client.get('/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10');
    expectProblem(never, 404, 'not_found');
    const { request_id: _id, instance: _instance, ...said } = refusal;
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
    await merchant.order({ id }).refused(404, 'not_found');
    await merchant.complete({ id }).refused(404, 'not_found');
  });

  it('GET /orders/{id} and GET /orders return a consistent available and held amount while the hold changes', async () => {
    const merchant = await aMerchant(service);
    const order = await merchant.orderWith('80.00');
    let changing = true;
    const changes = (async () => {
      for (let at = 0; at < 60; at++) await merchant.hold(order, at % 2 === 0 ? '70.00' : '0.00');
      changing = false;
    })();
    const seen = new Set<string>();
    while (changing) {
      const { data } = await merchant.orders(`external_id=${order.external_id}`);
      for (const found of [await merchant.order(order), data[0]!]) {
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
    const document = await merchant.customerWith('10.00');
    const orders = await ordersOf(merchant, 3);
    await ordersOf(other, 1);
    const rich = await merchant.completed({ document }, { redeem: '10.00' });
    const { status, body } = await merchant.orders().answer;
    expect({ status, body }).toEqual({ status: 200, body: { data: [rich, ...orders], next_cursor: null } });
  });

  it('GET /orders pages return each existing order once while new orders are created', async () => {
    const merchant = await aMerchant(service);
    const orders = await ordersOf(merchant, 7);
    const seen: string[] = [];
    let cursor = '';
    for (let pages = 1; ; pages++) {
      const page = await merchant.orders(`limit=3${cursor}`).answer;
      seen.push(...idsOf(page.body));
      if (page.body.next_cursor === null) break;
      expect(pages).toBeLessThan(4);
      await ordersOf(merchant, 2);
      cursor = `&cursor=${encodeURIComponent(page.body.next_cursor)}`;
    }
    expect(seen).toEqual(orders.map(({ id }) => id));
  });

  it('GET /orders returns no next_cursor when the last page is exactly full', async () => {
    const merchant = await aMerchant(service);
    await ordersOf(merchant, 2);
    expect((await merchant.orders('limit=2')).next_cursor).toBeNull();
    expect((await merchant.orders('limit=1')).next_cursor).toEqual(expect.any(String));
  });

  it('GET /orders returns 20 orders by default and accepts a limit of 100', async () => {
    const merchant = await aMerchant(service);
    await atOnce(21, () => merchant.create());
    expect(idsOf(await merchant.orders())).toHaveLength(20);
    expect(idsOf(await merchant.orders('limit=100'))).toHaveLength(21);
  });

  it('GET /orders pages neither lose nor repeat orders created in the same millisecond', async () => {
    const merchant = await aMerchant(service);
    await atOnce(12, () => merchant.create());
    await service.dataSource.query('UPDATE orders SET created_at = ? WHERE merchant_id = ?', [
      service.clock.now(),
      merchant.id,
    ]);
    const pages = await merchant.client.pages('/orders?limit=5');
    const seen = pages.flatMap((body) => idsOf(body));
    expect(new Set(seen).size).toBe(12);
    expect(seen).toHaveLength(12);
  });

  it("GET /orders with the cursor of another merchant returns only the caller's own orders", async () => {
    const [merchant, other] = [await aMerchant(service), await aMerchant(service)];
    const [, mine] = await ordersOf(other, 2);
    await ordersOf(merchant, 2);
    const body = await merchant.orders('limit=1');
    const answer = await other.orders(`cursor=${body.next_cursor}`).answer;
    expect(idsOf(answer.body)).toContain(mine!.id);
    expect(idsOf(answer.body)).toHaveLength(2);
  });
});

describe('the filters of GET /orders', () => {
  it('GET /orders?external_id matches the exact external_id', async () => {
    const merchant = await aMerchant(service);
    const other = await aMerchant(service);
    const ids = ['Nº 1', 'nº 1', 'Nº  1', 'N\u02da 1', 'No 1'];
    for (const external_id of ids) await merchant.create({ external_id });
    await other.create({ external_id: 'Nº 1' });
    for (const externalId of ids) {
      const body = await merchant.orders(`external_id=${encodeURIComponent(externalId)}`);
      expect(body.data.map(({ external_id }: { external_id: string }) => external_id)).toEqual([externalId]);
    }
    expect((await merchant.orders('external_id=never')).data).toEqual([]);
  });

  it('GET /orders?status filters by each status, including expired', async () => {
    const merchant = await aMerchant(service);
    const expired = await merchant.create();
    await service.clock.advance({ minutes: 31 });
    const pending = await merchant.create();
    const completed = await merchant.completed();
    const partly = await merchant.completed();
    const wholly = await merchant.completed();
    const cancelled = await merchant.create();
    await merchant.cancel(cancelled);
    await merchant.refund(partly, '1.00', { external_id: 'DEV-1' });
    await merchant.refund(wholly, '150.00', { external_id: 'DEV-1' });

    const byStatus: Record<string, string[]> = {};
    for (const status of ['expired', 'pending', 'completed', 'partially_refunded', 'refunded', 'cancelled']) {
      const answer = await merchant.orders(`status=${status}`).answer;
      byStatus[status] = idsOf(answer.body);
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
    const list = async (query: string): Promise<string[]> => idsOf(await merchant.orders(query));
    expect(await list(`created_from=${second!.created_at}`)).toEqual([third!.id, second!.id]);
    expect(await list(`created_to=${second!.created_at}`)).toEqual([first!.id]);
    expect(await list(`created_from=${second!.created_at}&created_to=${third!.created_at}`)).toEqual([second!.id]);
    const inSaoPaulo = new Date(Date.parse(second!.created_at) - 3 * 3_600_000).toISOString().replace('Z', '-03:00');
    expect(await list(`created_from=${inSaoPaulo}`)).toEqual([third!.id, second!.id]);
    expect(await list(`created_from=${third!.created_at}&created_to=${first!.created_at}`)).toEqual([]);
  });

  it.each(['0000-01-01T00:00:00Z', '0001-01-01T00:00:00%2B01:00', '9999-12-31T23:59:59.999Z'])(
    'GET /orders accepts the earliest and latest instants: %s',
    async (instant) => {
      const merchant = await aMerchant(service);
      const order = await merchant.create();
      const inPast = instant.startsWith('0');
      expect(await merchant.orders(`${inPast ? 'created_from' : 'created_to'}=${instant}`)).toMatchObject({
        data: [order],
      });
      expect(await merchant.orders(`${inPast ? 'created_to' : 'created_from'}=${instant}`)).toMatchObject({ data: [] });
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
    ['status', 'status=pending&status=open'],
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
    await merchant.orders(query).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });

  it('GET /orders returns 400 with every invalid parameter at once', async () => {
    const merchant = await aMerchant(service);
    const query = 'limit=0&status=x&created_from=y&created_to=z';
    const { errors } = await merchant.orders(query).refused(400, 'validation_failed');
    expect(errors.map(({ parameter }) => parameter).sort()).toEqual(['created_from', 'created_to', 'limit', 'status']);
  });
});
