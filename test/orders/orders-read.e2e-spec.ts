import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCnpj, aDocument, aMerchant, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { idsOf, type Order, type Page, type Shop } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

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
  it('GET /orders/{id} returns the same order as POST /orders, however often, and with the ID in upper or lower case', async () => {
    const merchant = await aMerchant(service);
    const order = await merchant.create();
    for (const id of [order.id, order.id.toUpperCase()])
      expect(await atOnce(5, () => merchant.order({ id }))).toEqual(Array(5).fill(order));
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
    ['status', 'status=pending,'],
    ['status', 'status=,'],
    ['status', 'status=pending,open'],
    ['status', 'status=pending;expired'],
    ['status', 'status=pending, expired'],
    ['completed_to', 'completed_to=yesterday'],
    ['updated_from', 'updated_from=yesterday'],
    ['updated_to', 'updated_to=2026-11-20'],
    ['user_id', 'user_id=Caixa'],
    ['user_id', 'user_id='],
    ['campaign_id', 'campaign_id=operator'],
    ['campaign_id', 'campaign_id=Natal'],
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

  const UUID = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';
  const at = (...names: string[]): string[] => names.map((name) => `${name}=2020-01-01T00:00:00Z`);
  const BY_NOTHING_ELSE = ['status=pending', 'external_id=PED-1', ...at('updated_from', 'updated_to')];

  it.each(
    (
      [
        ['store=SP-014', [...BY_NOTHING_ELSE, `user_id=${UUID}`, `campaign_id=${UUID}`]],
        [`user_id=${UUID}`, [...BY_NOTHING_ELSE, `campaign_id=${UUID}`]],
        [`campaign_id=${UUID}`, BY_NOTHING_ELSE],
        [
          ...at('updated_from'),
          ['status=pending', ...at('created_from', 'created_to', 'completed_from', 'completed_to')],
        ],
        [...at('completed_from'), at('created_from', 'created_to')],
      ] as [string, string[]][]
    ).flatMap(([filter, others]) => others.map((other) => [filter, other] as const)),
  )('GET /orders?%s returns 400 that names what cannot be combined with it: %s', async (filter, other) => {
    const merchant = await aMerchant(service);
    const [name, parameter] = [filter, other].map((one) => one.split('=')[0]);
    const detail = expect.stringContaining(`cannot be combined with ${name}`);
    await merchant.orders(`${filter}&${other}`).refused(400, 'validation_failed', { errors: [{ parameter, detail }] });
  });

  it('GET /orders returns 400 with every invalid parameter at once', async () => {
    const merchant = await aMerchant(service);
    const query = 'limit=0&status=x&created_from=y&created_to=z';
    const { errors } = await merchant.orders(query).refused(400, 'validation_failed');
    expect(errors.map(({ parameter }) => parameter).sort()).toEqual(['created_from', 'created_to', 'limit', 'status']);
  });
});

describe('orders that are found by their IDs, statuses and completions', () => {
  const merchant = useMerchant(() => aMerchant(service));
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

    it('GET /orders/by-external-id/{external_id} returns 404 for another case, a blank more, and what cannot be an ID', async () => {
      await merchant.create({ external_id: 'Ped-Exact' });
      for (const id of ['never', 'ped-exact', 'Ped-Exact ', 'x'.repeat(101), '\u0000'])
        expectProblem(await byExternalId(id), 404, 'not_found');
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
      expect(await list(`completed_from=${second.completed_at}&completed_to=${third.completed_at}`)).toEqual([
        second.id,
      ]);
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
  });
});

describe('orders of a user and of a campaign', () => {
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
});

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

