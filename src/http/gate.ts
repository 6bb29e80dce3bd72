import { unavailable } from '../common/problem.js';

const MAX_WAIT_MS = 3000;

/** Bounds concurrent work. What exceeds the limit waits in order of arrival, for three seconds at most. */
export class Gate {
  #running = 0;
  readonly #waiting = new Set<() => void>();

  /**
   * @param limit the maximum amount of work that runs at once.
   * @param places the maximum amount of work that waits.
   */
  constructor(
    private readonly limit: number,
    private readonly places: number,
  ) {}

  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size };
  }

  /** @throws Problem unavailable if all places are taken, or if the work could not start in time. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #enter(): Promise<void> {
    if (this.#running < this.limit) {
      this.#running++;
      return Promise.resolve();
    }
    if (this.#waiting.size >= this.places) return Promise.reject(tooBusy());
    return new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(start);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(start);
        reject(tooBusy());
      }, MAX_WAIT_MS);
      this.#waiting.add(start);
    });
  }

  /** The work that has waited longest takes the place of the work that ends. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running--;
    else next();
  }
}

/** Has no cause, so it is not logged: the metrics count it, and a log line would cost more than the refusal. */
const tooBusy = (): Error => unavailable(undefined);
