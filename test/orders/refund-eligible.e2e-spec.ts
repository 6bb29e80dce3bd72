import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf, type Problem } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Order, Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

/** 100.00 of which 80.00 are eligible, so it earned 4.00. */
const anOrderWithShipping = (): Promise<Order> => merchant.completed({ total: '100.00', eligible_total: '80.00' });

let counter = 0;
/** @param eligible_amount is left out if it is undefined. */
const refund = (
  order: { id: string },
  amount: string,
  eligible_amount?: unknown,
  external_id = `DEV-${++counter}`,
): Promise<Answer<Refund>> => merchant.refund(order, amount, { external_id, eligible_amount }).answer;

describe('eligible_amount of a refund', () => {
  it.each([
    { refunds: [['20.00', '0.00'], ['80.00']], parts: ['0.00', '80.00'], taken: ['0.00', '4.00'] },
    { refunds: [['50.00'], ['50.00']], parts: ['40.00', '40.00'], taken: ['2.00', '2.00'] },
    { refunds: [['30.00', '30.00'], ['70.00']], parts: ['30.00', '50.00'], taken: ['1.50', '2.50'] },
    {
      refunds: [
        ['80.00', '80'],
        ['20.00', null],
      ],
      parts: ['80.00', '0.00'],
      taken: ['4.00', '0.00'],
    },
  ])(
    'refunds of an order of 100.00, of which 80.00 are eligible, by $refunds, have the eligible parts $parts and take back $taken',
    async ({ refunds, parts, taken }) => {
      const order = await anOrderWithShipping();
      const answers: Answer<Refund>[] = [];
      for (const [amount, eligible] of refunds) answers.push(await refund(order, amount!, eligible));
      expect(answers.map(({ body }) => body.eligible_amount)).toEqual(parts);
      expect(answers.map(({ body }) => body.cashback_taken_back)).toEqual(taken);
      const page = await merchant.refunds(order);
      // Only the last refund of an order can be undone.
      expect(page.data.toReversed()).toEqual(
        answers.map(({ body }, at) => ({ ...body, voidable: at === answers.length - 1 })),
      );
      expect(await merchant.order(order)).toMatchObject({
        status: 'refunded',
        cashback: { to_receive: { amount: '4.00', taken_back: '4.00', status: 'taken_back' } },
      });
      expect(await merchant.wallet(order.document)).toMatchObject({ pending: '0.00', debt: '0.00' });
    },
  );

  it('a refund of shipping takes nothing back, and the status of the cashback stays', async () => {
    const order = await anOrderWithShipping();
    await refund(order, '20.00', '0.00');
    expect(await merchant.order(order)).toMatchObject({
      status: 'partially_refunded',
      cashback: { to_receive: { amount: '4.00', taken_back: '0.00', status: 'pending' } },
      refunded: { amount: '20.00', amount_to_pay_back: '20.00' },
    });
    expect(await merchant.movements(order.document)).toEqual(['earn 4.00']);
  });

  it('a refund returns redeemed cashback in proportion to the total, whatever its eligible part', async () => {
    const document = await merchant.customerWith('10.00');
    const members = { document, total: '100.00', eligible_total: '80.00' };
    const order = await merchant.completed(members, { redeem: '10.00' });
    const { body } = await refund(order, '20.00', '0.00');
    expect(body).toMatchObject({ cashback_returned: '2.00', cashback_taken_back: '0.00', amount_to_pay_back: '18.00' });
    expect((await refund(order, '80.00', '80.00')).body).toMatchObject({
      ...{ cashback_returned: '8.00', cashback_taken_back: '3.50', amount_to_pay_back: '72.00' },
    });
  });

  it.each([
    ['0.00', '0.00'],
    [undefined, '0.00'],
  ])(
    'a refund with the eligible_amount %j of an order without an eligible part takes nothing back',
    async (sent, part) => {
      const order = await merchant.completed({ total: '100.00', eligible_total: '0.00' });
      const { status, body } = await refund(order, '50.00', sent);
      expect({ status, ...body }).toMatchObject({ status: 201, eligible_amount: part, cashback_taken_back: '0.00' });
      expectProblem(await refund(order, '50.00', '0.01'), 422, 'refund_exceeds_total');
      expect((await refund(order, '50.00')).body.cashback_taken_back).toBe('0.00');
    },
  );

  it('refunds take nothing back for what expired unspent, whatever their eligible parts', async () => {
    const order = await anOrderWithShipping();
    expect((await refund(order, '20.00', '20.00')).body.cashback_taken_back).toBe('1.00');
    await service.clock.advance({ days: 188 });
    for (const [amount, eligible] of [['30.00', '30.00'], ['20.00', '0.00'], ['30.00']])
      expect((await refund(order, amount!, eligible)).body).toMatchObject({ amount, cashback_taken_back: '0.00' });
    expect(await merchant.movements(order.document)).toEqual(['earn 4.00', 'take_back -1.00', 'expire -3.00']);
  });

  it('concurrent refunds with different eligible parts add up to the totals of the order', async () => {
    const order = await anOrderWithShipping();
    const answers = await atOnce(20, (index) => refund(order, '10.00', index % 2 === 0 ? '10.00' : '0.00'));
    const parts = answers.filter(({ status }) => status === 201).map(({ body }) => body.eligible_amount);
    expect(parts.toSorted()).toEqual(['0.00', '0.00', ...Array<string>(8).fill('10.00')]);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expect(['refund_exceeds_total', 'invalid_transition']).toContain((answer.body as unknown as Problem).code);
    expect((await merchant.order(order)).cashback.to_receive.taken_back).toBe('4.00');
  });
});

