import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { expectInvariants } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { Dice } from '../support/model/dice.js';
import { brl, cents, sum } from '../support/model/values.js';
import type { Customer, Grant, Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({
  merchant: (started) =>
    aLongLivedMerchant(started, { releaseDays: 0, validityDays: 3, redeemShareBps: 10_000, earnRateBps: 1000 }),
});

/** One random sequence for three customers. What is refused changes nothing, so it does not matter. */
class Run {
  readonly #documents = [aDocument(), aDocument(), aDocument()];
  readonly #orders: Order[] = [];

  constructor(private readonly dice: Dice) {}

  async step(): Promise<void> {
    const { dice } = this;
    const order = this.#orders.length > 0 ? dice.pick(this.#orders.slice(-5)) : undefined;
    const document = dice.pick(this.#documents);
    const amount = brl(dice.pick([1n, 50n, 333n, 1000n, dice.amountUpTo(2000n)]));
    switch (order === undefined ? 0 : dice.upTo(11)) {
      case 0:
      case 1:
        this.#orders.push(await merchant.completed({ document, total: '100.00' }));
        return;
      case 2:
        this.#orders.push(await merchant.create({ document, total: '20.00' }));
        return;
      case 3:
      case 4:
      case 5:
        await merchant.changeCustomer(order!, document).answer;
        return;
      case 6:
        await merchant.hold(order!, amount).answer;
        return;
      case 7:
        await merchant.complete(order!).answer;
        return;
      case 8:
        await merchant.refund(order!, dice.pick(['10.00', '33.33', '100.00', amount])).answer;
        return;
      case 9:
        await (dice.once(3) ? merchant.cancel(order!).answer : merchant.grant({ document, amount }).answer);
        return;
      default:
        service.clock.skip(dice.pick([60_000, 3_600_000, 86_400_000, 2 * 86_400_000]));
        if (dice.once(2)) await service.clock.sweep();
    }
  }
}

/** What all customers own: over HTTP, and by the amounts that orders and grants say, less what expired. */
async function expectNothingMinted(): Promise<void> {
  await service.clock.sweep();
  const customers = await merchant.all<Customer>('/customers?limit=100');
  for (const customer of customers)
    for (const name of ['available', 'pending', 'held', 'debt'] as const)
      expect(cents(customer[name])).toBeGreaterThanOrEqual(0n);
  const owned = sum(
    customers.map((one) => cents(one.available) + cents(one.pending) + cents(one.held) - cents(one.debt)),
  );

  const from = new Date(+service.clock.now() - 400 * 86_400_000).toISOString();
  const orders = await merchant.all<Order>(`/orders?created_from=${from}&limit=100`);
  const completed = orders.filter(({ completed_at }) => completed_at !== null).map(({ cashback }) => cashback);
  const grants = await merchant.all<Grant>(`/grants?created_from=${from}&limit=100`);
  // What is claimed counts in `taken_back`, and is still held.
  const [{ expired, claimed }] = (await service.dataSource.query<Record<'expired' | 'claimed', string>[]>(
    `SELECT (SELECT COALESCE(-SUM(amount_cents), 0) FROM cashback_entries WHERE merchant_id = ? AND kind = 'expire') AS expired,
            (SELECT COALESCE(SUM(claimed_cents), 0) FROM cashback_credits WHERE merchant_id = ?) AS claimed`,
    [merchant.id, merchant.id],
  )) as [Record<'expired' | 'claimed', string>];
  const expected =
    sum(completed.map(({ to_receive: earned }) => cents(earned.amount) - cents(earned.taken_back))) +
    sum(completed.map(({ to_redeem: redeemed }) => cents(redeemed.returned) - cents(redeemed.redeemed))) +
    sum(grants.map((grant) => cents(grant.amount) - cents(grant.voided))) +
    BigInt(claimed) -
    BigInt(expired);
  expect(brl(owned)).toBe(brl(expected));
}

test('no sequence of completions, corrections, spends, holds, refunds and expiries mints cashback', async () => {
  const numbers = fc.array(fc.noBias(fc.nat(2 ** 31 - 1)), { minLength: 60, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(numbers, async (all) => {
      const run = new Run(new Dice(all));
      for (let step = 0; step < 25; step++) await run.step();
      await expectNothingMinted();
      await expectInvariants(service);
    }),
    // A sequence that is wrong stays so in the tables, so smaller ones would fail, too.
    { numRuns: 12, endOnFailure: true },
  );
  const [{ moved }] = (await service.dataSource.query<{ moved: string }[]>(
    'SELECT COUNT(*) AS moved FROM customer_changes WHERE merchant_id = ? AND moved_cents > 0',
    [merchant.id],
  )) as [{ moved: string }];
  // The mean is about 30; the sequences are random, so only a number far below it says that they no longer correct.
  expect(Number(moved)).toBeGreaterThan(5);
});
