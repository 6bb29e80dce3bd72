import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf, eventWalletOf, expectComplete } from '../support/events.js';
import { aDocument, aMerchant, anOrder, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { FeedEvent } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { useSharing } from '../support/use-sharing.js';
import { rowsOf } from '../support/wallets.js';

const CREATED = '&types=order.created';

describe('order.created', () => {
  const { service, merchant } = useService({
    merchant: (started) => aLongLivedMerchant(started, { redeemShareBps: 10_000, releaseDays: 0 }),
  });

  const ofOrder = async ({ id }: { id: string }): Promise<FeedEvent[]> =>
    (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === id);

  it('POST /orders is one order.created with the order, without what depends on the balance', async () => {
    const content = anOrder({
      document: await merchant.customerWith('80.00'),
      store: 'SP-014',
      metadata: { till: '3' },
    });
    const order = await merchant.create(content);
    const events = await ofOrder(order);
    const { available: _a, maximum: _m, limited_by: _l, ...to_redeem } = order.cashback.to_redeem;
    expect(events).toEqual([
      {
        id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
        type: 'order.created',
        sequence: expect.any(Number),
        timestamp: order.created_at,
        by: merchant.by,
        data: { order: { ...order, cashback: { ...order.cashback, to_redeem } } },
      },
    ]);
    const [{ data }] = events as [FeedEvent];
    expect(data.order).toMatchObject({ version: 1, status: 'pending', store: 'SP-014', metadata: { till: '3' } });
    expect(Object.keys(data.order!)).toEqual(Object.keys(order));
    expect(Object.keys(data.order!.cashback.to_redeem)).toEqual(['held', 'lapsed', 'redeemed', 'returned']);
    expect((await merchant.client.get<FeedEvent>(`/events/${events[0]!.id}`)).body).toEqual(events[0]);
  });

  it('a replay and a refused creation are no event', async () => {
    const content = anOrder();
    const order = await merchant.create(content);
    const before = await eventsOf(service, merchant);
    await merchant.create(content).replayed();
    await merchant.create({ ...content, total: '151.00' }).refused(409, 'external_id_conflict');
    await merchant.create({ total: '-1.00' }).refused(400, 'validation_failed');
    await merchant.create({ payment_methods: [{ id: 'pix', amount: '151.00' }] }).refused(422, 'payments_exceed_total');
    await merchant.create({ earn_amount: '10.00' }).refused(422, 'earn_amount_exceeds_maximum');
    await merchant.cancel(order);
    await merchant.create(content).replayed();
    expect((await eventsOf(service, merchant)).slice(before.length).map(({ type }) => type)).toEqual([
      'order.cancelled',
    ]);
  });

  it('an order whose event cannot be stored is not created', async () => {
    await rowsOf(
      service,
      `CREATE TRIGGER tr_outbox_refused BEFORE INSERT ON event_outbox FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'`,
    );
    const content = anOrder();
    try {
      expect((await merchant.client.post('/orders', content)).status).toBe(500);
    } finally {
      await rowsOf(service, 'DROP TRIGGER tr_outbox_refused');
    }
    expect(await rowsOf(service, 'SELECT id FROM orders WHERE document = ?', [content.document])).toEqual([]);
    const { id } = await merchant.create(content);
    expect(await ofOrder({ id })).toHaveLength(1);
  });

  it('order.created names the user who created the order, not the one who changed it', async () => {
    const till = await aUser(service, merchant.id);
    const order = await till.create();
    await merchant.cancel(order);
    const [created, cancelled] = await ofOrder(order);
    expect([created!.by, cancelled!.by]).toEqual([till.by, merchant.by]);
    for (const { data } of [created!, cancelled!]) expect(data.order!.created_by).toEqual(till.by);
    // It was not cancelled yet.
    expect(created!.data.order).toMatchObject({ status: 'pending', cancelled_by: null, cancel_reason: null });
  });

  it('order.created has the amounts of the creation and the current items and metadata', async () => {
    const order = await merchant.create({ metadata: { till: '3' } });
    const items = [{ id: 'sku-9', price: '90.00', quantity: 1 }];
    await merchant.amend(order, { items, total: '90.00', payment_methods: [], metadata: { till: '4' } });
    const [created, amended] = await ofOrder(order);
    expect(created!.data.order).toMatchObject({ version: 1, total: '150.00', items, metadata: { till: '4' } });
    expect(amended!.data.order).toMatchObject({ version: 2, total: '90.00', items, metadata: { till: '4' } });
  });

  it('order.created of an erased customer has the pseudonym and no metadata', async () => {
    const document = aDocument();
    const order = await merchant.create({ document, metadata: { note: 'a secret' } });
    const [before] = await ofOrder(order);
    const { pseudonym } = await merchant.erase(document);
    const [erased] = await ofOrder(order);
    expect(JSON.stringify(before)).toContain('a secret');
    expect(erased).toEqual({
      ...before,
      data: { order: { ...before!.data.order, document: pseudonym, metadata: {} } },
    });
  });

  it('each version of an order has exactly one event, with its number, from the creation to the void of the last refund', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    await merchant.amend(order, { items: order.items, total: '140.00', payment_methods: [], redeem: 'maximum' });
    await merchant.hold(order, '0.00');
    service.clock.skip(30 * 60_000);
    await eventsOf(service, merchant);
    await merchant.hold(order, '0.00', new Date(+service.clock.now() + 3_600_000).toISOString());
    await merchant.complete(order, {});
    const change = { document: aDocument(), reason: 'Typed wrongly' };
    await merchant.put(`/orders/${order.id}/customer`, change);
    await merchant.put(`/orders/${order.id}/customer`, change);
    await merchant.refund(order, '40.00');
    const last = await merchant.refund(order, '100.00');
    for (const _attempt of ['first', 'second']) await merchant.voidRefund(last);
    const { version } = await merchant.order(order);
    const events = await ofOrder(order);
    expect(events.map(({ type, data }) => [data.order!.version, type])).toEqual([
      [1, 'order.created'],
      [2, 'order.redemption_held'],
      [3, 'order.amended'],
      [4, 'order.redemption_released'],
      [5, 'order.expired'],
      [6, 'order.renewed'],
      [7, 'order.completed'],
      [8, 'order.customer_changed'],
      [9, 'order.refunded'],
      [10, 'order.refunded'],
      [11, 'order.refund_voided'],
    ]);
    expect(version).toBe(11);
    expectComplete(await eventsOf(service, merchant));
  });

  it('PUT /orders/{id}/customer is one order.customer_changed with both wallets, and a repeat is none', async () => {
    const shop = await aLongLivedMerchant(service, { releaseDays: 0 });
    const [first, second] = [aDocument(), aDocument()];
    const order = await shop.completed({ document: first });
    const change = { document: second, reason: 'Typed wrongly at the till' };
    await shop.put(`/orders/${order.id}/customer`, change);
    const events = await eventsOf(service, shop);
    expect(events.map(({ type }) => type)).toEqual(['order.created', 'order.completed', 'order.customer_changed']);
    const { data, by, timestamp } = events[2]!;
    expect(by).toEqual(shop.by);
    expect(data).toEqual({
      order: await shop.order(order),
      wallet: await eventWalletOf(shop, second),
      previous_wallet: await eventWalletOf(shop, first),
    });
    expect(Object.keys(data)).toEqual(['order', 'wallet', 'previous_wallet']);
    expect(data.wallet).toMatchObject({ available: '7.50' });
    expect(data.previous_wallet).toMatchObject({ available: '0.00' });
    expect(timestamp).toBe(data.order!.updated_at);
    expect(data.order).toMatchObject({ customer_changed_by: shop.by, customer_change_reason: change.reason });
    expect(events[1]!.data.order).toMatchObject({ customer_changed_at: null, customer_change_reason: null });
    const stored = await rowsOf(service, 'SELECT data FROM events WHERE subject_id = ?', [order.id]);
    expect(JSON.stringify(stored)).not.toContain(change.reason);
    // The order is the second customer's now, also in earlier events. Their wallets are those of then.
    expect(events[1]!.data).toMatchObject({ order: { document: second }, wallet: { document: first } });
    await shop.put(`/orders/${order.id}/customer`, change);
    expect(await eventsOf(service, shop)).toEqual(events);
    expectComplete(events);
  });
});

