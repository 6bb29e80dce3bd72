import { exactCents } from '../common/money.js';
import type { Credit } from './credit.entity.js';
import { byExpiry, isAvailable } from './movements.js';

/** The values of a credit that can change. */
type Values = Pick<Credit, 'remainingCents' | 'expiresAt' | 'originalExpiresAt'>;

/** The credits of a wallet that are in memory. The wallet can have many more in the database, which do not change. */
export class LoadedCredits {
  readonly #byId = new Map<string, Credit>();
  /** The values that the loaded credits have in the database. */
  readonly #stored = new Map<string, Values>();
  /** The available part of the credits that are not in memory. */
  #elsewhereCents: number;

  /** @param availableCents the available part of all credits of the wallet at `now`, as the database has them. */
  constructor(
    availableCents: number,
    private readonly now: Date,
  ) {
    this.#elsewhereCents = availableCents;
  }

  add(credit: Credit): void {
    const { id, remainingCents, expiresAt, originalExpiresAt } = credit;
    this.#byId.set(id, credit);
    this.#stored.set(id, { remainingCents, expiresAt, originalExpiresAt });
    this.#elsewhereCents = exactCents(this.#elsewhereCents - this.#spendableCents(credit));
  }

  /** Adds a credit that is not in the database. */
  addNew(credit: Credit): void {
    this.#byId.set(credit.id, credit);
  }

  find(id: string): Credit | undefined {
    return this.#byId.get(id);
  }

  /** @throws Error if the credit is not in memory. */
  get(id: string): Credit {
    const credit = this.find(id);
    if (credit === undefined) throw new Error(`credit ${id} of a hold was not loaded`);
    return credit;
  }

  all(): Iterable<Credit> {
    return this.#byId.values();
  }

  /** Returns the centavos that can be spent, including the credits that are not in memory. */
  get availableCents(): number {
    let sum = this.#elsewhereCents;
    for (const credit of this.all()) sum = exactCents(sum + this.#spendableCents(credit));
    return sum;
  }

  /**
   * Returns whether a credit must be written: it is new, or its values changed. A hold that is moved or captured takes
   * from a credit the same amount that it returned to it.
   */
  mustBeSaved(credit: Credit): boolean {
    const stored = this.#stored.get(credit.id);
    return (
      stored?.remainingCents !== credit.remainingCents ||
      stored.expiresAt !== credit.expiresAt ||
      stored.originalExpiresAt !== credit.originalExpiresAt
    );
  }

  #spendableCents(credit: Credit): number {
    return isAvailable(credit, this.now) ? credit.remainingCents : 0;
  }
}

/** Takes up to an amount from credits, earliest expiry first. Returns the credits and the amount taken from each. */
export function takeEarliest(credits: readonly Credit[], amountCents: number): [Credit, number][] {
  const taken: [Credit, number][] = [];
  let leftCents = amountCents;
  for (const credit of credits.toSorted(byExpiry)) {
    const partCents = Math.min(leftCents, credit.remainingCents);
    if (partCents === 0) continue;
    credit.remainingCents -= partCents;
    leftCents -= partCents;
    taken.push([credit, partCents]);
  }
  return taken;
}
