import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { eventsOf, eventWalletOf, expectComplete } from '../support/events.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { FeedEvent, Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();
let merchant: TestMerchant;

beforeAll(async () => {
  merchant = await aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 0 });
});

const HALF_AN_HOUR = 30 * 60_000;

/** Creates an order of a customer with 80.00 that holds an amount. */
async function anOrderHolding(amount = '0.00'): Promise<Order> {
  const order = await merchant.orderWith('80.00', { metadata: { store: 'SP-014' } });
  if (amount !== '0.00') await hold(order, amount);
  return order;
}

const hold = (order: Order, amount: string, minutes?: number) =>
  merchant.hold(order, amount, minutes && new Date(Date.parse(order.expires_at) + minutes * 60_000).toISOString())
    .answer;
const amend = (order: Order, total: string, redeem?: string) =>
  merchant.amend(order, {
    items: order.items,
    metadata: order.metadata,
    total,
    payment_methods: [],
    redeem,
  }).answer;
const complete = (order: Order) => merchant.complete(order, {}).answer;
const refund = (order: Order) => merchant.refund(order, '50.00', { external_id: 'DEV-1' }).answer;

const ofOrder = async ({ id }: Order): Promise<FeedEvent[]> =>
  (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === id);

/** The order as an event has it. */
async function eventOrderOf({ id }: Order): Promise<object> {
  const { document: _, items: _items, ...shown } = await merchant.order({ id });
  return shown;
}