describe.each([true, false])('concurrent creations with BATCH=%s', (isBatched) => {
  const { service, merchant, other } = useSharing(isBatched);

  it('each of 40 orders that 3 requests each create at once has one order.created', async () => {
    const contents = Array.from({ length: 40 }, () => anOrder());
    const created = await atOnce(120, (at) => merchant.create(contents[at % 40]));
    const ids = new Set(created.map(({ id }) => id));
    expect(ids.size).toBe(40);
    const events = await eventsOf(service, merchant);
    expectComplete(events);
    expect(events.map(({ type }) => type)).toEqual(Array(40).fill('order.created'));
    expect(new Set(events.map(({ data }) => data.order!.id))).toEqual(ids);
  });

  it('new, repeated and refused orders of two merchants that come together have one order.created per new order', async () => {
    const shops = [await aMerchant(service), other];
    const existing = await Promise.all(shops.map(async (shop) => shop.create({ external_id: 'SAME' })));
    const send = (at: number) => {
      const shop = shops[at % 2]!;
      const { external_id, items, document, total } = existing[at % 2]!;
      const payment_methods = [{ id: 'credit_card', amount: total }];
      if (at % 6 < 2) return shop.create({ external_id, items, document, total, payment_methods }).answer;
      return shop.create(at % 6 < 4 ? { external_id } : {}).answer;
    };
    const answers = await atOnce(60, send);
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, at) => (at % 6 < 2 || at % 6 > 3 ? 201 : 409)));
    for (const [of, shop] of shops.entries()) {
      const events = await eventsOf(service, shop, CREATED);
      const isNew = (_: unknown, at: number): boolean => at % 2 === of && at % 6 > 3;
      const created = answers.filter(isNew).map(({ body }) => body.id);
      expect(events.map(({ data }) => data.order!.id).sort()).toEqual([existing[of]!.id, ...created].sort());
      for (const { by } of events) expect(by).toEqual(shop.by);
    }
  });
});
