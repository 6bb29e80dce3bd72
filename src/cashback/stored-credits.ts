import type { Credit } from './credit.entity.js';

/** The values of a credit that can change. */
type Values = Pick<Credit, 'remainingCents' | 'expiresAt' | 'originalExpiresAt'>;

/** The values that the credits of a wallet have in the database. */
export class StoredCredits {
  readonly #values = new Map<string, Values>();

  remember({ id, remainingCents, expiresAt, originalExpiresAt }: Credit): void {
    this.#values.set(id, { remainingCents, expiresAt, originalExpiresAt });
  }

  /**
   * Returns whether a credit must be written: it is new, or its values changed. A hold that is moved or captured takes
   * from a credit the same amount that it returned to it.
   */
  differFrom(credit: Credit): boolean {
    const stored = this.#values.get(credit.id);
    return (
      stored?.remainingCents !== credit.remainingCents ||
      stored.expiresAt !== credit.expiresAt ||
      stored.originalExpiresAt !== credit.originalExpiresAt
    );
  }
}
