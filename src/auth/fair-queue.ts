import pLimit, { type LimitFunction } from 'p-limit';
import { Problem, unavailable } from '../common/problem.js';

/** A claim on places in the queue: all work with the same key waits in at most that many places. */
export interface Share {
  key: string;
  places: number;
}

/** Runs work in turns, in the order in which it came. Nobody can take all the places for those who wait. */
export class FairQueue {
  readonly #inTurn: LimitFunction;
  /** How much work waits under each key. */
  readonly #waiting = new Map<string, number>();

  /**
   * @param concurrency how much runs at once.
   * @param places how much more may wait.
   */
  constructor(
    private readonly concurrency: number,
    private readonly places: number,
  ) {
    this.#inTurn = pLimit(concurrency);
  }

  /** How much runs and how much waits. */
  get load(): { active: number; waiting: number } {
    return { active: this.#inTurn.activeCount, waiting: this.#inTurn.pendingCount };
  }

  /**
   * @param shares what the work counts against while it waits.
   * @param work is not started where this throws.
   * @throws Problem unavailable where all places are taken, too_many_requests where those of a share are.
   */
  async run<T>(shares: Share[], work: () => Promise<T>): Promise<T> {
    const { active, waiting } = this.load;
    if (active < this.concurrency) return this.#inTurn(work);
    if (waiting >= this.places) throw unavailable(new Error('all places in the queue for logins are taken'));
    if (shares.some(({ key, places }) => (this.#waiting.get(key) ?? 0) >= places)) throw tooManyWaiting();
    shares.forEach(({ key }) => this.#count(key, 1));
    return this.#inTurn(() => {
      shares.forEach(({ key }) => this.#count(key, -1));
      return work();
    });
  }

  #count(key: string, change: number): void {
    const count = (this.#waiting.get(key) ?? 0) + change;
    if (count > 0) this.#waiting.set(key, count);
    else this.#waiting.delete(key);
  }
}

function tooManyWaiting(): Problem {
  return new Problem('too_many_requests', {
    detail: 'other logins of this user or network are still waiting: try again in a moment',
    headers: { 'retry-after': '1' },
  });
}