describe('the events of orders', () => {
  it.each<[string, string, () => Promise<Order>, (order: Order) => Promise<Answer<Order>>]>([
    ['PUT /orders/{id}', 'order.amended', () => anOrderHolding(), (order) => amend(order, '140.00')],
    [
      'PUT /orders/{id} that lowers the hold',
      'order.amended',
      () => anOrderHolding('70.00'),
      (order) => amend(order, '60.00', 'maximum'),
    ],
    ['PUT …/redemption', 'order.redemption_held', () => anOrderHolding(), (order) => hold(order, '10.00')],
    [
      'PUT …/redemption of less',
      'order.redemption_held',
      () => anOrderHolding('20.00'),
      (order) => hold(order, '10.00'),
    ],
    [
      'PUT …/redemption of 0.00',
      'order.redemption_released',
      () => anOrderHolding('20.00'),
      (order) => hold(order, '0.00'),
    ],
    [
      'PUT …/redemption with only another expires_at',
      'order.renewed',
      () => anOrderHolding('20.00'),
      (order) => hold(order, '20.00', 5),
    ],
    ['POST …/complete', 'order.completed', () => anOrderHolding('20.00'), complete],
    ['POST …/cancel', 'order.cancelled', () => anOrderHolding('20.00'), (order) => merchant.cancel(order).answer],
  ])(
    '%s is one %s, with the order and the wallet as they are read then, and a repeat is none',
    async (_, type, arrange, act) => {
      const order = await arrange();
      const before = await ofOrder(order);
      const answer = await act(order);
      expect(answer.status).toBe(200);
      const events = await ofOrder(order);
      expect(events.map((event) => event.type)).toEqual([...before.map((event) => event.type), type]);
      const event = events.at(-1);
      const expected = {
        id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
        type,
        sequence: expect.any(Number),
        timestamp: answer.body.updated_at,
        data: { order: await eventOrderOf(order), wallet: await eventWalletOf(merchant, order.document) },
      };
      expect(event).toEqual(expected);
      expect(event!.data.order).toMatchObject({ version: answer.body.version, metadata: { store: 'SP-014' } });
      const members = (value: unknown): unknown =>
        typeof value === 'object' && value !== null && Object.entries(value).map(([name, of]) => [name, members(of)]);
      expect(members(event!.data)).toEqual(members(expected.data));
      expect((await act(order)).status).toBe(200);
      expect(await ofOrder(order)).toEqual(events);
    },
  );

  it('POST …/refunds is one order.refunded with the refund, and a repeat is none', async () => {
    const order = await anOrderHolding('20.00');
    await complete(order);
    const { body } = await refund(order);
    const events = await ofOrder(order);
    expect(events.at(-1)).toMatchObject({ type: 'order.refunded', timestamp: body.created_at });
    expect(events.at(-1)!.data).toEqual({
      order: await eventOrderOf(order),
      refund: body,
      wallet: await eventWalletOf(merchant, order.document),
    });
    expect(Object.keys(events.at(-1)!.data)).toEqual(['order', 'refund', 'wallet']);
    expect((await refund(order)).status).toBe(201);
    expect(await ofOrder(order)).toEqual(events);
  });

  it.each(['0.00', '20.00'])('an order that held %s and expires is one order.expired', async (held) => {
    const order = await anOrderHolding(held);
    service.clock.skip(HALF_AN_HOUR);
    const events = await ofOrder(order);
    expect(events.at(-1)!.type).toBe('order.expired');
    expect(events.at(-1)!.data).toEqual({
      order: await eventOrderOf(order),
      wallet: await eventWalletOf(merchant, order.document),
    });
    expect(events.at(-1)!.data.order).toMatchObject({ status: 'expired', cashback: { to_redeem: { lapsed: held } } });
    expect(await ofOrder(order)).toEqual(events);
  });

  it('an expired order of a customer who never had cashback has an empty wallet', async () => {
    const order = await merchant.create();
    service.clock.skip(HALF_AN_HOUR);
    const [event] = await ofOrder(order);
    expect(event).toMatchObject({ type: 'order.expired', data: { wallet: { available: '0.00', held: '0.00' } } });
    expect(event!.data.wallet).toEqual(await eventWalletOf(merchant, order.document));
  });

  it.each<[string, string, (order: Order) => Promise<Answer<Order>>]>([
    ['cancelled', 'order.cancelled', (order) => merchant.cancel(order).answer],
    ['held again', 'order.redemption_held', (order) => hold(order, '30.00')],
    ['renewed', 'order.renewed', (order) => hold(order, '0.00')],
  ])('an order that is due and %s before the sweep has order.expired first', async (_, type, act) => {
    const order = await anOrderHolding('20.00');
    service.clock.skip(HALF_AN_HOUR);
    expect((await act(order)).status).toBe(200);
    const [, expired, event, ...others] = await ofOrder(order);
    expect(others).toEqual([]);
    expect(expired).toMatchObject({ type: 'order.expired', timestamp: event!.timestamp });
    expect(expired!.data.order).toMatchObject({ status: 'expired', version: 3 });
    expect(expired!.data.wallet).toMatchObject({ available: '80.00', held: '0.00' });
    expect(event!.type).toBe(type);
    expect(event!.data.order).toEqual(await eventOrderOf(order));
    expect(event!.data.wallet).toEqual(await eventWalletOf(merchant, order.document));
  });

  it('an operation that is refused is no event, also if the order was due', async () => {
    const order = await anOrderHolding('20.00');
    const completed = await anOrderHolding();
    await complete(completed);
    const events = await eventsOf(service, merchant);
    const other = await aMerchant(service);
    const stale = { headers: { 'if-match': '"1"' } };
    const refusals = [
      await hold(order, '99.00'),
      await hold(order, '10.00', 60 * 24 * 365),
      await amend(order, '10.00'),
      await merchant.cancel(order, stale).answer,
      await merchant.complete(order, { redeem: '99.00' }).answer,
      await refund(order),
      await merchant.cancel(completed).answer,
      await merchant.refund(completed, '999.00', { external_id: 'DEV' }).answer,
      await other.cancel(order).answer,
    ];
    expect(refusals.map(({ status }) => status)).toEqual([422, 400, 422, 412, 422, 409, 409, 422, 404]);
    expect(await eventsOf(service, merchant)).toEqual(events);
    service.clock.skip(HALF_AN_HOUR);
    expect((await amend(order, '90.00')).status).toBe(409);
    expect(await rowsOf(service, 'SELECT type FROM event_outbox')).toEqual([]);
    expect((await ofOrder(order)).map(({ type }) => type)).toEqual(['order.redemption_held', 'order.expired']);
    expect(await eventsOf(service, other)).toEqual([]);
    expectComplete(await eventsOf(service, merchant));
  });
});
