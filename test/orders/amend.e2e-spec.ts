import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { aCart, type Order } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

describe('PUT /orders/{id}', () => {
  it('PUT /orders/{id} replaces the content, quotes it again, and keeps the identity and the dates of the order', async () => {
    const order = await merchant.orderWith('80.00', { expires_at: service.clock.inMinutes(90) });
    await service.clock.advance({ seconds: 5 });
    const body = await merchant.amend(order, {
      total: '99.9',
      eligible_total: '80',
      items: [
        { id: 'sku-2', price: '0', quantity: 3 },
        { id: 'sku-3', price: '9.90', description: 'Chá' },
      ],
      payment_methods: [{ id: 'pix', amount: '50' }],
    });
    const { id, external_id, created_at, expires_at } = order;
    expect(body).toMatchObject({
      id,
      external_id,
      document: order.document,
      created_at,
      expires_at,
      status: 'pending',
      version: 2,
    });
    expect(Date.parse(body.updated_at)).toBeGreaterThanOrEqual(Date.parse(created_at) + 5000);
    expect(body).toMatchObject({ total: '99.90', eligible_total: '80.00', amount_to_pay: '99.90' });
    expect(body.items).toEqual([
      { id: 'sku-2', price: '0.00', quantity: 3 },
      { id: 'sku-3', price: '9.90', quantity: 1, description: 'Chá' },
    ]);
    expect(body.payment_methods).toEqual([{ id: 'pix', amount: '50.00', earn_rate: '0.05' }]);
    expect(body.cashback).toMatchObject({
      to_redeem: { available: '80.00', maximum: '40.00', limited_by: 'order_share', held: '0.00' },
      to_receive: { amount: '4.00', status: 'quoted' },
    });
    expect(await merchant.order(order)).toEqual(body);
  });
});

describe('PUT /orders/{id} with what identifies the order', () => {
  it('PUT /orders/{id} accepts the external_id and the document of the order, also when it is repeated', async () => {
    const order = await merchant.create();
    const { external_id, document } = order;
    const amended = await merchant.amend(order, { ...aCart('120.00'), external_id, document }).answer;
    expect(amended).toMatchObject({ status: 200, body: { external_id, document, total: '120.00', version: 2 } });
    expect(await merchant.amend(order, { ...aCart('120.00'), external_id })).toMatchObject(amended.body);
  });

  it('PUT /orders/{id} returns 400 for another external_id, and nothing changes', async () => {
    const order = await merchant.create();
    const other = await merchant.create();
    const { external_id, document } = other;
    await merchant.amend(order, { ...aCart('120.00'), external_id, document }).refused(400, 'validation_failed', {
      errors: [{ pointer: '/external_id', detail: 'must be the external_id of the order, which cannot be changed' }],
    });
    for (const external_id of [`${order.external_id} `, order.external_id.toLowerCase()])
      await merchant.amend(order, { ...aCart('120.00'), external_id }).refused(400, 'validation_failed');
    for (const wrong of [{ external_id: 1 }, { document: 1 }, { document: [] }])
      await merchant.amend(order, { ...aCart('120.00'), ...wrong }).refused(400, 'validation_failed');
    expect([await merchant.order(order), await merchant.order(other)]).toEqual([order, other]);
  });

  it('PUT /orders/{id} of a completed order or of another merchant says so, whatever document the body has', async () => {
    const completed = await merchant.completed();
    const { external_id, document } = completed;
    await merchant.amend(completed, { ...aCart('1.00'), external_id, document }).refused(409, 'invalid_transition');
    const shop = await aMerchant(service);
    await shop.amend(completed, { ...aCart('1.00'), document: aDocument() }).refused(404, 'not_found');
  });

  it('PUT /orders/{id} of an erased order accepts the pseudonym that the order has instead of the document', async () => {
    const order = await merchant.create();
    await merchant.erase(order.document);
    const { document } = await merchant.order(order);
    await merchant.amend(order, { ...aCart('1.00'), document });
    for (const other of [order.document, aDocument()])
      await merchant.amend(order, { ...aCart('1.00'), document: other }).refused(400, 'validation_failed', {
        errors: [{ pointer: '/document', detail: 'cannot be changed: the customer was erased' }],
      });
    expect(await merchant.order(order)).toMatchObject({ document, version: 2 });
  });

  it('PUT /orders/{id} gives a pending order another document, and its balance', async () => {
    const order = await merchant.orderWith('80.00');
    const document = await merchant.customerWith('5.00');
    const amended = await merchant.amend(order, { ...aCart('150.00'), document }).changed();
    expect(amended).toMatchObject({ document, version: 2, cashback: { to_redeem: { available: '5.00' } } });
    expect(await merchant.amend(order, { ...aCart('150.00'), document }).replayed()).toEqual(amended);
    // Without the member, the document stays.
    expect(await merchant.amend(order, aCart('140.00'))).toMatchObject({ document, version: 3 });
    const completed = await merchant.complete(order, { redeem: '5.00' });
    expect(completed).toMatchObject({ document, cashback: { to_redeem: { redeemed: '5.00' } } });
    expect((await merchant.wallet(order.document)).available).toBe('80.00');
    expect((await merchant.wallet(document)).available).toBe('0.00');
    const events = (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === order.id);
    expect(events.map(({ type }) => type)).toEqual([
      'order.created',
      'order.amended',
      'order.amended',
      'order.completed',
    ]);
    await expectInvariants(service);
  });

  it('PUT /orders/{id} gives an order that holds cashback no other document until the hold is released', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const document = aDocument();
    const problem = await merchant
      .amend(order, { ...aCart('150.00'), document, redeem: 'maximum' })
      .refused(409, 'invalid_transition', ['/document']);
    expect(problem.detail).toContain('release it before');
    expect((await merchant.wallet(document)).id).toBeNull();
    expect(await merchant.order(order)).toEqual(order);
    await merchant.hold(order, '0.00');
    expect(await merchant.amend(order, { ...aCart('150.00'), document })).toMatchObject({ document });
    expect((await merchant.wallet(order.document)).available).toBe('80.00');
  });
});

