import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { withoutVoidable } from '../support/event-refund.js';
import { eventsOf, eventWalletOf, expectComplete, numberEvents } from '../support/events.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Call, Debit, FeedEvent, Grant, Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (started) => aLongLivedMerchant(started, { redeemShareBps: 10_000, releaseDays: 0 }),
});

const HALF_AN_HOUR = 30 * 60_000;

/** Creates an order of a customer with 80.00 that holds an amount. */
async function anOrderHolding(amount = '0.00'): Promise<Order> {
  const order = await merchant.orderWith('80.00', { metadata: { store: 'SP-014' } });
  if (amount !== '0.00') await hold(order, amount);
  return order;
}

const hold = (order: Order, amount: string, minutes?: number) =>
  merchant.hold(order, amount, minutes && new Date(Date.parse(order.expires_at) + minutes * 60_000).toISOString());
const amend = ({ id, items, metadata }: Order, total: string, redeem?: string) =>
  merchant.amend({ id }, { items, metadata, total, payment_methods: [], redeem });
const refund = (order: Order) => merchant.refund(order, '50.00', { external_id: 'DEV-1' });

const ofOrder = async ({ id }: Order): Promise<FeedEvent[]> =>
  (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === id);

/** The order as an event has it. */
async function eventOrderOf({ id }: Order): Promise<Order> {
  return merchant.order({ id });
}