describe('pages of orders of any size', () => {
  const MIB = 1024 * 1024;

  /** An order of about 250 KiB, which is close to the limit of a request body. */
  const aLargeOrder = (): Record<string, unknown> =>
    anOrder({
      items: Array.from({ length: 360 }, (_, n) => ({
        id: `sku-${n}`,
        price: '1.00',
        description: 'é"'.repeat(165) + 'x'.repeat(9),
      })),
    });

  interface Page {
    bytes: number;
    ids: string[];
  }

  async function pagesOf(merchant: TestMerchant, query: string): Promise<Page[]> {
    const pages = await merchant.client.pages(`/orders?${query}`);
    return pages.map((body) => ({
      bytes: Buffer.byteLength(JSON.stringify(body)),
      ids: body.data.map(({ id }: { id: string }) => id),
    }));
  }

  describe('the pages of GET /orders', () => {
    it('the pages of GET /orders contain each matching order exactly once', async () => {
      const merchant = await aMerchant(service);
      const byStatus: Record<string, string[]> = { expired: [], pending: [], completed: [], cancelled: [] };
      for (let n = 0; n < 9; n++) byStatus.expired?.push((await merchant.create()).id);
      await service.clock.advance({ minutes: 31 });
      const from = service.clock.now().toISOString();
      for (let n = 0; n < 7; n++) {
        byStatus.pending?.push((await merchant.create()).id);
        byStatus.completed?.push((await merchant.completed()).id);
        const { id } = await merchant.create();
        await merchant.cancel({ id });
        byStatus.cancelled?.push(id);
      }
      const walk = async (query: string): Promise<string[]> =>
        (await pagesOf(merchant, `limit=2&${query}`)).flatMap(({ ids }) => ids).sort();
      for (const [status, ids] of Object.entries(byStatus)) expect(await walk(`status=${status}`)).toEqual(ids.sort());
      expect(await walk(`status=pending&created_from=${from}`)).toEqual(byStatus.pending);
      expect(await walk(`status=expired&created_to=${from}`)).toEqual(byStatus.expired);
      expect(await walk('')).toEqual(Object.values(byStatus).flat().sort());
    });

    it('a page of GET /orders ends before 1 MiB and the next one continues at next_cursor', async () => {
      const merchant = await aMerchant(service);
      const ids: string[] = [];
      for (let n = 0; n < 7; n++) ids.unshift((await merchant.create(aLargeOrder())).id);
      for (const query of ['limit=100', 'limit=100&status=pending']) {
        const pages = await pagesOf(merchant, query);
        expect(pages.filter(({ bytes }) => bytes > MIB)).toEqual([]);
        // Each page is full: one more order of 250 KiB would exceed 1 MiB.
        expect(pages.slice(0, -1).filter(({ bytes }) => bytes < 0.7 * MIB)).toEqual([]);
        expect(pages.flatMap((page) => page.ids)).toEqual(ids);
      }
    });

    it('a page of GET /orders can contain 100 orders of usual size', async () => {
      const merchant = await aMerchant(service);
      for (let n = 0; n < 101; n++) await merchant.create();
      expect((await pagesOf(merchant, 'limit=100')).map(({ ids }) => ids.length)).toEqual([100, 1]);
    });
  });
});