describe('PUT /orders/{id} with a hold', () => {
  it.each([
    ['order_share', {}, '39.98', '19.99'],
    ['order_share', { eligible_total: '0.00' }, '150.00', '0.00'],
    ['minimum_total', {}, '29.99', '0.00'],
  ])(
    'PUT /orders/{id} returns 422 with the maximum and changes nothing when the hold exceeds the maximum by %s',
    async (limitedBy, members, total, maximum) => {
      const shop = await aMerchant(service, { redeemMinimumTotalCents: 3000 });
      const created = await shop.orderWith('80.00');
      const order = await shop.hold(created, '20.00');
      for (const _attempt of ['first', 'second']) {
        const problem = await shop
          .amend(order, aCart(total, members))
          .refused(422, 'redemption_exceeds_maximum', { maximum, limited_by: limitedBy, next_action: 'fix_request' });
        expect(problem).not.toHaveProperty('errors');
        expect(await shop.order(order)).toEqual(order);
      }
      expect(await shop.movements(created.document)).toEqual(['grant 80.00']);

      const lowered = await shop.amend(order, aCart(total, { ...members, redeem: 'maximum' })).answer;
      expect(lowered).toMatchObject({
        status: 200,
        body: { total, version: 3, cashback: { to_redeem: { held: maximum, maximum } } },
      });
      expect(await shop.wallet(created.document)).toMatchObject({ held: maximum });
      expect(await shop.order(order)).toEqual(lowered.body);
      expect(await shop.amend(order, aCart(total, members))).toEqual(lowered.body);
    },
  );

  it('PUT /orders/{id} with redeem: maximum does not raise a hold and does not create one', async () => {
    const held = await merchant.orderThatHolds('20.00');
    const body = await merchant.amend(held, aCart('400.00', { redeem: 'maximum' }));
    expect(body.cashback.to_redeem).toMatchObject({ held: '20.00', maximum: '80.00' });
    const free = await merchant.orderWith('80.00');
    const amended = await merchant.amend(free, aCart('100.00', { redeem: 'maximum' }));
    expect(amended.cashback.to_redeem).toMatchObject({ held: '0.00', maximum: '50.00' });
  });
});

