import { afterEach, describe, expect, it } from '@jest/globals';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { aCart, type Members } from '../support/shop.js';
import { useService } from '../support/use-service.js';

// A test moves the clock by an hour.
const { service, merchant } = useService({ env: { ACCESS_TOKEN_TTL_SECONDS: '86400' } });
afterEach(() => expectInvariants(service));

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
