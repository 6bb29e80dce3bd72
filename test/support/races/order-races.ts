import { expect } from '@jest/globals';
import { type Answer, atOnce } from '../client.js';
import { changesAmong } from '../expectations.js';
import { aDocument, anOrder } from '../factories.js';
import type { Order } from '../shop.js';
import { aRace, interleaved, type Stage, tally } from './stage.js';

/** Completes and cancels one order, 50 times each, at once. */
const completeOrCancel = aRace({
  title: 'when 50 complete and 50 cancel requests run at once, one kind wins and every response matches the order',
  async run(stage) {
    const document = aDocument();
    const order = await stage.merchant.create({ document, total: '100.00' });
    // Create the wallet first. Otherwise unsafe services would deadlock while creating it and then read the correct
    // state.
    await stage.merchant.credit(document, '1.00');
    const sent = await atOnce(100, (at) =>
      stage.send(at, 'POST', `/orders/${order.id}/${at % 2 === 0 ? 'complete' : 'cancel'}`),
    );
    return {
      completions: reportedBy(sent.filter((_, at) => at % 2 === 0)),
      cancellations: reportedBy(sent.filter((_, at) => at % 2 === 1)),
      status: (await stage.send<Order>(0, 'GET', `/orders/${order.id}`)).body.status,
      pending: (await stage.wallet(document)).pending,
      discrepancies: await stage.discrepancies(),
    };
  },
  expectFair: (outcome) => {
    expect(outcome.discrepancies).toEqual([]);
    expect([
      {
        completions: { '200 completed': 50 },
        cancellations: { '409 completed': 50 },
        status: 'completed',
        pending: '5.00',
        discrepancies: [],
      },
      {
        completions: { '409 cancelled': 50 },
        cancellations: { '200 cancelled': 50 },
        status: 'cancelled',
        pending: '0.00',
        discrepancies: [],
      },
    ]).toContainEqual(outcome);
  },
  expectUnfair: ({ completions, cancellations }) => {
    const told = {
      completed: completions['200 completed'],
      cancelled: cancellations['200 cancelled'],
      ...failures(completions, cancellations),
    };
    // Both succeeded, or the second one failed with a server error.
    expect(present(Object.values(told))).toBeGreaterThan(1);
  },
});

function failures(...counts: Record<string, number>[]): Record<string, number | undefined> {
  return Object.fromEntries(counts.map((count, at) => [at, count['500 internal_error']]));
}

function present(values: (number | undefined)[]): number {
  return values.filter((value) => value !== undefined).length;
}

/** The number of callers per reported state of the order. */
function reportedBy(answers: Answer<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const { current_status, code, status: now } = body as Record<string, string>;
    const told = `${status} ${current_status ?? code ?? now}`;
    counts[told] = (counts[told] ?? 0) + 1;
  }
  return counts;
}