describe('the events of orders', () => {
  it.each<[string, string, string, (order: Order) => Call<Order>]>([
    ['PUT /orders/{id}', 'order.amended', '0.00', (order) => amend(order, '140.00')],
    ['PUT /orders/{id} that lowers the hold', 'order.amended', '70.00', (order) => amend(order, '60.00', 'maximum')],
    ['PUT …/redemption', 'order.redemption_held', '0.00', (order) => hold(order, '10.00')],
    ['PUT …/redemption of less', 'order.redemption_held', '20.00', (order) => hold(order, '10.00')],
    ['PUT …/redemption of 0.00', 'order.redemption_released', '20.00', (order) => hold(order, '0.00')],
    ['PUT …/redemption with only another expires_at', 'order.renewed', '20.00', (order) => hold(order, '20.00', 5)],
    ['POST …/complete', 'order.completed', '20.00', (order) => merchant.complete(order)],
    ['POST …/cancel', 'order.cancelled', '20.00', (order) => merchant.cancel(order)],
  ])(
    '%s is one %s, with the order and the wallet as they are read then, and a repeat is none',
    async (_, type, held, act) => {
      const order = await anOrderHolding(held);
      const before = await ofOrder(order);
      const changed = await act(order);
      const events = await ofOrder(order);
      expect(events.map((event) => event.type)).toEqual([...before.map((event) => event.type), type]);
      const event = events.at(-1);
      const expected = {
        id: expect.stringMatching(/^evt_[0-9a-f-]{36}$/),
        type,
        sequence: expect.any(Number),
        timestamp: changed.updated_at,
        by: merchant.by,
        data: { order: await eventOrderOf(order), wallet: await eventWalletOf(merchant, order.document) },
      };
      expect(event).toEqual(expected);
      expect(event!.data.order).toMatchObject({ version: changed.version, metadata: { store: 'SP-014' } });
      const members = (value: unknown): unknown =>
        typeof value === 'object' && value !== null && Object.entries(value).map(([name, of]) => [name, members(of)]);
      expect(members(event!.data)).toEqual(members(expected.data));
      await act(order);
      expect(await ofOrder(order)).toEqual(events);
    },
  );

  it('POST …/refunds is one order.refunded with the refund, and a repeat is none', async () => {
    const order = await anOrderHolding('20.00');
    await merchant.complete(order);
    const refunded = await refund(order);
    const events = await ofOrder(order);
    expect(events.at(-1)).toMatchObject({ type: 'order.refunded', timestamp: refunded.created_at });
    expect(events.at(-1)!.data).toEqual({
      order: await eventOrderOf(order),
      refund: withoutVoidable(refunded),
      wallet: await eventWalletOf(merchant, order.document),
    });
    expect(events.at(-1)!.data.refund).toMatchObject({ voided_at: null, voided_by: null, void_reason: null });
    expect(Object.keys(events.at(-1)!.data)).toEqual(['order', 'refund', 'wallet']);
    expect(Object.keys(events.at(-1)!.data.refund!)).toEqual(Object.keys(withoutVoidable(refunded)));
    await refund(order);
    expect(await ofOrder(order)).toEqual(events);
  });

  it('POST …/refunds/{refund_id}/void is one order.refund_voided with the voided refund, and a repeat is none', async () => {
    const order = await anOrderHolding('20.00');
    await merchant.complete(order);
    const refunded = await refund(order);
    const before = await ofOrder(order);
    const voided = await merchant.voidRefund(refunded, { reason: 'Wrong order' });
    const events = await ofOrder(order);
    // The event of the refund still says what was so then.
    expect(events.slice(0, -1)).toEqual(before);
    const { type, by, timestamp, data } = events.at(-1)!;
    expect({ type, by, timestamp }).toEqual({
      type: 'order.refund_voided',
      by: merchant.by,
      timestamp: voided.voided_at,
    });
    expect(data).toEqual({
      order: await eventOrderOf(order),
      refund: withoutVoidable(voided),
      wallet: await eventWalletOf(merchant, order.document),
    });
    expect(data.refund).toMatchObject({ voided_by: merchant.by, void_reason: 'Wrong order' });
    expect(data.order).toMatchObject({ status: 'completed', refunded: { amount: '0.00' } });
    expect(Object.keys(data)).toEqual(['order', 'refund', 'wallet']);
    expect(Object.keys(data.refund!)).toEqual(Object.keys(withoutVoidable(voided)));
    await merchant.voidRefund(refunded).replayed();
    await refund(order).replayed();
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
    const [, event] = await ofOrder(order);
    expect(event).toMatchObject({ type: 'order.expired', data: { wallet: { available: '0.00', held: '0.00' } } });
    expect(event!.data.wallet).toEqual(await eventWalletOf(merchant, order.document));
  });

  it.each<[string, string, (order: Order) => Call<Order>]>([
    ['cancelled', 'order.cancelled', (order) => merchant.cancel(order)],
    ['held again', 'order.redemption_held', (order) => hold(order, '30.00')],
    ['renewed', 'order.renewed', (order) => hold(order, '0.00')],
  ])('an order that is due and %s before the sweep has order.expired first', async (_, type, act) => {
    const order = await anOrderHolding('20.00');
    service.clock.skip(HALF_AN_HOUR);
    await act(order);
    const [, , expired, event, ...others] = await ofOrder(order);
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
    await merchant.complete(completed);
    const refunds = [await refund(completed), await merchant.refund(completed, '10.00')];
    const events = await eventsOf(service, merchant);
    const other = await aMerchant(service);
    const stale = { headers: { 'if-match': '"1"' } };
    await hold(order, '99.00').refused(422, 'redemption_exceeds_maximum');
    await hold(order, '10.00', 60 * 24 * 365).refused(400, 'validation_failed');
    await amend(order, '10.00').refused(422, 'redemption_exceeds_maximum');
    await merchant.cancel(order, stale).refused(412, 'precondition_failed');
    await merchant.complete(order, { redeem: '99.00' }).refused(422, 'redemption_exceeds_maximum');
    await refund(order).refused(409, 'invalid_transition');
    await merchant.cancel(completed).refused(409, 'invalid_transition');
    await merchant.refund(completed, '999.00').refused(422, 'refund_exceeds_total');
    await merchant.sell({ document: order.document }, { redeem: '99.00' }).refused(422, 'redemption_exceeds_maximum');
    await merchant.debit({ document: order.document, amount: '80.01' }).refused(422, 'debit_exceeds_balance');
    await merchant.voidRefund(refunds[0]!).refused(409, 'refund_not_voidable');
    await other.cancel(order).refused(404, 'not_found');
    await other.voidRefund(refunds[1]!).refused(404, 'not_found');
    expect(await eventsOf(service, merchant)).toEqual(events);
    service.clock.skip(HALF_AN_HOUR);
    await amend(order, '90.00').refused(409, 'invalid_transition');
    expect(await rowsOf(service, 'SELECT type FROM event_outbox')).toEqual([]);
    expect((await ofOrder(order)).map(({ type }) => type)).toEqual([
      'order.created',
      'order.redemption_held',
      'order.expired',
    ]);
    expect(await eventsOf(service, other)).toEqual([]);
    expectComplete(await eventsOf(service, merchant));
  });
});

