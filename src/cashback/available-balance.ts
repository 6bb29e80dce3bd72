import { exactCents } from '../common/money.js';
import { type DatedCredit, isAvailable } from './expiry.js';

/** The available balance of a wallet of which only some credits are in memory. */
export class AvailableBalance {
  /** What can be spent of the credits that are not in memory; they do not change. */
  #elsewhereCents: number;

  /** @param totalCents what can be spent of all credits at `now`. */
  constructor(
    totalCents: number,
    private readonly now: Date,
  ) {
    this.#elsewhereCents = totalCents;
  }

  /** Counts a credit in memory from now on, which is as it is in the database. */
  countInMemory(credit: DatedCredit): void {
    this.#elsewhereCents = exactCents(this.#elsewhereCents - this.#spendableCents(credit));
  }

  /** @param inMemory all credits in memory, in their current state. */
  cents(inMemory: Iterable<DatedCredit>): number {
    let sum = this.#elsewhereCents;
    for (const credit of inMemory) sum = exactCents(sum + this.#spendableCents(credit));
    return sum;
  }

  #spendableCents(credit: DatedCredit): number {
    return isAvailable(credit, this.now) ? credit.remainingCents : 0;
  }
}
