import type { Hold } from './hold.entity.js';

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