const ofCustomer = async (document: string): Promise<FeedEvent[]> =>
  (await eventsOf(service, merchant)).filter(
    ({ type, data }) => type !== 'order.created' && data.wallet.document === document,
  );
const typesOf = (events: FeedEvent[]): string[] => events.map(({ type }) => type);

/** The grant as an event has it. */
function eventGrant(grant: Grant): object {
  const { id, external_id, store, amount, available_at, available_on, expires_at, expires_on, reason, metadata } =
    grant;
  return { id, external_id, store, amount, available_at, available_on, expires_at, expires_on, reason, metadata };
}

/** The debit as an event has it. */
function eventDebit({ id, external_id, store, amount, reason, metadata }: Debit): object {
  return { id, external_id, store, amount, reason, metadata };
}

/** Lets a customer spend 10.00 of an order, which is then refunded: 10.00 of debt. */
async function aDebtOf10(document: string): Promise<void> {
  const earning = await merchant.completed({ document, total: '200.00' });
  await merchant.completed({ document, total: '10.00' }, { redeem: '10.00' });
  await merchant.refund(earning, '200.00');
}

describe('the events of wallets', () => {
  it('POST /grants is one cashback.granted with the grant, and a repeat or a refusal is none', async () => {
    const document = aDocument();
    const content = {
      external_id: `G-${document}`,
      document,
      amount: '80.00',
      reason: 'Late delivery',
      metadata: { campaign: 'November' },
    };
    const granted = await merchant.grant(content);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['cashback.granted']);
    expect(events[0]!.data).toEqual({
      amount: '80.00',
      grant: eventGrant(granted),
      wallet: await eventWalletOf(merchant, document),
    });
    expect(Object.keys(events[0]!.data.grant!)).toEqual(Object.keys(eventGrant(granted)));
    expect(events[0]!.timestamp).toBe(granted.created_at);
    await merchant.grant(content);
    await merchant.grant({ ...content, amount: '81.00' }).refused(409, 'external_id_conflict');
    expect(await ofCustomer(document)).toEqual(events);
  });

  it('POST /grants/{id}/void is one cashback.voided with the voided amount, and a repeat is none', async () => {
    const document = aDocument();
    const granted = await merchant.grant({ document, amount: '80.00' });
    await merchant.completed({ document, total: '30.00' }, { redeem: '30.00' });
    const body = await merchant.voidGrant(granted);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['cashback.granted', 'order.completed', 'cashback.voided']);
    const wallet = await eventWalletOf(merchant, document);
    expect(events[2]!.data).toEqual({ amount: '50.00', grant: eventGrant(body), wallet });
    await merchant.voidGrant(granted);
    expect(await ofCustomer(document)).toEqual(events);
  });

  it('POST /debits is one cashback.debited with the debit, and a repeat or a refusal is none', async () => {
    const document = await merchant.customerWith('80.00');
    const content = {
      external_id: `D-${document}`,
      document,
      amount: '30.00',
      reason: 'Granted twice',
      note: 'Seen by the manager',
      store: 'SP-014',
      metadata: { ticket: '4711' },
    };
    const debited = await merchant.debit(content);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['cashback.granted', 'cashback.debited']);
    expect(events[1]).toMatchObject({ timestamp: debited.created_at, by: merchant.by });
    expect(events[1]!.data).toEqual({
      amount: '30.00',
      debit: eventDebit(debited),
      wallet: await eventWalletOf(merchant, document),
    });
    expect(events[1]!.data.wallet).toMatchObject({ available: '50.00' });
    expect(Object.keys(events[1]!.data.debit!)).toEqual(Object.keys(eventDebit(debited)));
    await merchant.debit(content).replayed();
    await merchant.debit({ ...content, amount: '31.00' }).refused(409, 'external_id_conflict');
    await merchant.debit({ document, amount: '50.01' }).refused(422, 'debit_exceeds_balance');
    expect(await ofCustomer(document)).toEqual(events);
  });

  it('POST /debits/{id}/void is one cashback.debit_voided with what it restored, and a repeat is none', async () => {
    const expiresAt = new Date(+service.clock.now() + 3_600_000);
    const document = await merchant.customerWith('80.00');
    await merchant.credit(document, '5.00', { expiresAt });
    const debited = await merchant.debit({ document, amount: '30.00' });
    service.clock.skip(3_600_000);
    const voided = await merchant.voidDebit(debited, { reason: 'Wrong customer' });
    const events = await ofCustomer(document);
    expect(typesOf(events).slice(2)).toEqual(['cashback.debited', 'cashback.debit_voided']);
    expect(events[3]).toMatchObject({ timestamp: voided.voided_at, by: merchant.by });
    expect(events[3]!.data).toEqual({
      amount: '25.00',
      debit: eventDebit(voided),
      wallet: await eventWalletOf(merchant, document),
    });
    expect(events[3]!.data.debit).toMatchObject({ amount: '30.00' });
    await merchant.voidDebit(debited).replayed();
    expect(await ofCustomer(document)).toEqual(events);
  });

  it('PUT /wallets/{id}/freeze is one wallet.frozen or wallet.unfrozen with the wallet, and a repeat is none', async () => {
    const document = await merchant.customerWith('80.00');
    const wallet = await merchant.wallet(document);
    for (const frozen of [true, false]) {
      const before = await ofCustomer(document);
      const changed = await merchant.freeze(wallet, frozen, 'Under review');
      const events = await ofCustomer(document);
      expect(events.slice(0, -1)).toEqual(before);
      const { type, by, timestamp, data } = events.at(-1)!;
      expect({ type, by, timestamp }).toEqual({
        type: frozen ? 'wallet.frozen' : 'wallet.unfrozen',
        by: merchant.by,
        timestamp: changed.freeze_changed_at,
      });
      expect(data).toEqual({ wallet: await eventWalletOf(merchant, document) });
      expect(data.wallet).toMatchObject({ frozen, available: '80.00' });
      await merchant.freeze(wallet, frozen, 'Another reason').replayed();
      await merchant.freeze(wallet, !frozen, '').refused(400, 'validation_failed');
      expect(await ofCustomer(document)).toEqual(events);
    }
  });

  it('a refund of spent cashback and a grant that repays it are wallet.debt_changed with the difference', async () => {
    const document = aDocument();
    await aDebtOf10(document);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['order.completed', 'order.completed', 'wallet.debt_changed', 'order.refunded']);
    const owing = await eventWalletOf(merchant, document);
    expect(owing).toMatchObject({ debt: '10.00' });
    expect(events[2]!.data).toEqual({ change: '10.00', wallet: owing });
    expect(events[3]!.data.wallet).toEqual(owing);
    await merchant.credit(document, '4.00');
    const [repaid, granted] = (await ofCustomer(document)).slice(4);
    expect(repaid).toMatchObject({ type: 'wallet.debt_changed', data: { change: '-4.00', wallet: { debt: '6.00' } } });
    expect(granted).toMatchObject({ type: 'cashback.granted', data: { amount: '4.00', wallet: repaid!.data.wallet } });
  });

  it('cashback that expires is one cashback.expired per wallet with the sum, and another sweep writes none', async () => {
    const document = aDocument();
    const expiresAt = new Date(+service.clock.now() + 3_600_000);
    for (const amount of ['5.00', '7.00']) await merchant.credit(document, amount, { expiresAt });
    await merchant.credit(document, '1.00');
    service.clock.skip(3_600_000);
    await numberEvents(service);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual([...Array<string>(3).fill('cashback.granted'), 'cashback.expired']);
    expect(events[3]!.data).toEqual({ amount: '12.00', wallet: await eventWalletOf(merchant, document) });
    expect(events[3]!.data.wallet).toMatchObject({ available: '1.00', pending: '0.00' });
  });

  it('cashback that an operation finds expired is cashback.expired before the event of the operation', async () => {
    const document = aDocument();
    const expiresAt = new Date(+service.clock.now() + 600_000);
    await merchant.credit(document, '9.00', { expiresAt });
    const order = await merchant.create({ document });
    await merchant.hold(order, '4.00');
    service.clock.skip(600_000);
    await merchant.complete(order, {});
    const events = await ofCustomer(document);
    expect(typesOf(events).slice(2)).toEqual(['cashback.expired', 'order.completed']);
    expect(events[2]!.data).toMatchObject({ amount: '5.00', wallet: { available: '7.30', held: '0.00' } });
    expect(events[3]!.data.wallet).toEqual(await eventWalletOf(merchant, document));
  });

  it('the sums of every event are those of the wallet, with expired, pending and available credits and other holds', async () => {
    const pending = await aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 3 });
    const document = aDocument();
    const expiresAt = new Date(+service.clock.now() + 300_000);
    await pending.credit(document, '3.00', { expiresAt });
    await pending.credit(document, '50.00');
    const orders = await atOnce(3, () => pending.create({ document }));
    for (const order of orders) await pending.hold(order, '10.00');
    service.clock.skip(300_000);
    await pending.complete(orders[0]!, {});
    const wallet = await eventWalletOf(pending, document);
    expect(wallet).toMatchObject({ pending: '7.00', held: '20.00' });
    expect((await eventsOf(service, pending)).findLast(({ type }) => type === 'order.completed')?.data.wallet).toEqual(
      wallet,
    );
    await pending.cancel(orders[1]!);
    const [cancelled] = await eventsOf(service, pending, '&types=order.cancelled');
    expect(cancelled?.data.wallet).toEqual(await eventWalletOf(pending, document));
  });
});

