import { describe, expect, it } from '@jest/globals';
import { eventsOf } from '../support/events.js';
import { aMerchant, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Call, Members, Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (started) =>
    aLongLivedMerchant(started, { redeemShareBps: 10_000, releaseDays: 0, validityDays: 30, earnRateMaximumBps: 1000 }),
});

type Quote = Pick<
  Refund,
  'amount' | 'eligible_amount' | 'cashback_returned' | 'cashback_taken_back' | 'amount_to_pay_back'
>;

const quote = ({ id }: { id: string }, body: Members): Call<Quote> =>
  merchant.send('POST', `/orders/${id}/refunds/quote`, { body }, 200);

/** Quotes a refund, refunds, and expects the same. */
async function expectAsQuoted(order: { id: string }, body: Members): Promise<Quote> {
  const quoted = await quote(order, body);
  const { amount, ...members } = body;
  const refund = await merchant.refund(order, amount, members);
  expect(Object.keys(quoted)).toEqual([
    'amount',
    'eligible_amount',
    'cashback_returned',
    'cashback_taken_back',
    'amount_to_pay_back',
  ]);
  expect(refund).toMatchObject(quoted);
  return quoted;
}

describe('POST /orders/{id}/refunds/quote', () => {
  it('the quote of each of several refunds of an order is what the refund that follows does', async () => {
    const order = await merchant.orderWith('80.00', { total: '150.00', eligible_total: '120.00' });
    await merchant.complete(order, { redeem: '20.00' });
    expect(await expectAsQuoted(order, { amount: '33.33' })).toMatchObject({ amount: '33.33' });
    await expectAsQuoted(order, { amount: '10.00', eligible_amount: '0.00' });
    await expectAsQuoted(order, { amount: '20.00', eligible_amount: '20.00', take_back: '1.50' });
    const rest = (150 - 33.33 - 10 - 20).toFixed(2);
    const last = await expectAsQuoted(order, { amount: rest });
    expect(last.amount).toBe(rest);
    expect((await merchant.order(order)).status).toBe('refunded');
  });

  it('a quote writes nothing, and a repeat returns the same', async () => {
    const order = await merchant.completed();
    const state = async (): Promise<unknown> => [
      await merchant.order(order),
      await merchant.wallet(order.document),
      await merchant.statement(order.document),
      await eventsOf(service, merchant),
      await rowsOf(service, 'SELECT * FROM wallets WHERE document = ?', [order.document]),
      await rowsOf(service, 'SELECT id FROM refunds WHERE order_id = ?', [order.id]),
    ];
    const before = await state();
    const quoted = await quote(order, { amount: '50.00' });
    expect(quoted).toEqual({
      amount: '50.00',
      eligible_amount: '50.00',
      cashback_returned: '0.00',
      cashback_taken_back: '2.50',
      amount_to_pay_back: '50.00',
    });
    expect(await quote(order, { amount: '50.00' })).toEqual(quoted);
    expect(await state()).toEqual(before);
  });

  it('a quote is refused as the refund would be', async () => {
    const order = await merchant.completed();
    const pending = await merchant.create();
    const cases: [{ id: string }, Members, number, string][] = [
      [order, { amount: '150.01' }, 422, 'refund_exceeds_total'],
      [order, { amount: '10.00', eligible_amount: '10.01' }, 422, 'refund_exceeds_total'],
      [order, { amount: '10.00', take_back: '7.51' }, 422, 'refund_exceeds_total'],
      [order, { amount: '0.00' }, 400, 'validation_failed'],
      [order, { amount: 10 }, 400, 'validation_failed'],
      [pending, { amount: '10.00' }, 409, 'invalid_transition'],
      [{ id: pending.document }, { amount: '10.00' }, 404, 'not_found'],
    ];
    for (const [of, body, status, code] of cases) {
      const { instance: _i, request_id: _r, ...quoted } = await quote(of, body).refused(status, code);
      const { amount, ...members } = body;
      const {
        instance: _j,
        request_id: _s,
        ...refused
      } = await merchant.refund(of, amount, members).refused(status, code);
      expect(quoted).toEqual(refused);
    }
    for (const member of ['external_id', 'reason', 'store', 'metadata'])
      await quote(order, { amount: '10.00', [member]: 'x' }).refused(400, 'validation_failed', [`/${member}`]);
  });

  it('an order of another merchant is not found, and a user without the permission is refused', async () => {
    const order = await merchant.completed();
    const other = await aMerchant(service);
    const body = { amount: '10.00' };
    await other.send('POST', `/orders/${order.id}/refunds/quote`, { body }, 200).refused(404, 'not_found');
    const seller = await aUser(service, merchant.id, ['sell']);
    await seller
      .send('POST', `/orders/${order.id}/refunds/quote`, { body }, 200)
      .refused(403, 'forbidden', { permission: 'refund' });
  });
});