describe('a repeated refund with an eligible_amount', () => {
  it('a repeated refund is a replay when its eligible_amount means the same', async () => {
    const order = await anOrderWithShipping();
    for (const [externalId, first, others] of [
      ['shipping', '0.00', ['0', '0.0']],
      ['default', undefined, [null, '8.00', '8']],
      ['null', null, [undefined, '8.00']],
      ['as the default', '8.00', [undefined, null, '8']],
    ] as const) {
      const { status, body } = await refund(order, '10.00', first, externalId);
      expect(status).toBe(201);
      for (const eligible of [first, ...others]) {
        const again = await refund(order, '10.00', eligible, externalId);
        expect(again).toMatchObject({ status: 201, body });
        expect(again.headers.get('idempotency-replayed')).toBe('true');
      }
    }
  });

  it('POST /orders/{id}/refunds returns 409 with a pointer to each of amount and eligible_amount that differs', async () => {
    const order = await anOrderWithShipping();
    await refund(order, '10.00', '0.00', 'shipping');
    await refund(order, '10.00', undefined, 'default');
    for (const [externalId, amount, eligible, pointers] of [
      ['shipping', '10.00', undefined, ['/eligible_amount']],
      ['shipping', '10.00', null, ['/eligible_amount']],
      ['shipping', '10.00', '0.01', ['/eligible_amount']],
      ['shipping', '10.01', '0.00', ['/amount']],
      ['shipping', '10.01', '99.00', ['/amount', '/eligible_amount']],
      ['default', '10.00', '0.00', ['/eligible_amount']],
      ['default', '10.01', undefined, ['/amount']],
    ] as const) {
      const answer = await refund(order, amount, eligible, externalId);
      expectProblem(answer, 409, 'external_id_conflict');
      expect(pointersOf(answer)).toEqual(pointers);
    }
    expect((await merchant.order(order)).refunded.amount).toBe('20.00');
  });

  it('only one of 20 concurrent refunds with different eligible parts creates the refund', async () => {
    const order = await anOrderWithShipping();
    const answers = await atOnce(20, (index) => refund(order, '10.00', `${index % 10}.00`, 'DEV-one'));
    const done = answers.filter(({ status }) => status === 201);
    expect(done).toHaveLength(2);
    expect(done[0]!.body).toEqual(done[1]!.body);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectProblem(answer, 409, 'external_id_conflict');
  });
});

