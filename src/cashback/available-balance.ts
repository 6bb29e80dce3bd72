import { exactCents } from '../common/money.js';
import { type DatedCredit, isAvailable } from './expiry.js';

/** The available balance of a wallet when only some of its credits are in memory. */
export class AvailableBalance {
  /** The available part of the credits that are not in memory. They do not change. */
  #elsewhereCents: number;

  /** @param totalCents the available part of all credits at `now`. */
  constructor(
    totalCents: number,
    private readonly now: Date,
  ) {
    this.#elsewhereCents = totalCents;
  }

  /** Counts a credit as in memory from now on. It must have the same values as in the database. */
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