/** Sends one refund 50 times at once. */
export const sameRefund = aRace({
  title: 'one refund sent 50 times at once is created once and returned to every caller',
  async run(stage) {
    const order = await stage.merchant.completed({ total: '100.00' });
    const answers = await atOnce(50, (at) =>
      stage.send(at, 'POST', `/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount: '10.00' }),
    );
    const ids = new Set(answers.map(({ body }) => body.id)).size;
    return { ...(await refunding(stage, order.id, answers)), created: changesAmong(answers), ids };
  },
  expectFair: (outcome) => {
    expect(outcome).toEqual({ answers: { '201': 50 }, created: 1, ids: 1, refunded: '10.00', discrepancies: [] });
  },
  expectUnfair: ({ answers, created }) => {
    expect(created + (answers['500 internal_error'] ?? 0)).toBeGreaterThan(1);
  },
});

/** Sends 30 concurrent refunds of 1.00 for an order of 10.00. */
const manyRefunds = aRace({
  title: 'concurrent refunds never return more than the total',
  async run(stage) {
    const document = aDocument();
    await stage.merchant.credit(document, '3.33');
    const order = await stage.merchant.completed({ document, total: '10.00' }, { redeem: '3.33' });
    const answers = await atOnce(30, (at) =>
      stage.send(at, 'POST', `/orders/${order.id}/refunds`, { external_id: `DEV-${at}`, amount: '1.00' }),
    );
    return refunding(stage, order.id, answers);
  },
  expectFair: (outcome) => {
    expect(outcome).toEqual({
      answers: { '201': 10, '409 invalid_transition': 20 },
      refunded: '10.00',
      discrepancies: [],
    });
  },
  expectUnfair: ({ answers, refunded }) => {
    // Each group of concurrent requests added to the same sum, so the order records less than was returned.
    expect(Number(refunded)).toBeLessThan(answers['201'] ?? 0);
  },
});

async function refunding(
  stage: Stage,
  orderId: string,
  answers: Answer<unknown>[],
): Promise<{ answers: Record<string, number>; refunded: string; discrepancies: unknown[] }> {
  return {
    answers: tally(answers),
    refunded: (await stage.send<Order>(0, 'GET', `/orders/${orderId}`)).body.refunded.amount,
    discrepancies: await stage.discrepancies(),
  };
}

/** Completes an order during concurrent redemptions of different amounts. */
const completeWhileHolding = aRace({
  title: 'a completion during concurrent redemptions redeems one of them in full, and none succeeds after it',
  async run(stage) {
    const document = aDocument();
    await stage.merchant.credit(document, '50.00');
    const order = await stage.merchant.create({ document, total: '100.00' });
    const path = `/orders/${order.id}`;
    const holds = (from: number): (() => Promise<Answer>)[] =>
      Array.from(
        { length: 10 },
        (_, at) => () => stage.send(at, 'PUT', `${path}/redemption`, { amount: `${from + at}.00` }),
      );
    const completions = Array.from({ length: 5 }, (_, at) => () => stage.send(at, 'POST', `${path}/complete`));
    const answers = await Promise.all(interleaved(holds(1), completions, holds(20)).map((send) => send()));
    const { body } = await stage.send<Order>(0, 'GET', path);
    const wallet = await stage.wallet(document);
    return {
      answers: reportedBy(answers),
      redeemed: Number(body.cashback.to_redeem.redeemed),
      spent: 50 - Number(wallet.available),
      held: wallet.held,
      status: body.status,
      discrepancies: await stage.discrepancies(),
    };
  },
  expectFair: ({ answers, redeemed, spent, ...rest }) => {
    const { '200 completed': completed, '200 pending': held = 0, '409 completed': late = 0, ...others } = answers;
    expect({ completed, held: held + late, others }).toEqual({ completed: 5, held: 20, others: {} });
    expect(spent).toBe(redeemed);
    expect(rest).toEqual({ held: '0.00', status: 'completed', discrepancies: [] });
  },
  expectUnfair: ({ answers, discrepancies }) => {
    expect((answers['500 internal_error'] ?? 0) + discrepancies.length).toBeGreaterThan(0);
  },
});

/** Amends an order during concurrent redemptions, and then also during completions. */
const amendWhileHolding = aRace({
  title: 'amendments during concurrent redemptions and completions leave a redemption that the content allows',
  async run(stage) {
    const document = aDocument();
    await stage.merchant.credit(document, '80.00');
    const order = await stage.merchant.create({ document, total: '100.00' });
    const path = `/orders/${order.id}`;
    const { items } = order;
    const amendments = Array.from({ length: 12 }, (_, at) => () => {
      const total = `${20 + 10 * at}.00`;
      const redeem = at % 2 === 0 ? 'maximum' : undefined;
      return stage.send(at, 'PUT', path, { total, items, payment_methods: [], redeem });
    });
    const holds = Array.from(
      { length: 13 },
      (_, at) => () => stage.send(at, 'PUT', `${path}/redemption`, { amount: `${5 * at}.00` }),
    );
    const completions = Array.from({ length: 5 }, (_, at) => () => stage.send(at, 'POST', `${path}/complete`));
    const early = await Promise.all(interleaved(holds, amendments).map((send) => send()));
    const { body: pending } = await stage.send<Order>(0, 'GET', path);
    const later = await Promise.all([...interleaved(amendments, holds), ...completions].map((send) => send()));
    const { body } = await stage.send<Order>(0, 'GET', path);
    return {
      answers: reportedBy([...early, ...later]),
      held: Number(pending.cashback.to_redeem.held),
      maximum: Number(pending.cashback.to_redeem.maximum),
      redeemed: Number(body.cashback.to_redeem.redeemed),
      total: Number(body.total),
      spent: 80 - Number((await stage.wallet(document)).available),
      status: body.status,
      discrepancies: await stage.discrepancies(),
    };
  },
  expectFair: ({ answers, held, maximum, redeemed, total, spent, ...rest }) => {
    const { '200 completed': completed, '200 pending': changed = 0, '409 completed': late = 0, ...others } = answers;
    const { '422 redemption_exceeds_maximum': refused = 0, ...unexpected } = others;
    expect({ completed, sent: changed + late + refused, unexpected }).toEqual({
      completed: 5,
      sent: 50,
      unexpected: {},
    });
    expect(held).toBeLessThanOrEqual(maximum);
    expect(redeemed).toBeLessThanOrEqual(total / 2);
    expect(spent).toBe(redeemed);
    expect(rest).toEqual({ status: 'completed', discrepancies: [] });
  },
  expectUnfair: ({ answers, discrepancies }) => {
    expect((answers['500 internal_error'] ?? 0) + discrepancies.length).toBeGreaterThan(0);
  },
});

/** Sends one order 50 times at once. */
export const sameOrder = aRace({
  title: 'one order sent 50 times at once is created once and replayed 49 times',
  async run(stage) {
    const order = anOrder();
    const answers = await atOnce(50, (at) => stage.send(at, 'POST', '/orders', order));
    return {
      answers: tally(answers),
      created: changesAmong(answers),
      ids: new Set(answers.map(({ body }) => body.id)).size,
    };
  },
  expectFair: (outcome) => {
    expect(outcome).toEqual({ answers: { '201': 50 }, created: 1, ids: 1 });
  },
  expectUnfair: ({ created }) => {
    expect(created).toBeGreaterThan(1);
  },
});

export const orderRaces = [
  completeOrCancel,
  sameRefund,
  manyRefunds,
  completeWhileHolding,
  amendWhileHolding,
  sameOrder,
];
