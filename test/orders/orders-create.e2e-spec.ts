import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aCart, type Members } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { type Row, rowsOf, startOfDayAfter } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

describe('POST /orders', () => {
  it('POST /orders returns 201 with the cashback to redeem and to receive', async () => {
    const body = await merchant.orderWith('80.00');
    expect(body).toMatchObject({
      status: 'pending',
      cashback: {
        to_redeem: { available: '80.00', maximum: '75.00', limited_by: 'order_share', held: '0.00', redeemed: '0.00' },
        to_receive: { amount: '7.50', status: 'quoted' },
      },
    });
  });

  it('POST /orders returns the values of the request, with amounts in two decimals', async () => {
    const order = anOrder({
      total: '150',
      items: [
        { id: 'sku-1', price: '0' },
        { id: 'sku-2', price: '149.5', description: '' },
      ],
      payment_methods: [{ id: 'pix', amount: '0.5' }],
    });
    const body = await merchant.create(order);
    expect(body).toMatchObject({
      external_id: order.external_id,
      document: order.document,
      currency: 'BRL',
      total: '150.00',
    });
    expect(body.items).toEqual([
      { id: 'sku-1', price: '0.00', quantity: 1 },
      { id: 'sku-2', price: '149.50', quantity: 1, description: '' },
    ]);
    expect(body.payment_methods).toEqual([{ id: 'pix', amount: '0.50', earn_rate: '0.05' }]);
  });

  it('POST /orders returns a version 7 ID, an expiry after 30 minutes, a release date after 8 days, and cashback that is valid for 180 days', async () => {
    const before = service.clock.now();
    const body = await merchant.create();
    expect(body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Date.parse(body.created_at)).toBeGreaterThanOrEqual(before.getTime());
    expect(body.created_at).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(30 * 60_000);
    expect(body.cashback.to_receive.available_at).toBe(startOfDayAfter(body.created_at, 8));
    expect(body.cashback.to_receive.expires_at).toBe(startOfDayAfter(body.created_at, 188));
  });

  it('POST /orders does not change the wallet and creates none for a new customer', async () => {
    const document = aDocument();
    await merchant.create({ document });
    expect(await merchant.wallet(document)).toMatchObject({ id: null, available: '0.00' });
  });

  it('POST /orders does not count the cashback that the customer has with another merchant', async () => {
    const document = aDocument();
    const other = await aMerchant(service);
    await other.credit(document, '80.00');
    const order = await merchant.create({ document });
    expect(order.cashback.to_redeem).toMatchObject({ available: '0.00', maximum: '0.00', limited_by: 'balance' });
  });

  it('POST /orders stores IDs of the maximum length and 500 items without loss, including emoji', async () => {
    const items = Array.from({ length: 500 }, (_, at) => ({
      id: `${'🎁'.repeat(97)}${String(at).padStart(3, '0')}`,
      price: '1.00',
      description: 'ação',
    }));
    const order = anOrder({ external_id: '🧾'.repeat(100), items });
    const created = await merchant.create(order).answer;
    expect(created.status).toBe(201);
    const body = await merchant.order(created.body);
    expect(body.external_id).toBe(order.external_id);
    expect(body.items).toEqual(items.map((item) => ({ ...item, quantity: 1 })));
  });
});

describe('the cashback of an order', () => {
  it('an order keeps its quoted cashback rules when the merchant changes its policy', async () => {
    const document = aDocument();
    const shop = await aMerchant(service);
    await shop.credit(document, '80.00');
    const request = anOrder({ document, total: '100.00' });
    const order = await shop.create(request);
    const harsh = {
      earnRateBps: 100,
      redeemShareBps: 1000,
      releaseDays: 1,
      validityDays: 1,
      orderTtlMinutes: 1,
      redeemMinimumTotalCents: 99_999,
    };
    await shop.setPolicy(harsh);

    expect(await shop.order(order)).toEqual(order);
    expect(await shop.create(request)).toEqual(order);
    const completed = await shop.complete(order, { redeem: '50.00' });
    expect(completed.cashback).toMatchObject({ to_redeem: { redeemed: '50.00' }, to_receive: { amount: '2.50' } });
    expect(completed.cashback.to_receive.available_at).toBe(startOfDayAfter(completed.completed_at, 8));
    const next = await shop.create({ document, total: '100.00' });
    expect(next.cashback).toMatchObject({ to_redeem: { limited_by: 'minimum_total' }, to_receive: { amount: '1.00' } });
  });
});