describe('what events store', () => {
  it('no document, metadata or reason is stored, and an erased customer is erased from earlier events', async () => {
    const document = aDocument();
    const secrets = [document, 'a reason of the grant', 'the campaign', 'the store', 'a reason of the void'];
    secrets.push('a reason of the debit', 'the ticket');
    const unsaid = ['a note of the debit', 'a reason of its void', 'a reason of the freeze'];
    const granted = await merchant.grant({
      external_id: 'G-erased',
      document,
      amount: '20.00',
      reason: secrets[1],
      metadata: { campaign: secrets[2] },
    });
    const order = await merchant.create({ document, metadata: { store: secrets[3] } });
    await merchant.complete(order, { redeem: '5.00' });
    const refunded = await merchant.refund(order, '10.00', { external_id: 'DEV' });
    await merchant.voidRefund(refunded, { reason: secrets[4] });
    const debited = await merchant.debit({
      document,
      amount: '2.00',
      reason: secrets[5],
      note: unsaid[0],
      metadata: { ticket: secrets[6] },
    });
    await merchant.voidDebit(debited, { reason: unsaid[1] });
    await merchant.freeze(await merchant.wallet(document), true, unsaid[2]);
    const stored = async (table: string): Promise<string> =>
      JSON.stringify(await rowsOf(service, `SELECT * FROM ${table}`));
    const outbox = await stored('event_outbox');
    expect(outbox).toContain(granted.id);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual([
      'cashback.granted',
      'order.completed',
      'order.refunded',
      'order.refund_voided',
      'cashback.debited',
      'cashback.debit_voided',
      'wallet.frozen',
    ]);
    for (const text of unsaid) expect(JSON.stringify([events, outbox, await stored('events')])).not.toContain(text);
    for (const secret of secrets) {
      expect(JSON.stringify(events)).toContain(secret);
      expect(outbox).not.toContain(secret);
      expect(await stored('events')).not.toContain(secret);
    }
    const { pseudonym } = await merchant.erase(document);
    const erased = await ofCustomer(pseudonym);
    for (const secret of secrets) expect(JSON.stringify(erased)).not.toContain(secret);
    expect(erased.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(erased[0]!.data).toMatchObject({ grant: { reason: null, metadata: {} }, wallet: { document: pseudonym } });
    expect(erased[1]!.data.order).toEqual({ ...events[1]!.data.order, document: pseudonym, metadata: {} });
    expect(erased[3]!.data.refund).toEqual({ ...events[3]!.data.refund, void_reason: null });
    expect(erased[4]!.data.debit).toEqual({ ...events[4]!.data.debit, reason: null, metadata: {} });
    expect(erased[6]!.data.wallet).toEqual({ ...events[6]!.data.wallet, document: pseudonym });
    expect((await merchant.client.get<FeedEvent>(`/events/${events[1]!.id}`)).body).toEqual(erased[1]);
  });
});
