import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { Dice } from '../support/model/dice.js';
import { brl, cents, sum } from '../support/model/values.js';
import { type Customer, type Grant, type Order, type Refund, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({
  merchant: (started) =>
    aLongLivedMerchant(started, { releaseDays: 0, validityDays: 3, redeemShareBps: 10_000, earnRateBps: 1000 }),
});

interface Debit {
  id: string;
  amount: string;
  restored: string;
}

/** One random sequence for three customers. What is refused changes nothing, so it does not matter. */
class Run {
  readonly #documents = [aDocument(), aDocument(), aDocument()];
  readonly #orders: Order[] = [];
  readonly #refunds: Refund[] = [];
  readonly #debits: Debit[] = [];

  constructor(private readonly dice: Dice) {}

  async step(): Promise<void> {
    const { dice } = this;
    const order = this.#orders.length > 0 ? dice.pick(this.#orders.slice(-5)) : undefined;
    const document = dice.pick(this.#documents);
    const amount = brl(dice.pick([1n, 50n, 333n, 1000n, dice.amountUpTo(2000n)]));
    switch (order === undefined ? 0 : dice.upTo(17)) {
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
        await this.#refund(order!, dice.pick(['10.00', '33.33', '100.00', amount]));
        return;
      case 9:
        await (dice.once(3) ? merchant.cancel(order!).answer : merchant.grant({ document, amount }).answer);
        return;
      case 10:
      case 11:
        await this.#debit(document, amount);
        return;
      case 12:
        if (this.#debits.length > 0) await merchant.post(`/debits/${dice.pick(this.#debits).id}/void`).answer;
        return;
      case 13:
      case 14:
        await this.#voidRefund();
        return;
      case 15:
        await (dice.once(3) ? this.#freeze(document) : this.#sell(document, amount));
        return;
      default:
        service.clock.skip(dice.pick([60_000, 3_600_000, 86_400_000, 2 * 86_400_000]));
        if (dice.once(2)) await service.clock.sweep();
    }
  }

  async #refund(order: Order, amount: string): Promise<void> {
    const { status, body } = await merchant.refund(order, amount).answer;
    if (status === 201) this.#refunds.push(body);
  }

  /** Usually the latest one, because only that can be undone. */
  async #voidRefund(): Promise<void> {
    if (this.#refunds.length === 0) return;
    const { order_id, id } = this.dice.pick(this.#refunds.slice(this.dice.once(3) ? 0 : -1));
    await merchant.post(`/orders/${order_id}/refunds/${id}/void`).answer;
  }

  async #debit(document: string, amount: string): Promise<void> {
    const request = { document, external_id: `DEBIT-${unique()}`, amount, reason: 'Granted twice', take: 'available' };
    const { status, body } = await merchant.post<Debit>('/debits', request).answer;
    if (status === 201) this.#debits.push(body);
  }

  /** Ends it more often than not, because a frozen wallet redeems nothing. */
  async #freeze(document: string): Promise<void> {
    const { id } = await merchant.wallet(document);
    const frozen = this.dice.pick([false, true, false]);
    if (id !== null) await merchant.put(`/wallets/${id}/freeze`, { frozen, reason: 'Chargeback' }).answer;
  }

  async #sell(document: string, redeem: string): Promise<void> {
    const body = anOrder({ document, total: '100.00', payment_methods: [], complete: { redeem } });
    const { status, body: order } = await merchant.post<Order>('/orders', body).answer;
    if (status === 201) this.#orders.push(order);
  }
}

/** What all customers own: over HTTP, and by the amounts that orders, grants and debits say, less what expired. */
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
  const debits = await merchant.all<Debit>(`/debits?created_from=${from}&limit=100`);
  // What is claimed counts in `taken_back`, and is still held.
  const [{ expired, claimed }] = (await service.dataSource.query<Record<'expired' | 'claimed', string>[]>(
    `SELECT (SELECT COALESCE(-SUM(amount_cents), 0) FROM cashback_entries WHERE merchant_id = ? AND kind = 'expire') AS expired,
            (SELECT COALESCE(SUM(claimed_cents), 0) FROM cashback_credits WHERE merchant_id = ?) AS claimed`,
    [merchant.id, merchant.id],
  )) as [Record<'expired' | 'claimed', string>];
  const expected =
    sum(completed.map(({ to_receive: earned }) => cents(earned.amount) - cents(earned.taken_back))) +
    sum(completed.map(({ to_redeem: redeemed }) => cents(redeemed.returned) - cents(redeemed.redeemed))) +
    sum(grants.map((grant) => cents(grant.amount) - cents(grant.voided))) -
    sum(debits.map((debit) => cents(debit.amount) - cents(debit.restored))) +
    BigInt(claimed) -
    BigInt(expired);
  expect(brl(owned)).toBe(brl(expected));
}

test('no sequence of completions, corrections, spends, holds, refunds, debits, their voids and expiries mints cashback', async () => {
  const numbers = fc.array(fc.noBias(fc.nat(2 ** 31 - 1)), { minLength: 60, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(numbers, async (all) => {
      const run = new Run(new Dice(all));
      for (let step = 0; step < 35; step++) await run.step();
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
