import pLimit, { type LimitFunction } from 'p-limit';
import { Problem, unavailable } from '../common/problem.js';

/** A limit on places in the queue: all work with the same key may use at most `places` of them. */
export interface Share {
  key: string;
  places: number;
}

/** Runs work in order of arrival, with limited concurrency. No single user or network can fill the queue. */
export class FairQueue {
  readonly #limit: LimitFunction;
  /** The number of waiting jobs per key. */
  readonly #waiting = new Map<string, number>();

  /**
   * @param concurrency the maximum number of jobs that run at once.
   * @param places the maximum number of jobs that wait.
   */
  constructor(
    private readonly concurrency: number,
    private readonly places: number,
  ) {
    this.#limit = pLimit(concurrency);
  }

  /** The number of running and of waiting jobs. */
  get load(): { active: number; waiting: number } {
    return { active: this.#limit.activeCount, waiting: this.#limit.pendingCount };
  }

  /**
   * @param shares the limits that the work counts against while it waits.
   * @throws Problem unavailable if all places are taken, too_many_requests if those of a share are; `work` is not
   *   started.
   */
  async run<T>(shares: Share[], work: () => Promise<T>): Promise<T> {
    const { active, waiting } = this.load;
    if (active < this.concurrency) return this.#limit(work);
    if (waiting >= this.places) throw unavailable(new Error('the login queue is full'));
    if (shares.some(({ key, places }) => (this.#waiting.get(key) ?? 0) >= places)) throw tooManyWaiting();
    shares.forEach(({ key }) => this.#count(key, 1));
    return this.#limit(() => {
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
    detail: 'too many logins of this user or network are waiting: try again in a moment',
    headers: { 'retry-after': '1' },
  });
}
