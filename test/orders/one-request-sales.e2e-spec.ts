import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { changesAmong, expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser } from '../support/factories.js';
import { aCart, oneAtOnce, type Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const ordersWith = (external_id: string) =>
  rowsOf(service, 'SELECT id FROM orders WHERE merchant_id = ? AND external_id = ?', [
    merchant.id,
    Buffer.from(external_id),
  ]);

describe('POST /orders with complete', () => {
  it('POST /orders with complete creates and completes an order, as two requests would', async () => {
    const document = await merchant.customerWith('30.00');
    const complete = { redeem: '20.00', payment_methods: [{ id: 'pix', amount: '130.00' }] };
    const one = await merchant.sell({ document, store: 'SP-014' }, complete).changed();
    const other = await merchant.customerWith('30.00');
    const two = await merchant.completed({ document: other, store: 'SP-014' }, complete);
    const same = ({ status, version, cashback, payment_methods, amount_to_pay, store }: Order): object => ({
      ...{ status, version, to_redeem: cashback.to_redeem, amount: cashback.to_receive.amount },
      ...{ payment_methods, amount_to_pay, store },
    });
    expect(same(one)).toEqual(same(two));
    expect(one).toMatchObject({ status: 'completed', version: 2, completed_by: merchant.by, created_by: merchant.by });
    expect(await merchant.order(one)).toEqual(one);
    expect(await merchant.movements(document)).toEqual(await merchant.movements(other));
    const types =
      ({ id }: Order) =>
      async (): Promise<string[]> =>
        (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === id).map(({ type }) => type);
    expect(await types(one)()).toEqual(['order.created', 'order.completed']);
    expect(await types(two)()).toEqual(['order.created', 'order.completed']);
  });

  it('POST /orders with an empty complete redeems nothing, and with null creates a pending order', async () => {
    const document = await merchant.customerWith('30.00');
    expect(await merchant.sell({ document })).toMatchObject({
      ...{ status: 'completed', cashback: { to_redeem: { redeemed: '0.00' }, to_receive: { amount: '7.50' } } },
    });
    expect(await merchant.sell({ document }, null)).toMatchObject({ status: 'pending', version: 1 });
  });

  it('a repeated sale returns the completed order, and with other values of the completion 409', async () => {
    const document = await merchant.customerWith('30.00');
    const body = anOrder({ document, complete: { redeem: '20.00' } });
    const sold = await merchant.create(body);
    expect(await merchant.create(body).replayed()).toEqual(sold);
    expect(await merchant.create({ ...body, complete: {} }).replayed()).toEqual(sold);
    expect(await merchant.create({ ...body, complete: undefined }).replayed()).toEqual(sold);
    const refused = await merchant
      .create({ ...body, complete: { redeem: '10.00' } })
      .refused(409, 'invalid_transition', ['/complete/redeem']);
    expect(refused.current_status).toBe('completed');
    await merchant
      .create({ ...body, total: '151.00', complete: { redeem: '20.00' } })
      .refused(409, 'external_id_conflict', ['/total']);
    expect((await merchant.wallet(document)).available).toBe('10.00');
  });

  it('a sale of an order that was amended since returns 409, because it would complete something else', async () => {
    const body = anOrder();
    const order = await merchant.create(body);
    // What is eligible is the same as before, so it is not named.
    await merchant.amend(order, { ...aCart('200.00'), eligible_total: '150.00' });
    await merchant
      .create({ ...body, complete: {} })
      .refused(409, 'external_id_conflict', [
        '/items/0/description',
        '/items/0/id',
        '/items/0/price',
        '/payment_methods/0/amount',
        '/total',
      ]);
    await merchant.create(body).replayed();
    const amended = { ...body, ...aCart('200.00'), eligible_total: '150.00' };
    expect(await merchant.create({ ...amended, complete: {} }).changed()).toMatchObject({ status: 'completed' });
  });

  it('a sale of an order that was amended for a customer who was erased returns 409', async () => {
    const [body, document] = [anOrder(), aDocument()];
    const order = await merchant.create(body);
    await merchant.amend(order, { ...aCart('150.00'), document });
    await merchant.erase(document);
    await merchant.create({ ...body, complete: {} }).refused(409, 'external_id_conflict', {
      errors: expect.arrayContaining([expect.objectContaining({ pointer: '/document' })]),
    });
    expect((await merchant.order(order)).status).toBe('pending');
  });

  it.each([
    ['422', 'redemption_exceeds_maximum', { redeem: '0.01' }, ['/complete/redeem']],
    ['422', 'redemption_exceeds_maximum', { redeem: '75.01' }, ['/complete/redeem']],
    [
      ...(['422', 'payments_exceed_total', { payment_methods: [{ id: 'pix', amount: '150.01' }] }] as const),
      ['/complete/payment_methods'],
    ],
    ['400', 'validation_failed', { redeem: '1,00' }, ['/complete/redeem']],
    ['400', 'validation_failed', { payment_methods: [{ id: 'pix' }] }, ['/complete/payment_methods/0/amount']],
    ['400', 'validation_failed', { color: 'red' }, ['/complete/color']],
    ['400', 'validation_failed', [], ['/complete']],
  ])('a refused sale (%s %s for %j) leaves nothing, and its external_id can be used again', async (...row) => {
    const [status, code, complete, pointers] = row;
    const body = anOrder({ complete });
    await merchant.create(body).refused(Number(status), code, pointers);
    expect(await ordersWith(body.external_id)).toEqual([]);
    expect((await merchant.wallet(body.document)).id).toBeNull();
    expect(
      await merchant.create({ ...body, total: '99.00', payment_methods: [], complete: {} }).changed(),
    ).toMatchObject({ status: 'completed', total: '99.00' });
  });

  it('a sale needs the permission to sell, and another merchant has the external_id for itself', async () => {
    const body = anOrder({ complete: {} });
    const other = await aMerchant(service);
    const reader = await aUser(service, merchant.id, ['reports']);
    await reader.create(body).refused(403, 'forbidden', { permission: 'sell' });
    const [own, others] = [await merchant.create(body).changed(), await other.create(body).changed()];
    expect(own.id).not.toBe(others.id);
    expect((await other.wallet(body.document)).pending).toBe('7.50');
  });

  it('of equal sales at the same time one sells, and all return the same order', async () => {
    const document = await merchant.customerWith('30.00');
    const body = anOrder({ document, complete: { redeem: '20.00' } });
    const answers = await atOnce(12, () => merchant.create(body).answer);
    expect(changesAmong(answers)).toBe(1);
    expect(new Set(answers.map(({ body: { id } }) => id)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(201));
    expect(await merchant.wallet(document)).toMatchObject({ available: '10.00', pending: '6.50' });
  });

  it('of sales at the same time that together redeem too much, some are refused, and no order is left of those', async () => {
    const document = await merchant.customerWith('20.00');
    const bodies = Array.from({ length: 8 }, () => anOrder({ document, complete: { redeem: '20.00' } }));
    const sold = await oneAtOnce(8, (at) => merchant.create(bodies[at]), 422, {
      ...{ code: 'redemption_exceeds_maximum', maximum: '0.00', limited_by: 'balance' },
    });
    const counts = await Promise.all(bodies.map(async ({ external_id }) => (await ordersWith(external_id)).length));
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(1);
    expect((await merchant.wallet(document)).available).toBe('0.00');
    expect(sold.cashback.to_redeem.redeemed).toBe('20.00');
  });

  it('a sale and the two requests of the same order at the same time sell it once', async () => {
    for (let round = 0; round < 5; round++) {
      const document = aDocument();
      const body = anOrder({ document });
      const twice = async (): Promise<Order> => merchant.complete(await merchant.create(body));
      const sell = async (): Promise<Order> => merchant.create({ ...body, complete: {} });
      const sold = await Promise.all([twice(), sell(), twice(), sell()]);
      expect(new Set(sold.map(({ id }) => id)).size).toBe(1);
      expect(await merchant.movements(document)).toEqual(['earn 7.50']);
    }
  });

  it('sales with up to 500 items each share transactions', async () => {
    const items = Array.from({ length: 500 }, (_, at) => ({
      id: `sku-${at}`,
      price: '1.00',
      description: 'x'.repeat(200),
    }));
    const sold = await Promise.all(
      Array.from({ length: 12 }, () => merchant.sell({ items, total: '500.00', payment_methods: [] }).changed()),
    );
    expect(sold.map(({ status }) => status)).toEqual(Array(12).fill('completed'));
  });
});
