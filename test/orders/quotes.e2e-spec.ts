import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { type Row, rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

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