describe('orders of a customer', () => {
  const merchant = useMerchant(() => aLongLivedMerchant(service));

  const search = (document: unknown, members: object = {}, by: TestMerchant = merchant) =>
    by.searchOrders({ document, ...members });

  /** Creates orders of a customer, one second apart. @returns their IDs, newest first. */
  async function ordersOf(document: string, number: number): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < number; at++) {
      await service.clock.advance({ seconds: 1 });
      ids.unshift((await merchant.create({ document })).id);
    }
    return ids;
  }

  /** The IDs of each page, read to the end. @param between runs after each page. */
  async function pagesOf(
    document: string,
    members: object,
    between: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<string[][]> {
    const pages: string[][] = [];
    for (let cursor: string | undefined; ;) {
      const answer = await search(document, { ...members, ...(cursor !== undefined && { cursor }) }).answer;
      expect(answer.status).toBe(200);
      pages.push(idsOf(answer.body));
      if (answer.body.next_cursor === null) return pages;
      cursor = answer.body.next_cursor;
      await between();
    }
  }

  describe('POST /orders/search', () => {
    it.each([
      ['CPF', aDocument()],
      ['CNPJ', aCnpj()],
    ])(
      "POST /orders/search returns a customer's orders by %s, newest first, each like GET /orders/{id}",
      async (_, of) => {
        await merchant.credit(of, '10.00');
        const first = await merchant.completed({ document: of }, { redeem: '10.00' });
        await service.clock.advance({ seconds: 1 });
        const second = await merchant.create({ document: of });
        await merchant.create();
        for (const _attempt of ['first', 'repeated']) {
          const { status, body } = await search(of).answer;
          const orders = [second.id, first.id].map(async (id) => await merchant.order({ id }));
          expect({ status, body }).toEqual({
            status: 200,
            body: { data: await Promise.all(orders), next_cursor: null },
          });
        }
      },
    );

    it("POST /orders/search returns only the caller's own orders of a customer", async () => {
      const other = await aMerchant(service);
      const document = aDocument();
      const [mine] = await ordersOf(document, 1);
      expect(idsOf(await search(document, {}, other))).toEqual([]);
      const theirs = await other.create({ document });
      expect(idsOf(await search(document, {}, other))).toEqual([theirs.id]);
      expect(idsOf(await search(document))).toEqual([mine]);
    });

    it('POST /orders/search pages return each existing order once while new orders are created', async () => {
      const document = aDocument();
      const ids = await ordersOf(document, 7);
      const pages = await pagesOf(document, { limit: 3 }, () => ordersOf(document, 2));
      expect(pages.flat()).toEqual(ids);
      expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    });

    it('POST /orders/search does not find the orders of an erased customer, and finds those created later', async () => {
      const document = aDocument();
      await ordersOf(document, 2);
      await merchant.erase(document);
      expect(await search(document)).toEqual({ data: [], next_cursor: null });
      const later = await ordersOf(document, 1);
      expect(idsOf(await search(document))).toEqual(later);
    });

    it('erasing a customer with more orders than a statement changes erases all of them', async () => {
      const document = aDocument();
      const { id } = await merchant.create({ document });
      const columns =
        'merchant_id, status, document, total_cents, items, payment_methods, policy, held_cents, redeemed_cents, lapsed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, kept_cents, lost_cents, content_digest, version, created_at, updated_at, expires_at, created_by';
      await service.dataSource.query(
        `INSERT INTO orders (id, external_id, ${columns})
       WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 64)
       SELECT UUID(), UUID(), ${columns} FROM orders JOIN k a JOIN k b WHERE id = ? LIMIT 4000`,
        [id],
      );
      expect(await merchant.erase(document)).toMatchObject({ orders: 4001 });
      expect((await search(document)).data).toEqual([]);
    });

    it.each([
      ['/document', { document: '529.982.247.25' }],
      ['/document', { document: undefined }],
      ['/document', { document: '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' }],
      ['/status', { status: 'pending' }],
      ['/status', { status: 'pending,expired' }],
      ['/status', { status: [] }],
      ['/status', { status: ['open'] }],
      ['/status', { status: ['pending', null] }],
      ['/status', { status: [['pending']] }],
      ['/status', { status: Array(7).fill('pending') }],
      ['/limit', { limit: 0 }],
      ['/limit', { limit: 101 }],
      ['/limit', { limit: 1.5 }],
      ['/limit', { limit: '5' }],
      ['/cursor', { cursor: '' }],
      ['/cursor', { cursor: 5 }],
      ['/cursor', { cursor: 'abc' }],
      ['/cursor', { cursor: Buffer.from('["orders","a","b"]').toString('base64url') }],
      ['/external_id', { external_id: 'PED-1001' }],
    ])('POST /orders/search returns 400 with the pointer %s for %j', async (pointer, members) => {
      const answer = await search(aDocument(), members).answer;
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual([pointer]);
    });

    it('POST /orders/search returns 400 with every invalid member at once, and for a document in the URL', async () => {
      const answer = await search('1', { status: ['x'], limit: 0, cursor: 1 }).answer;
      expect(pointersOf(answer)).toEqual(['/cursor', '/document', '/limit', '/status']);
      const inUrl = await merchant.client.post(`/orders/search?document=${aDocument()}`, { document: aDocument() });
      expectProblem(inUrl, 400, 'validation_failed');
      await merchant.orders(`document=${aDocument()}`).refused(400, 'validation_failed');
    });
  });
});
