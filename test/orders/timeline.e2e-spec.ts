import { describe, expect, it } from '@jest/globals';
import { atOnce, Client } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { aDocument, aMerchant, aUser, logIn } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { TimelineLine } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (started) => aLongLivedMerchant(started, { redeemShareBps: 10_000, releaseDays: 1, validityDays: 30 }),
});

const linesOf = async (order: { id: string }): Promise<TimelineLine[]> =>
  (await merchant.timeline(order, 'limit=100')).data;

/** Each line in short form, such as `earn 7.50`. */
const toldOf = async (order: { id: string }): Promise<string[]> =>
  (await linesOf(order)).map(({ type, amount }) => (amount === null ? type : `${type} ${amount}`));

const aMinute = (): Promise<void> => service.clock.advance({ minutes: 1 });

describe('GET /orders/{id}/timeline', () => {
  it('a timeline has what happened to an order and the cashback that it moved, with who, where and why, oldest first', async () => {
    let cashier = await aUser(service, merchant.id, ['sell', 'refund'], 'Caixa 3');
    const order = await cashier.create({ store: 'SP-014' });
    await aMinute();
    const completed = await merchant.complete(order, {});
    await service.clock.advanceTo(completed.cashback.to_receive.available_at, 1000);
    const spent = await merchant.completed(
      { document: order.document, total: '2.50', earn_amount: '0.00' },
      { redeem: '2.50' },
    );
    await aMinute();
    const change = await merchant.changeCustomer(order, aDocument());
    await aMinute();
    cashier = cashier.with(new Client(service, (await logIn(service, cashier.email)).access_token));
    const first = await cashier.refund(order, '50.00', { reason: 'Defective', store: 'RJ-003' });
    await aMinute();
    const second = await cashier.refund(order, '100.00');
    const of = (type: string, amount: string | null, at: string | null, by: object | null, store: string | null) => {
      return { at, type, amount, by, store, refund_id: null, refund_external_id: null, reason: null };
    };
    const ofRefund = ({ id, external_id }: typeof first) => ({ refund_id: id, refund_external_id: external_id });
    const [at, available] = [completed.completed_at, completed.cashback.to_receive.available_at];
    expect(await merchant.timeline(order)).toEqual({
      data: [
        of('created', null, order.created_at, cashier.by, 'SP-014'),
        of('completed', '150.00', at, merchant.by, 'SP-014'),
        of('earn', '7.50', at, merchant.by, 'SP-014'),
        of('available', '7.50', available, null, null),
        {
          ...of('customer_changed', null, change.created_at, merchant.by, 'SP-014'),
          reason: 'Typed wrongly at the till',
        },
        of('move_out', '-5.00', change.created_at, merchant.by, 'SP-014'),
        of('move_in', '5.00', change.created_at, merchant.by, 'SP-014'),
        {
          ...of('refunded', '50.00', first.created_at, cashier.by, 'RJ-003'),
          ...ofRefund(first),
          reason: 'Defective',
        },
        { ...of('refunded', '100.00', second.created_at, cashier.by, 'SP-014'), ...ofRefund(second) },
        { ...of('take_back', '-5.00', second.created_at, cashier.by, 'SP-014'), ...ofRefund(second) },
      ],
      next_cursor: null,
    });
    expect(await toldOf(spent)).toEqual(['created', 'completed 2.50', 'redeem -2.50']);
  });

  it('a timeline is the same after the events are deleted, and after every request was repeated', async () => {
    const members = { external_id: aDocument(), document: await merchant.customerWith('20.00'), metadata: {} };
    const order = await merchant.create(members);
    await merchant.complete(order, { redeem: '20.00' });
    const refund = { external_id: 'DEV-1', reason: 'Too large' };
    await merchant.refund(order, '75.00', refund);
    const before = await linesOf(order);
    expect(before.map(({ type, amount }) => [type, amount])).toEqual([
      ['created', null],
      ['completed', '150.00'],
      ['redeem', '-20.00'],
      ['earn', '6.50'],
      ['refunded', '75.00'],
      ['return', '10.00'],
      ['take_back', '-3.25'],
    ]);
    await merchant.refund(order, '75.00', refund).replayed();
    expect(await eventsOf(service, merchant)).not.toHaveLength(0);
    await rowsOf(service, 'DELETE FROM events WHERE merchant_id = ?', [merchant.id]);
    expect(await linesOf(order)).toEqual(before);
  });

  it('an order that expired says so, also after it was completed, and so does the cashback that it earned', async () => {
    const order = await merchant.orderThatHolds('20.00');
    await service.clock.advanceTo(order.expires_at, 2000);
    expect(await linesOf(order)).toMatchObject([
      { type: 'created' },
      { type: 'expired', at: order.expires_at, amount: null, by: null, store: null, reason: null },
    ]);
    const completed = await merchant.complete(order, { redeem: '0.00' });
    const { available_at, expires_at } = completed.cashback.to_receive;
    expect(await toldOf(order)).toEqual(['created', 'expired', 'completed 150.00', 'earn 7.50']);
    await service.clock.advanceTo(available_at, -2000);
    expect(await toldOf(order)).toHaveLength(4);
    await service.clock.advanceTo(expires_at, 1000);
    expect((await linesOf(order)).slice(4)).toMatchObject([
      { type: 'available', at: available_at, amount: '7.50', by: null },
      { type: 'expire', at: expires_at, amount: '-7.50', by: null, store: null },
    ]);
  });

  it('a cancelled order has the reason, an order that was renewed has not expired, and an erasure removes reasons', async () => {
    const cancelled = await merchant.create();
    await merchant.cancel(cancelled, { body: { reason: 'Ana moved' } });
    const expired = await merchant.create();
    service.clock.skip(31 * 60_000);
    await merchant.cancel(expired);
    expect(await toldOf(expired)).toEqual(['created', 'expired', 'cancelled']);
    const renewed = await merchant.create();
    service.clock.skip(31 * 60_000);
    await merchant.hold(renewed, '0.00');
    await merchant.complete(renewed, {});
    expect(await toldOf(renewed)).toEqual(['created', 'completed 150.00', 'earn 7.50']);
    const reasons = async (): Promise<unknown[]> =>
      (await linesOf(cancelled)).map(({ type, reason }) => [type, reason]);
    expect(await reasons()).toEqual([
      ['created', null],
      ['cancelled', 'Ana moved'],
    ]);
    await merchant.erase(cancelled.document);
    expect(await reasons()).toEqual([
      ['created', null],
      ['cancelled', null],
    ]);
  });

  it('entries of one kind are one line, and a debt is repaid in the timeline of the order that earned', async () => {
    const document = aDocument();
    for (const amount of ['1.00', '2.00', '3.00']) await merchant.credit(document, amount);
    const order = await merchant.completed({ document }, { redeem: '6.00' });
    expect(await toldOf(order)).toEqual(['created', 'completed 150.00', 'redeem -6.00', 'earn 7.20']);
    await service.clock.advanceTo(order.cashback.to_receive.available_at, 1000);
    await merchant.completed({ document, total: '7.20', earn_amount: '0.00' }, { redeem: '7.20' });
    await merchant.refund(order, '150.00');
    expect((await toldOf(order)).slice(4)).toEqual([
      'available 7.20',
      'refunded 150.00',
      'return 6.00',
      'take_back -6.00',
      'debt 1.20',
    ]);
    const next = await merchant.completed({ document });
    await service.clock.advanceTo(next.cashback.to_receive.available_at, 1000);
    expect(await toldOf(next)).toEqual([
      'created',
      'completed 150.00',
      'earn 7.50',
      'take_back -1.20',
      'repay -1.20',
      'available 6.30',
    ]);
  });

  it('what was taken back or moved before the day is not available', async () => {
    const [whole, part, moved] = [await merchant.completed(), await merchant.completed(), await merchant.completed()];
    await merchant.refund(whole, '150.00');
    await merchant.refund(part, '50.00');
    await merchant.changeCustomer(moved, aDocument());
    await service.clock.advanceTo(moved.cashback.to_receive.available_at, 1000);
    const available = async (order: { id: string }): Promise<string[]> =>
      (await toldOf(order)).filter((line) => line.startsWith('available'));
    expect(await available(whole)).toEqual([]);
    expect(await available(part)).toEqual(['available 5.00']);
    expect(await available(moved)).toEqual(['available 7.50']);
  });

  it('the pages of a timeline have each line once, also of refunds at the same instant, and after each refund', async () => {
    const order = await merchant.completed({ document: await merchant.customerWith('20.00') }, { redeem: '20.00' });
    await atOnce(6, () => merchant.refund(order, '15.00'));
    await rowsOf(service, 'UPDATE refunds SET created_at = ? WHERE order_id = ?', [
      new Date(order.completed_at!),
      order.id,
    ]);
    const whole = await linesOf(order);
    expect(whole).toHaveLength(4 + 6 * 2 + 6);
    expect(whole.map(({ at }) => at)).toEqual(whole.map(({ at }) => at).sort());
    for (const limit of [1, 3, 7, 100])
      expect(await merchant.all(`/orders/${order.id}/timeline?limit=${limit}`)).toEqual(whole);
    const first = await merchant.timeline(order, 'limit=10');
    await aMinute();
    await merchant.refund(order, '60.00');
    const rest = await merchant.timeline(order, `limit=100&cursor=${first.next_cursor}`);
    expect([...first.data, ...rest.data].slice(0, whole.length)).toEqual(whole);
    expect(rest.data.at(-1)).toMatchObject({ type: 'take_back' });
  });

  it('GET /orders/{id}/timeline returns 404 for an order of another merchant, and an unknown one', async () => {
    const [other, order] = [await aMerchant(service), await merchant.completed()];
    await other.timeline(order).refused(404, 'not_found');
    await merchant.timeline({ id: '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10' }).refused(404, 'not_found');
    const reader = await aUser(service, merchant.id, []);
    expect((await reader.timeline(order)).data).toEqual(await linesOf(order));
  });

  it.each(['limit=0', 'limit=101', 'cursor=abc', 'type=earn'])(
    'GET /orders/{id}/timeline refuses %s',
    async (query) => {
      const parameter = query.split('=')[0];
      const order = await merchant.create();
      await merchant.timeline(order, query).refused(400, 'validation_failed', { errors: [{ parameter }] });
    },
  );

  it('GET /orders/{id}/timeline refuses the cursor of another order', async () => {
    const [one, other] = [await merchant.completed(), await merchant.completed()];
    const { next_cursor } = await merchant.timeline(one, 'limit=1');
    const errors = [{ parameter: 'cursor' }];
    await merchant.timeline(other, `cursor=${next_cursor}`).refused(400, 'validation_failed', { errors });
  });
});
