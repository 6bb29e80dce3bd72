import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Cashback, createSandboxMerchant, type PaidOrder } from '../../clients/typescript/src/index.js';
import { atOnce } from '../support/client.js';
import { numberEvents } from '../support/events.js';
import { findingsOf } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { NEXT_YEAR, SANDBOX } from '../support/sandbox.js';
import { aCartOf, clientOf, CUSTOMER, errorOf, untilAnswered } from '../support/typescript-client.js';
import { failing, UnreliableProxy } from '../support/unreliable-proxy.js';
import { useService } from '../support/use-service.js';

const NOON = `${NEXT_YEAR}-03-01T15:00:00.000Z`;
/** Orders of noon have expired, and what is granted below can still be spent. */
const TWO_HOURS_LATER = `${NEXT_YEAR}-03-01T17:00:00.000Z`;
const IN_JUNE = `${NEXT_YEAR}-06-01T15:00:00.000Z`;
const OTHER = '11144477735';

let orders = 0;
const pix = (amount: string) => [{ id: 'pix', amount }];

describe.each([
  ['directly', 0],
  ['on a network where 30 % of requests fail', 0.3],
])('a checkout with the TypeScript client %s', (_, share) => {
  const { service } = useService({ env: SANDBOX });
  let proxy: UnreliableProxy;
  /** That of the shop, and one whose requests always arrive. */
  let shop: Cashback;
  let cashback: Cashback;
  let user: { email: string; password: string };
  let id: string;

  const put = (content: object, externalId = id) =>
    untilAnswered(() => shop.orders.put(externalId, content as ReturnType<typeof aCartOf>));
  const pay = (order: string, paid: PaidOrder) => untilAnswered(() => shop.orders.pay(order, paid));
  const move = (now: string) => cashback.sandbox.move({ now });
  const held = async (order: string, amount: string) => cashback.orders.hold(order, { amount });
  const balance = async () => (await cashback.wallets.search({ document: CUSTOMER })).available;
  /** An order of 100.00 of which 80.00 are charged. */
  const charged = async () => {
    const { order } = await put(aCartOf('100.00'));
    const { version } = await held(order.id, '20.00');
    return { order: order.id, paid: { version, redeem: '20.00', payment_methods: pix('80.00') } };
  };

  beforeAll(async () => {
    proxy = await UnreliableProxy.start(service.url);
  });
  beforeEach(async () => {
    proxy.fault = () => undefined;
    ({ user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja' }));
    cashback = clientOf(user, service);
    shop = clientOf(user, proxy);
    await move(NOON);
    const grant = { external_id: 'g-1', document: CUSTOMER, amount: '20.00', expires_on: `${NEXT_YEAR}-03-03` };
    await cashback.grants.create(grant);
    id = `PED-${orders++}`;
    if (share > 0) proxy.fault = failing(share);
  });
  afterAll(async () => {
    await proxy.stop();
  });

  describe('put', () => {
    it('creates an order once, and the same content changes nothing', async () => {
      const [first, ...others] = await atOnce(4, () => put(aCartOf('100.00')));
      expect(first).toMatchObject({ outcome: 'open', order: { external_id: id, version: 1, total: '100.00' } });
      for (const { order } of [...others, await put(aCartOf('100'))])
        expect(order).toMatchObject({ id: first!.order.id, version: 1 });
    });

    it('amends an open order, also back to the content that it was created with', async () => {
      const { order } = await put(aCartOf('100.00'));
      for (const total of ['90.00', '100.00', '100.00'])
        expect(await put(aCartOf(total))).toMatchObject({ outcome: 'open', order: { id: order.id, total } });
      expect(await cashback.orders.get(order.id)).toMatchObject({ total: '100.00', version: 3 });
    });

    it('keeps a hold, and lowers one that exceeds the new maximum', async () => {
      const { order } = await put(aCartOf('100.00'));
      await held(order.id, '20.00');
      const heldOf = async (total: string) => (await put(aCartOf(total))).order.cashback.to_redeem.held;
      expect([await heldOf('90.00'), await heldOf('30.00'), await heldOf('90.00')]).toEqual([
        '20.00',
        '15.00',
        '15.00',
      ]);
    });

    it('renews an order that has expired', async () => {
      const { order } = await put(aCartOf('100.00'));
      await held(order.id, '20.00');
      await move(TWO_HOURS_LATER);
      const renewed = { id: order.id, status: 'pending', total: '90.00' };
      expect(await put(aCartOf('90.00'))).toMatchObject({ outcome: 'open', order: renewed });
      expect(await balance()).toBe('20.00');
    });

    it('releases what an order holds of another customer', async () => {
      const { order } = await put(aCartOf('100.00', { document: '529.982.247-25' }));
      await held(order.id, '20.00');
      expect((await put(aCartOf('90.00', { document: '529.982.247-25' }))).order.cashback.to_redeem.held).toBe('20.00');
      const moved = { document: OTHER, cashback: { to_redeem: { held: '0.00' } } };
      expect((await put(aCartOf('90.00', { document: OTHER }))).order).toMatchObject(moved);
      expect(await balance()).toBe('20.00');
    });

    it('changes nothing of an order that is completed, refunded or cancelled, and says so', async () => {
      const { order, paid } = await charged();
      await pay(order, paid);
      expect(await put(aCartOf('90.00'))).toMatchObject({
        outcome: 'completed',
        order: { id: order, total: '100.00' },
      });
      await cashback.refunds.create(order, { external_id: 'r-1', amount: '100.00' });
      const refunded = { outcome: 'completed', order: { status: 'refunded', version: 4 } };
      for (const total of ['100.00', '90.00']) expect(await put(aCartOf(total))).toMatchObject(refunded);
      const other = await put(aCartOf('100.00'), `${id}-2`);
      await cashback.orders.cancel(other.order.id);
      for (const total of ['100.00', '90.00'])
        expect(await put(aCartOf(total), `${id}-2`)).toMatchObject({ outcome: 'cancelled', order: { version: 2 } });
    });

    it('of several contents at once leaves one, and each call has its own answer', async () => {
      const totals = ['50.00', '60.00', '70.00', '80.00'];
      const results = await atOnce(4, (at) => put(aCartOf(totals[at]!)));
      expect(results.map(({ outcome, order }) => `${outcome} ${order.total}`)).toEqual(totals.map((t) => `open ${t}`));
      expect(totals).toContain((await cashback.orders.byExternalId(id)).total);
    });

    it('holds what was asked for, however often and at the same time, and releases it', async () => {
      const putHeld = async (redeem: string, total = '100.00') => {
        const { order } = await untilAnswered(() => shop.orders.put(id, aCartOf(total), { redeem }));
        return `${order.version} ${order.amount_to_pay} ${order.cashback.to_redeem.held}`;
      };
      expect(await atOnce(4, () => putHeld('maximum'))).toEqual(Array(4).fill('2 80.00 20.00'));
      expect(await putHeld('maximum', '30.00')).toBe('3 15.00 15.00');
      expect(await putHeld('7.5', '30.00')).toBe('4 22.50 7.50');
      expect(await putHeld('maximum', '100.00')).toBe('6 80.00 20.00');
      expect(await putHeld('0.00')).toBe('7 100.00 0.00');
      expect((await errorOf(putHeld('20.01'))).code).toBe('redemption_exceeds_maximum');
    });

    it('holds less if another order holds a part of the balance meanwhile', async () => {
      let isFirst = true;
      const racing = clientOf(user, service, {
        fetch: async (url, init) => {
          if (isFirst && (url as string).endsWith('/redemption')) {
            isFirst = false;
            await cashback.orders.put(`${id}-2`, aCartOf('100.00'), { redeem: '15.00' });
          }
          return fetch(url, init);
        },
      });
      const { order } = await racing.orders.put(id, aCartOf('100.00'), { redeem: 'maximum' });
      expect(order).toMatchObject({ amount_to_pay: '95.00', cashback: { to_redeem: { held: '5.00' } } });
    });

    it('holds until an instant, which a repeat does not change', async () => {
      const expires_at = `${NEXT_YEAR}-03-01T15:10:00.000Z`;
      const until = async (redeem?: string) =>
        (await untilAnswered(() => shop.orders.put(id, aCartOf('100.00'), { redeem, expires_at }))).order;
      expect(await until('5.00')).toMatchObject({ version: 2, expires_at, cashback: { to_redeem: { held: '5.00' } } });
      expect(await until()).toMatchObject({ version: 2, expires_at, cashback: { to_redeem: { held: '5.00' } } });
    });

    it('rejects with the refusal of content that is not valid', async () => {
      const error = await errorOf(put(aCartOf('100.00', { items: [] })));
      expect(error).toMatchObject({ code: 'validation_failed', errors: [{ pointer: '/items' }] });
      expect((await errorOf(cashback.orders.byExternalId(id))).code).toBe('not_found');
    });
  });

  describe('pay', () => {
    it('completes an order once, however often and at the same time', async () => {
      const { order, paid } = await charged();
      const payments = await atOnce(4, () => pay(order, paid));
      await cashback.refunds.create(order, { external_id: 'r-1', amount: '10.00' });
      for (const payment of [...payments, await pay(order, paid)])
        expect(payment).toMatchObject({ outcome: 'completed', order: { amount_to_pay: '80.00' } });
      expect((await cashback.orders.get(order)).version).toBe(4);
    });

    it('completes an order that has expired, and one that was amended and is what it was', async () => {
      const { order, paid } = await charged();
      await move(TWO_HOURS_LATER);
      const late = { status: 'completed', cashback: { to_redeem: { redeemed: '20.00' } } };
      expect(await pay(order, paid)).toMatchObject({ outcome: 'completed', order: late });
      expect(await pay(order, paid)).toMatchObject({ outcome: 'completed', order: late });

      id = `PED-${orders++}`;
      const other = (await put(aCartOf('50.00'))).order;
      for (const total of ['60.00', '50.00']) await put(aCartOf(total));
      const { version } = other;
      const money = { version, redeem: '0.00', payment_methods: pix('30.00') };
      expect((await pay(other.id, { ...money, total: '50.00' })).outcome).toBe('completed');
    });

    it('completes an order of which nothing was charged, as with a coupon of 100 %', async () => {
      const { order } = await put(aCartOf('0.00'));
      const paid = { version: order.version, redeem: '0.00', payment_methods: pix('0.00') };
      expect(await pay(order.id, paid)).toMatchObject({ outcome: 'completed', order: { amount_to_pay: '0.00' } });
    });

    it('pays back what was charged for different content, with other values, or for a cancelled order', async () => {
      const first = await charged();
      await put(aCartOf('90.00'));
      expect(await pay(first.order, first.paid)).toMatchObject({ outcome: 'pay_back', order: { total: '90.00' } });
      const { version } = await cashback.orders.get(first.order);
      const right = { version, redeem: '20.00', payment_methods: pix('70.00') };
      expect((await pay(first.order, right)).outcome).toBe('completed');
      for (const paid of [first.paid, { ...right, redeem: '0.00', payment_methods: pix('90.00') }])
        expect(await pay(first.order, paid)).toMatchObject({ outcome: 'pay_back', order: { status: 'completed' } });

      id = `PED-${orders++}`;
      const { order } = await put(aCartOf('100.00'));
      await cashback.orders.cancel(order.id);
      const late = await pay(order.id, { version: 1, redeem: '0.00', payment_methods: pix('100.00') });
      expect(late).toMatchObject({ outcome: 'pay_back', order: { status: 'cancelled' } });
      expect(await balance()).toBe('0.00');
    });

    describe('if the cashback expired after the charge', () => {
      let order: string;
      let paid: PaidOrder;

      beforeEach(async () => {
        ({ order, paid } = await charged());
        await move(IN_JUNE);
      });

      it('the order stays as it is, and the maximum says what is left', async () => {
        const lost = { outcome: 'cashback_lost', maximum: '0.00' };
        expect(await atOnce(2, () => pay(order, paid))).toEqual([lost, lost]);
        expect((await cashback.orders.get(order)).status).toBe('expired');
      });

      it('the customer can pay the rest', async () => {
        const both = { ...paid, redeem: '0.00', payment_methods: [...pix('80.00'), { id: 'card', amount: '20.00' }] };
        expect(await pay(order, both)).toMatchObject({ outcome: 'completed', order: { amount_to_pay: '100.00' } });
        expect((await pay(order, paid)).outcome).toBe('pay_back');
      });

      it('the sale can be cancelled and paid back', async () => {
        const cancelled = { outcome: 'pay_back', order: { status: 'cancelled' } };
        const cancelling = () => untilAnswered(() => shop.orders.pay(order, paid, { ifLost: 'cancel' }));
        for (const payment of await atOnce(3, cancelling)) expect(payment).toMatchObject(cancelled);
        expect(await pay(order, paid)).toMatchObject(cancelled);
      });

      it('the shop can give a discount', async () => {
        const { version } = (await put(aCartOf('80.00'))).order;
        const less = { version, redeem: '0.00', payment_methods: pix('80.00') };
        expect(await pay(order, less)).toMatchObject({ outcome: 'completed', order: { amount_to_pay: '80.00' } });
      });
    });

    it('rejects with the refusal of another merchant’s order, and of payments that exceed the total', async () => {
      const { order, paid } = await charged();
      const { user: other } = await createSandboxMerchant({ baseUrl: service.url, name: 'Outra' });
      expect((await errorOf(clientOf(other, service).orders.pay(order, paid))).code).toBe('not_found');
      const tooMuch = { ...paid, payment_methods: pix('80.01') };
      expect((await errorOf(pay(order, tooMuch))).code).toBe('payments_exceed_total');
    });
  });

  describe('sell', () => {
    const saleOf = (total: string, complete: object) => ({ external_id: id, ...aCartOf(total), complete });
    const sell = (total: string, complete: object) => untilAnswered(() => shop.orders.sell(saleOf(total, complete)));

    it('creates and completes an order once, however often and at the same time', async () => {
      const complete = { redeem: '20.00', payment_methods: pix('80.00') };
      for (const sold of [...(await atOnce(4, () => sell('100.00', complete))), await sell('100.00', complete)])
        expect(sold).toMatchObject({ outcome: 'completed', order: { version: 2, amount_to_pay: '80.00' } });
    });

    it('leaves no order if the cashback is gone, so that the till can sell again', async () => {
      await move(IN_JUNE);
      expect(await sell('100.00', { redeem: '20.00' })).toEqual({ outcome: 'cashback_lost', maximum: '0.00' });
      expect((await errorOf(cashback.orders.byExternalId(id))).code).toBe('not_found');
      expect((await sell('100.00', { redeem: '0.00' })).outcome).toBe('completed');
    });

    it('pays back a sale that was completed with other values, or cancelled, and rejects another sale', async () => {
      await sell('100.00', { payment_methods: pix('100.00') });
      const again = await sell('100.00', { payment_methods: pix('90.00') });
      expect(again).toMatchObject({ outcome: 'pay_back', order: { amount_to_pay: '100.00', version: 2 } });
      expect((await errorOf(sell('90.00', {}))).code).toBe('external_id_conflict');
      id = `PED-${orders++}`;
      await cashback.orders.cancel((await put(aCartOf('10.00'))).order.id);
      expect(await sell('10.00', {})).toMatchObject({ outcome: 'pay_back', order: { status: 'cancelled' } });
    });
  });

  it('leaves a ledger without findings', async () => {
    expect(await findingsOf(service)).toEqual([]);
  });
});

describe('a checkout with the TypeScript client of an order that is due, before the service has expired it', () => {
  const { service, merchant } = useService();

  it.each([
    ['pay', 'completed', '80.00'],
    ['put', 'open', '80.00'],
  ] as const)('%s waits until it has expired', async (method, outcome, amount_to_pay) => {
    const document = aDocument();
    await merchant.credit(document, '20.00');
    const { orders } = clientOf(merchant, service);
    const id = `DUE-${method}`;
    const put = () => orders.put(id, aCartOf('100.00', { document }), { redeem: 'maximum' });
    const { order } = await put();
    const paid = { version: order.version, redeem: '20.00', payment_methods: pix('80.00') };
    service.clock.skip(30 * 60_000);
    const swept = sleep(500).then(() => numberEvents(service));
    const result = await (method === 'put' ? put() : orders.pay(order.id, paid));
    expect(result).toMatchObject({ outcome, order: { id: order.id, amount_to_pay } });
    await swept;
  });
});
