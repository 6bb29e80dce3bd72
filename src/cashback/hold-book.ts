import type { Policy } from '../merchants/policy.js';
import type { Credit } from './credit.entity.js';
import type { Hold } from './hold.entity.js';

/** The part of an order that its hold depends on. */
export interface HoldingOrder {
  id: string;
  policy: Pick<Policy, 'timeZone'>;
}

/** The holds of the use case's order: those that are open, and those that this use case added or ended. */
export class HoldBook {
  readonly #open: Set<Hold>;
  readonly added = new Set<Hold>();
  readonly ended: Hold[] = [];

  constructor(holds: readonly Hold[]) {
    this.#open = new Set(holds);
  }

  get open(): Iterable<Hold> {
    return this.#open;
  }

  /** Adds a hold of a part of a credit, which the ledger entry with this number began. */
  add(orderId: string, { id: creditId, walletId, merchantId }: Credit, amountCents: number, entrySeq: number): void {
    const hold = { orderId, creditId, walletId, merchantId, amountCents, entrySeq };
    this.#open.add(hold);
    this.added.add(hold);
  }

  /** Ends all open holds, and returns them. */
  end(): Hold[] {
    const ended = [...this.#open];
    this.#open.clear();
    // A hold that is added and ended in the same use case is never written.
    this.ended.push(...ended.filter((hold) => !this.added.delete(hold)));
    return ended;
  }
}