describe('POST /orders/{id}/refunds errors of eligible_amount', () => {
  it.each([
    { before: [], amount: '50.00', sent: '0.00', minimum: '30.00', maximum: '50.00' },
    { before: [], amount: '50.00', sent: '29.99', minimum: '30.00', maximum: '50.00' },
    { before: [], amount: '50.00', sent: '50.01', minimum: '30.00', maximum: '50.00' },
    { before: [['20.00', '0.00']], amount: '10.00', sent: '9.99', minimum: '10.00', maximum: '10.00' },
    { before: [['80.00', '80.00']], amount: '10.00', sent: '0.01', minimum: '0.00', maximum: '0.00' },
  ])(
    'after $before, a refund of $amount with the eligible_amount $sent is 422 with the bounds $minimum and $maximum, which are possible',
    async ({ before, amount, sent, minimum, maximum }) => {
      const order = await anOrderWithShipping();
      for (const [earlier, eligible] of before) expect((await refund(order, earlier!, eligible)).status).toBe(201);
      const unchanged = await merchant.order(order);
      for (const _attempt of ['first', 'second']) {
        const answer = await refund(order, amount, sent, 'DEV-over');
        expectProblem(answer, 422, 'refund_exceeds_total');
        expect(answer.body).toMatchObject({ minimum, maximum });
        const bounds = minimum === maximum ? `must be ${minimum}` : `must be from ${minimum} to ${maximum}`;
        expect(answer.body).toMatchObject({ errors: [{ pointer: '/eligible_amount', detail: bounds }] });
      }
      expect(await merchant.order(order)).toEqual(unchanged);
      const edges = minimum === maximum ? [minimum] : [minimum, maximum];
      for (const edge of edges) {
        const other = await anOrderWithShipping();
        for (const [earlier, eligible] of before) await refund(other, earlier!, eligible);
        expect((await refund(other, amount, edge)).body.eligible_amount).toBe(edge);
      }
    },
  );

  it('POST /orders/{id}/refunds returns 422 with the bounds of the amount when the amount exceeds what is left', async () => {
    const order = await anOrderWithShipping();
    await refund(order, '60.00');
    const answer = await refund(order, '40.01', '99.00');
    expectProblem(answer, 422, 'refund_exceeds_total');
    expect(answer.body).toMatchObject({
      minimum: '0.01',
      maximum: '40.00',
      errors: [{ pointer: '/amount', detail: 'must be from 0.01 to 40.00' }],
    });
  });

  it('the eligible_amount of an order that is wholly eligible is the amount', async () => {
    const order = await merchant.completed({ total: '100.00' });
    const answer = await refund(order, '50.00', '49.99');
    expectProblem(answer, 422, 'refund_exceeds_total');
    expect(answer.body).toMatchObject({ minimum: '50.00', maximum: '50.00' });
    expect((await refund(order, '50.00', '50.00')).body).toMatchObject({ cashback_taken_back: '2.50' });
  });

  it.each([['-1.00'], [0], [''], ['1.001'], [{}]])(
    'POST /orders/{id}/refunds returns 400 for the eligible_amount %j',
    async (eligible) => {
      const answer = await refund(await anOrderWithShipping(), '50.00', eligible);
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(['/eligible_amount']);
    },
  );

  it('POST /orders/{id}/refunds with an eligible_amount returns 404 for an order of another merchant', async () => {
    const other = await aMerchant(service);
    const order = await anOrderWithShipping();
    const body = { external_id: 'DEV-1', amount: '20.00', eligible_amount: '0.00' };
    expectProblem(await other.client.post(`/orders/${order.id}/refunds`, body), 404, 'not_found');
  });
});
