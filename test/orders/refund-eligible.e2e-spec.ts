import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf, type Problem } from '../support/expectations.js';
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

  it.each([['-1.00'], [0], [''], ['1.001'], [{}]])(
    'POST /orders/{id}/refunds returns 400 for the eligible_amount %j',
    async (eligible) => {
      const answer = await refund(await anOrderWithShipping(), '50.00', eligible);
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(['/eligible_amount']);
    },
  );
});
