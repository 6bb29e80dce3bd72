import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/values/time.js';

/** Gives each merchant the time of its clock, while that is locked. */
@Injectable()
export class SandboxClock extends Clock {
  /** The clocks that stand still, of merchants that are worked for now. Their locks keep them from being moved. */
  readonly #standing = new Map<string, { at: Date; users: number }>();

  override now(merchantId = ''): Date {
    return this.#standing.get(merchantId)?.at ?? super.now();
  }

  /** Works at the instant of a merchant's clock. @param at null if the clock runs. */
  async during<T>(merchantId: string, at: Date | null, work: () => Promise<T>): Promise<T> {
    if (at === null) return work();
    const standing = this.#standing.get(merchantId) ?? { at, users: 0 };
    // If the connection of an earlier lock was lost, the clock may have been moved since.
    if (at > standing.at) standing.at = at;
    this.#standing.set(merchantId, standing);
    standing.users++;
    try {
      return await work();
    } finally {
      if (--standing.users === 0) this.#standing.delete(merchantId);
    }
  }

  /** Lets clocks stand still as long as the process runs: for a command of the operator. */
  keep(clocks: readonly { merchantId: string; standsAt: Date | null }[]): void {
    for (const { merchantId, standsAt } of clocks)
      if (standsAt !== null) this.#standing.set(merchantId, { at: standsAt, users: Infinity });
  }
}