describe('POST /orders/{id}/refunds/quote with items', () => {
  const CART = {
    items: [
      { id: 'tv', price: '200.00' },
      { id: 'shirt', price: '50.00', quantity: 2 },
    ],
    total: '270.00',
    eligible_total: '250.00',
    payment_methods: [{ id: 'pix', amount: '270.00' }],
  };

  it.each<[string, Members, string[]]>([
    ['neither an amount nor items', {}, ['/amount']],
    ['no rest', { rest: false }, ['/amount']],
    ['a rest of nothing', { rest: true }, ['/rest']],
    ['an amount with items', { amount: '10.00', items: [{ id: 'tv' }] }, ['/amount']],
    [
      'both amounts with the rest',
      { amount: '1.00', eligible_amount: '1.00', rest: true },
      ['/amount', '/eligible_amount'],
    ],
    ['an eligible amount with items', { eligible_amount: '1.00', items: [{ id: 'tv' }] }, ['/eligible_amount']],
    ['no items', { items: [] }, ['/items']],
    ['too many items', { items: Array.from({ length: 501 }, (_, at) => ({ id: `sku-${at}` })) }, ['/items']],
    ['an unknown item', { items: [{ id: 'tv' }, { id: 'sku-9' }] }, ['/items/1/id']],
    ['an item twice', { items: [{ id: 'tv' }, { id: 'tv' }] }, ['/items/1/id']],
    ['a quantity above that of the order', { items: [{ id: 'shirt', quantity: 3 }] }, ['/items/0/quantity']],
    ['a quantity of zero', { items: [{ id: 'shirt', quantity: 0 }] }, ['/items/0/quantity']],
    ['a price', { items: [{ id: 'tv', price: '1.00' }] }, ['/items/0/price']],
    ['a rest that is a text', { rest: 'true' }, ['/rest']],
    ['a free item', { items: [{ id: 'gift' }] }, ['/items']],
  ])('a quote and a refund of %s are a 400 that names the member', async (_, body, pointers) => {
    const items = [...CART.items, { id: 'gift', price: '0.00' }];
    const order = await merchant.completed({ ...CART, items, total: '300.00', eligible_total: '300.00' });
    await quote(order, body).refused(400, 'validation_failed', pointers);
    const { amount, ...members } = body;
    await merchant.refund(order, amount, members).refused(400, 'validation_failed', pointers);
  });

  it('a quote of items is refused for orders that cannot be refunded, of another merchant, and without permission', async () => {
    const body = { items: [{ id: 'sku-1' }] };
    await quote(await merchant.create(), body).refused(409, 'invalid_transition');
    const order = await merchant.completed();
    const path = `/orders/${order.id}/refunds/quote`;
    await (await aMerchant(service)).post(path, body).refused(404, 'not_found');
    await (await aUser(service, merchant.id, ['sell'])).post(path, body).refused(403, 'forbidden');
  });
});

describe('the operations of an order', () => {});