const rowCounts = (): Promise<Row[]> =>
  rowsOf(service, 'SELECT (SELECT COUNT(*) FROM orders) AS orders, (SELECT COUNT(*) FROM wallets) AS wallets');

describe('POST /quotes', () => {
  it('POST /quotes returns the cashback of the order that POST /orders then creates, and writes nothing', async () => {
    const document = await merchant.customerWith('80.00');
    const { external_id, ...cart } = anOrder({ document, eligible_total: '120.00' });
    const before = await rowCounts();
    const { status, headers, body } = await merchant.quote(cart).answer;
    expect(await rowCounts()).toEqual(before);
    const created = await merchant.create({ ...cart, external_id });
    const { upcoming, campaign, base, version, ...policy } = await merchant.policy();
    expect(version).toBe(1);
    expect(status).toBe(200);
    expect({ upcoming, campaign, base }).toEqual({ upcoming: [], campaign: null, base: policy });
    expect(headers.get('location')).toBeNull();
    expect(body).toEqual({
      cashback: {
        to_redeem: created.cashback.to_redeem,
        to_receive: { ...created.cashback.to_receive },
      },
      payment_methods: created.payment_methods,
      amount_to_pay: '150.00',
      policy,
    });
  });

  it.each(['20.00', '75', '0.00'])(
    'POST /quotes with a redeem of %s returns exactly what the order says that then holds that amount',
    async (redeem) => {
      const document = await merchant.customerWith('80.00');
      const { external_id, ...cart } = anOrder({ document, eligible_total: '150.00' });
      const answers = await atOnce(5, () => merchant.quote({ ...cart, redeem }).answer);
      const { id } = (await merchant.client.post('/orders', { ...cart, external_id })).body;
      const held = await merchant.hold({ id }, redeem);
      const available = (80 - Number(redeem)).toFixed(2);
      expect(held.cashback.to_redeem).toMatchObject({ available, held: Number(redeem).toFixed(2) });
      for (const { status, body } of answers) {
        expect({ status, cashback: body.cashback }).toEqual({ status: 200, cashback: held.cashback });
        expect(body.amount_to_pay).toBe(held.amount_to_pay);
        expect(body.payment_methods).toEqual(held.payment_methods);
      }
    },
  );

  it('POST /quotes without a document returns null for to_redeem, and only the policy limits redeem', async () => {
    const body = await merchant.quote({ total: '150.00' });
    expect(body).toMatchObject({ cashback: { to_redeem: null, to_receive: { amount: '7.50' } }, payment_methods: [] });
    expect(await merchant.quote({ total: '150.00', redeem: '75.00' })).toMatchObject({ amount_to_pay: '75.00' });
    const problem = await merchant
      .quote({ total: '150.00', redeem: '75.01' })
      .refused(422, 'redemption_exceeds_maximum', { maximum: '75.00', limited_by: 'order_share' });
    expect(problem.errors).toEqual([{ pointer: '/redeem', detail: 'must be at most 75.00' }]);
  });

  it('POST /quotes returns 422 when redeem exceeds the balance with this merchant or the payments exceed the total', async () => {
    const document = aDocument();
    const other = await aMerchant(service);
    await other.credit(document, '80.00');
    await merchant.quote({ document, total: '150.00', redeem: '0.01' }).refused(422, 'redemption_exceeds_maximum');
    await other.quote({ document, total: '150.00', redeem: '0.01' });
    const payment_methods = [{ id: 'pix', amount: '150.01' }];
    await merchant.quote({ total: '150.00', payment_methods }).refused(422, 'payments_exceed_total');
  });

  it('POST /quotes returns 400 with a pointer to each invalid member', async () => {
    await merchant
      .quote({
        document: '1',
        total: 0,
        eligible_total: 'x',
        items: 1,
        payment_methods: {},
        redeem: -1,
      })
      .refused(400, 'validation_failed', [
        '/document',
        '/eligible_total',
        '/items',
        '/payment_methods',
        '/redeem',
        '/total',
      ]);
  });
});

/** The body of an order of 0.00. */
const free = (members: Members = {}) =>
  anOrder({ total: '0.00', items: [{ id: 'gift', price: '0.00' }], payment_methods: [], ...members });
const NOTHING = { maximum: '0.00', held: '0.00', redeemed: '0.00' };

