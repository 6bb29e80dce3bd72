import type { Policy } from '../merchants/policy.js';
import type { Credit } from './credit.entity.js';
import type { Hold } from './hold.entity.js';
import { reinstatementEnd } from './validity.js';

/** The part of an order that its hold depends on. */
export interface HoldingOrder {
  id: string;
  expiresAt: Date;
  policy: Pick<Policy, 'timeZone'>;
}

/** Returns a hold of a part of a credit until the order expires. */
export function newHold({ id, expiresAt, policy }: HoldingOrder, credit: Credit, amountCents: number): Hold {
  const { id: creditId, walletId, merchantId } = credit;
  const reinstatedUntil = reinstatementEnd(policy, expiresAt);
  return { orderId: id, creditId, walletId, merchantId, amountCents, expiresAt, reinstatedUntil };
}

/** The loaded holds of a wallet, and those that this use case added or ended. */
export class HoldBook {
  readonly #open: Set<Hold>;
  readonly added = new Set<Hold>();
  readonly ended: Hold[] = [];

  constructor(holds: readonly Hold[]) {
    this.#open = new Set(holds);
  }

  of(orderId: string): Hold[] {
    return [...this.#open].filter((hold) => hold.orderId === orderId);
  }

  add(hold: Hold): void {
    this.#open.add(hold);
    this.added.add(hold);
  }

  /** Ends the holds that match, and returns them. */
  end(matches: (hold: Hold) => boolean): Hold[] {
    const ended = [...this.#open].filter(matches);
    for (const hold of ended) {
      this.#open.delete(hold);
      // A hold that is added and ended in the same use case is never written.
      if (!this.added.delete(hold)) this.ended.push(hold);
    }
    return ended;
  }
}
