import { expect } from '@jest/globals';
import { type Answer, atOnce } from '../client.js';
import { aDocument } from '../factories.js';
import type { Order } from '../shop.js';
import { aRace, type Race, type Stage, tally } from './stage.js';

interface Spending {
  answers: Record<string, number>;
  wallet: Record<string, unknown>;
  discrepancies: unknown[];
}

async function spending(stage: Stage, document: string, answers: Answer<unknown>[]): Promise<Spending> {
  return { answers: tally(answers), wallet: await stage.wallet(document), discrepancies: await stage.discrepancies() };
}

/** Created in sequence, because the race is about the requests that follow. */
async function createdOrders(stage: Stage, count: number, members: Record<string, unknown>): Promise<Order[]> {
  const orders: Order[] = [];
  while (orders.length < count)
    orders.push(...(await atOnce(Math.min(10, count - orders.length), () => stage.merchant.create(members))));
  return orders;
}

/** A race in which orders of one customer redeem 1.00 each and the balance covers only some of them. */
export const redemptions = (count: number, covered: number): Race =>
  aRace({
    title: `exactly ${covered} of ${count} concurrent redemptions succeed when the balance covers ${covered}`,
    async run(stage) {
      const document = aDocument();
      await stage.merchant.credit(document, `${covered}.00`);
      const orders = await createdOrders(stage, count, { document, total: '2.00' });
      const answers = await atOnce(count, (at) =>
        stage.send(at, 'PUT', `/orders/${orders[at]!.id}/redemption`, { amount: '1.00' }),
      );
      return spending(stage, document, answers);
    },
    expectFair: ({ answers, wallet, discrepancies }) => {
      expect(answers).toEqual({ '200': covered, '422 redemption_exceeds_maximum 0.00': count - covered });
      expect(wallet).toMatchObject({ available: '0.00', held: `${covered}.00` });
      expect(discrepancies).toEqual([]);
    },
    expectUnfair: ({ discrepancies }) => {
      // Each group of concurrent requests spent the same centavos, so the ledger shows more than the credit.
      expect(discrepancies).not.toEqual([]);
    },
  });

/** The same race with completions, which redeem the cashback instead of only holding it. */
const spendingCompletions = aRace({
  title: 'exactly 10 of 40 concurrent completions that redeem cashback succeed when the balance covers 10',
  async run(stage) {
    const document = aDocument();
    await stage.merchant.credit(document, '10.00');
    const orders = await createdOrders(stage, 40, { document, total: '2.00' });
    const answers = await atOnce(40, (at) =>
      stage.send(at, 'POST', `/orders/${orders[at]!.id}/complete`, { redeem: '1.00' }),
    );
    return spending(stage, document, answers);
  },
  expectFair: ({ answers, wallet, discrepancies }) => {
    expect(answers).toEqual({ '200': 10, '422 redemption_exceeds_maximum 0.00': 30 });
    expect(wallet).toMatchObject({ available: '0.00', held: '0.00', pending: '0.50' });
    expect(discrepancies).toEqual([]);
  },
  expectUnfair: ({ answers, discrepancies }) => {
    expect(answers['200']).toBeGreaterThan(10);
    expect(discrepancies).not.toEqual([]);
  },
});

/** Each of ten customers has 100.00 and two orders that redeem 60.00 each. */
const twoOrders = aRace({
  title: 'two orders of one customer never hold the same centavo',
  async run(stage) {
    const pairs = await atOnce(10, async () => {
      const document = aDocument();
      await stage.merchant.credit(document, '100.00');
      return createdOrders(stage, 2, { document, total: '150.00' });
    });
    const answers = await atOnce(20, (at) =>
      stage.send(at, 'PUT', `/orders/${pairs[at >> 1]![at % 2]!.id}/redemption`, { amount: '60.00' }),
    );
    return tally(answers);
  },
  expectFair: (answers) => {
    expect(answers).toEqual({ '200': 10, '422 redemption_exceeds_maximum 40.00': 10 });
  },
  expectUnfair: (answers) => {
    expect(answers['200']).toBeGreaterThan(10);
  },
});

/** Thirty grants of 1.00 while thirty orders hold 1.00 each. */
const grants = aRace({
  title: 'grants that arrive during a redemption are neither lost nor duplicated',
  async run(stage) {
    const document = aDocument();
    await stage.merchant.credit(document, '30.00');
    const orders = await createdOrders(stage, 30, { document, total: '2.00' });
    const [answers] = await Promise.all([
      atOnce(30, (at) => stage.send(at, 'PUT', `/orders/${orders[at]!.id}/redemption`, { amount: '1.00' })),
      atOnce(30, () => stage.merchant.credit(document, '1.00')),
    ]);
    return spending(stage, document, answers);
  },
  expectFair: ({ answers, wallet, discrepancies }) => {
    expect(answers).toEqual({ '200': 30 });
    expect(wallet).toMatchObject({ available: '30.00', held: '30.00' });
    expect(discrepancies).toEqual([]);
  },
  expectUnfair: ({ discrepancies }) => {
    expect(discrepancies).not.toEqual([]);
  },
});

/** Ten concurrent completions for a new customer, whose wallet does not exist yet and cannot be locked. */
const firstWallet = aRace({
  title: 'a new customer whose orders are completed at once has one wallet with all the cashback',
  async run(stage) {
    const document = aDocument();
    const orders = await createdOrders(stage, 10, { document, total: '100.00' });
    const answers = await atOnce(20, (at) => stage.send(at, 'POST', `/orders/${orders[at % 10]!.id}/complete`));
    return spending(stage, document, answers);
  },
  expectFair: ({ answers, wallet, discrepancies }) => {
    expect(answers).toEqual({ '200': 20 });
    expect(wallet).toMatchObject({ available: '0.00', pending: '50.00' });
    expect(discrepancies).toEqual([]);
  },
  expectUnfair: ({ wallet, discrepancies }) => {
    expect(wallet.pending).not.toBe('50.00');
    expect(discrepancies).not.toEqual([]);
  },
});

/** The races of one wallet, except `redemptions`. */
export const walletRaces = [spendingCompletions, twoOrders, grants, firstWallet];