describe('PUT /orders/{id} errors', () => {
  it.each([
    [{}, ['/items', '/total']],
    [{ ...aCart('10.00'), total: '-0.01' }, ['/total']],
    [aCart('10.00', { payment_methods: {} }), ['/payment_methods']],
    [{ ...aCart('10.00'), total: 10 }, ['/total']],
    [aCart('10.00', { eligible_total: '10.01' }), ['/eligible_total']],
    [aCart('10.00', { items: [] }), ['/items']],
    [aCart('10.00', { items: [{ id: '', price: '1.001', quantity: 0 }] }), ['id', 'price', 'quantity'].map(ofItem)],
    [aCart('10.00', { payment_methods: [{ id: 'pix', amount: '0.00' }] }), ['/payment_methods/0/amount']],
    [aCart('10.00', { redeem: '5.00' }), ['/redeem']],
    [aCart('10.00', { redeem: 'Maximum' }), ['/redeem']],
    [aCart('10.00', { redeem: true }), ['/redeem']],
  ])('PUT /orders/{id} returns 400 with a pointer to each invalid member of %j', async (body, pointers) => {
    const order = await merchant.create();
    for (const _attempt of ['first', 'second']) {
      await merchant.amend(order, body).refused(400, 'validation_failed', pointers);
    }
    expect(await merchant.order(order)).toEqual(order);
  });

  function ofItem(member: string): string {
    return `/items/0/${member}`;
  }

  it('PUT /orders/{id} returns 409 for an expired order, names renew, and works after the renewal', async () => {
    const order = await merchant.orderThatHolds('20.00');
    await service.clock.advance({ minutes: 31 });
    await merchant.amend(order, aCart('100.00')).refused(409, 'invalid_transition', {
      detail: expect.stringContaining('renew'),
      current_status: 'expired',
      allowed: ['pending', 'completed', 'cancelled'],
      operations: ['renew', 'complete', 'cancel'],
      next_action: 'read_order',
    });
    expect(await merchant.hold(order, '20.00')).toMatchObject({ status: 'pending' });
    expect(await merchant.amend(order, aCart('100.00'))).toMatchObject({ total: '100.00' });
  });
});

describe('an amended order', () => {
  it('an order of an erased customer can be amended and keeps its pseudonym and its hold', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const { pseudonym } = await merchant.erase(order.document);
    const body = await merchant.amend(order, aCart('100.00'));
    expect(body).toMatchObject({ document: pseudonym, total: '100.00', cashback: { to_redeem: { held: '20.00' } } });
  });
});

describe('POST /orders after an amendment', () => {
  const replayed = (answer: Answer<unknown>): unknown => [answer.status, answer.headers.get('idempotency-replayed')];

  it('a 409 for the first content of an amended order with a third expires_at names only expires_at, also after an erasure', async () => {
    for (const members of [{}, { expires_at: service.clock.inMinutes(60) }]) {
      const first = anOrder({ metadata: { till: '7' }, ...members });
      const order = await merchant.create(first);
      await merchant.amend(order, aCart('100.00'));
      const again = (cart: object): Promise<Answer<Order>> =>
        merchant.create({ ...first, ...cart, expires_at: service.clock.inMinutes(90) }).answer;
      const answer = await again({});
      expectProblem(answer, 409, 'external_id_conflict');
      expect(pointersOf(answer)).toEqual(['/expires_at']);
      expect(pointersOf(await again(aCart('100.00', { metadata: {} })))).toEqual(['/expires_at']);
      expect(pointersOf(await again({ total: '151.00' }))).toEqual([
        ...[
          '/expires_at',
          '/items/0/description',
          '/items/0/id',
          '/items/0/price',
          '/metadata/till',
          '/payment_methods/0/amount',
          '/total',
        ],
      ]);
      await merchant.erase(first.document);
      expect(pointersOf(await again({}))).toEqual(['/expires_at']);
    }
  });

  it('POST /orders replays only the first content of an amended order after its customer was erased', async () => {
    const first = anOrder();
    const order = await merchant.create(first);
    await merchant.amend(order, aCart('100.00'));
    await merchant.erase(first.document);
    expect(replayed(await merchant.create(first).answer)).toEqual([201, 'true']);
    await merchant.create({ ...first, ...aCart('100.00') }).refused(409, 'external_id_conflict', ['/document']);
  });
});

describe('concurrent PUT /orders/{id} requests', () => {
  it('of 25 concurrent PUT /orders/{id} requests with different content the last one wins, and each adds a version', async () => {
    const order = await merchant.create();
    const answers = await atOnce(25, (at) => merchant.amend(order, aCart(`${at + 1}.00`)).answer);
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    const versions = answers.map(({ body }) => body.version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 25 }, (_, at) => at + 2));
    expect(await merchant.order(order)).toEqual(answers.find(({ body }) => body.version === 26)?.body);
  });
});