describe('an order of 0.00', () => {
  it('an order of 0.00 is created, quoted, holds 0.00, is completed and gets another customer, and no cashback moves', async () => {
    const document = await merchant.customerWith('80.00');
    const body = free({ document });
    const order = await merchant.create(body).changed();
    expect(order).toMatchObject({
      ...{ status: 'pending', total: '0.00', eligible_total: '0.00', amount_to_pay: '0.00' },
      operations: ['hold', 'amend', 'complete', 'cancel'],
      cashback: {
        to_redeem: { ...NOTHING, available: '80.00', limited_by: null },
        to_receive: { amount: '0.00', taken_back: '0.00' },
      },
    });
    for (const total of ['0.00', '0', '0.0'])
      expect(await merchant.create({ ...body, total }).replayed()).toEqual(order);
    const { external_id: _, ...cart } = body;
    const quote = await merchant.quote(cart);
    expect(quote).toMatchObject({ cashback: order.cashback, amount_to_pay: '0.00' });
    expect(await merchant.quote({ ...cart, redeem: '0.00' })).toEqual(quote);
    await merchant.quote({ ...cart, redeem: '0.01' }).refused(422, 'redemption_exceeds_maximum', { maximum: '0.00' });

    expect(await merchant.hold(order, '0.00').replayed()).toEqual(order);
    await merchant.hold(order, '0.01').refused(422, 'redemption_exceeds_maximum', { maximum: '0.00' });
    await merchant.complete(order, { redeem: '0.01' }).refused(422, 'redemption_exceeds_maximum', { maximum: '0.00' });
    await merchant
      .complete(order, { payment_methods: [{ id: 'pix', amount: '0.01' }] })
      .refused(422, 'payments_exceed_total');
    const completed = await merchant.complete(order, { redeem: '0.00' }).changed();
    expect(completed).toMatchObject({
      ...{ status: 'completed', version: 2, amount_to_pay: '0.00', operations: ['change_customer'] },
      cashback: { to_redeem: NOTHING, to_receive: { amount: '0.00', status: 'none' } },
    });
    expect(await merchant.order(order)).toEqual(completed);
    expect(await merchant.complete(order).replayed()).toEqual(completed);

    const right = aDocument();
    const changed = await merchant.changeCustomer(order, right);
    expect(changed).toMatchObject({ moved: '0.00', not_moved: '0.00', order: { document: right, operations: [] } });
    expect(await merchant.movements(document)).toEqual(['grant 80.00']);
    const events = (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === order.id);
    expect(events.map(({ type }) => type)).toEqual(['order.created', 'order.completed', 'order.customer_changed']);
  });

  it('a refund of an order of 0.00 and its quote return 409 without the operation refund', async () => {
    const order = await merchant.completed(free());
    for (const members of [{}, { items: [{ id: 'gift' }] }, { rest: true }]) {
      const amount = Object.keys(members).length === 0 ? '0.01' : undefined;
      const problem = { current_status: 'completed', operations: ['change_customer'] };
      await merchant.refund(order, amount, members).refused(409, 'invalid_transition', problem);
      await merchant.quoteRefund(order, amount, members).refused(409, 'invalid_transition', problem);
    }
    await merchant.refund(order, '0.00').refused(400, 'validation_failed', ['/amount']);
    await merchant.quoteRefund(order, '0.00').refused(400, 'validation_failed', ['/amount']);
    expect((await merchant.refunds(order)).data).toEqual([]);
    expect(await merchant.order(order)).toEqual(order);
    await merchant.amend(order, aCart('1.00')).refused(409, 'invalid_transition', { operations: ['change_customer'] });
    await merchant.cancel(order).refused(409, 'invalid_transition', { operations: ['change_customer'] });
  });

  it('the eligible_total and the payment methods of an order of 0.00 cannot exceed it', async () => {
    await merchant.create(free({ eligible_total: '0.01' })).refused(400, 'validation_failed', ['/eligible_total']);
    expect((await merchant.create(free({ eligible_total: '0.00' }))).eligible_total).toBe('0.00');
    const payment_methods = [{ id: 'pix', amount: '0.01' }];
    await merchant.create(free({ payment_methods })).refused(422, 'payments_exceed_total', ['/payment_methods']);
    await merchant
      .create(free({ payment_methods: [{ id: 'pix', amount: '0.00' }] }))
      .refused(400, 'validation_failed', ['/payment_methods/0/amount']);
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