describe('If-Match', () => {
  const merchant = useMerchant(() => aMerchant(service));

  const aCart = (total: string): object => ({ total, items: [{ id: 'sku-2', price: total }], payment_methods: [] });

  const amend = (order: { id: string }, total: string, ifMatch: string, shop = merchant) =>
    shop.amend(order, aCart(total), { headers: { 'if-match': ifMatch } });

  describe('If-Match of PUT /orders/{id}', () => {
    it.each([', ', ' ,', '\t, ', '"1" , ', ',', ' '])(
      'PUT /orders/{id} with a malformed If-Match of 10,000 characters that repeats %j returns 400, and holds up no other request',
      async (part) => {
        const order = await merchant.create();
        await amend(order, '100.00', `${part.repeat(10_000 / part.length)}x`).refused(400, 'malformed_request');
      },
    );

    it('PUT /orders/{id} reads several If-Match lines as one list', async () => {
      const order = await merchant.create();
      const body = JSON.stringify(aCart('100.00'));
      const send = (...lines: string[]): Promise<Answer> => {
        const headers = {
          'content-type': 'application/json',
          authorization: `Bearer ${merchant.tokens.access_token}`,
          'if-match': lines.join('\r\nif-match: '),
        };
        return sendBytes(service, aRequest(`PUT /orders/${order.id}`, headers, body));
      };
      expectProblem(await send('"2"', '"3"'), 412, 'precondition_failed');
      expectProblem(await send('*', '"1"'), 400, 'malformed_request');
      expect(await send('"3"', '"1"')).toMatchObject({ status: 200, body: { version: 2 } });
    });

    it('a repeated PUT /orders/{id} with If-Match returns the same order, until another request changed it', async () => {
      const order = await merchant.create();
      const first = await amend(order, '100.00', '"1"').answer;
      expect(await amend(order, '100.00', '"1"')).toMatchObject(first.body);
      expect(await amend(order, '110.00', '"2"')).toMatchObject({ version: 3 });
      await amend(order, '100.00', '"1"').refused(412, 'precondition_failed');
    });

    it('a hold changes the version, so PUT /orders/{id} with the version before it returns 412', async () => {
      const order = await merchant.orderWith('80.00');
      await merchant.hold(order, '75.00');
      // A stale version is 412, also where the new content would not allow the hold.
      await amend(order, '10.00', '"1"').refused(412, 'precondition_failed');
      await amend(order, '10.00', '"2"').refused(422, 'redemption_exceeds_maximum');
    });
  });

  describe('If-Match of the other operations on an order', () => {
    it('a 409 comes before a 412', async () => {
      const [completed, stale] = [await merchant.completed(), { headers: { 'if-match': '"9"' } }];
      for (const call of [
        merchant.amend(completed, aCart('1.00'), stale),
        merchant.hold(completed, '20.00', undefined, stale),
        merchant.complete(completed, { redeem: '10.00' }, stale),
        merchant.cancel(completed, stale),
      ])
        await call.refused(409, 'invalid_transition');
    });

    it('complete with the version of a hold that lapsed is 412, and with the version of the expired order completes it', async () => {
      const order = await merchant.orderWith('80.00');
      await merchant.hold(order, '20.00');
      await service.clock.advance({ minutes: 31 });
      const complete = (ifMatch: string, body = {}) =>
        merchant.complete(order, body, { headers: { 'if-match': ifMatch } });
      await complete('"2"').refused(412, 'precondition_failed');
      await complete('"2"', { redeem: '20.00' }).refused(412, 'precondition_failed');
      await complete('"3"').refused(409, 'redemption_lapsed');
      expect(await complete('"3"', { redeem: '20.00' })).toMatchObject({ version: 4 });
    });

    it('complete with another version than the one that was completed is 412 also with the same values, and after refunds', async () => {
      const order = await merchant.create();
      const complete = (ifMatch?: string) =>
        merchant.complete(order, { redeem: '0.00' }, { headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } });
      await amend(order, '100.00', '"1"');
      expect(await complete('"2"')).toMatchObject({ version: 3 });
      for (const refunds of [0, 1, 2]) {
        if (refunds > 0) await merchant.refund(order, '10.00', { external_id: `R-${refunds}` });
        for (const stale of ['"1"', '"3"', `"${3 + refunds}"`]) {
          const { detail } = await complete(stale).refused(412, 'precondition_failed');
          expect(detail).toContain('version 2 of the order was completed');
        }
        for (const same of ['"2"', '"7", "2"', '*', undefined])
          expect(await complete(same)).toMatchObject({ version: 3 + refunds });
      }
    });
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
