import { Worker } from 'node:worker_threads';
import bcrypt from 'bcrypt';

/**
 * Records the comparisons that the service sends to its bcrypt threads, one per message, and holds them when a test
 * asks for it. The threads and their work are real. (The service and the test share the `Worker` class of Node.)
 */
export class Comparisons {
  /** The cost of each comparison that was sent to a thread. */
  readonly costs: number[] = [];
  readonly #give = Reflect.get(Worker.prototype, 'postMessage') as (this: Worker, message: unknown) => void;
  #held: { thread: Worker; message: unknown }[] = [];
  #isHolding = false;

  constructor() {
    const asked = (thread: Worker, message: unknown): void => this.#asked(thread, message);
    Worker.prototype.postMessage = function (this: Worker, message: unknown) {
      asked(this, message);
    };
  }

  /** Holds comparisons from now on. */
  hold(): void {
    this.costs.length = 0;
    this.#isHolding = true;
  }

  /** Releases the held comparisons and stops holding new ones. */
  release(): void {
    this.#isHolding = false;
    for (const { thread, message } of this.#held.splice(0)) this.#give.call(thread, message);
  }

  /** Terminates the threads with held comparisons, like a crash would, and stops holding new ones. */
  async killThreads(): Promise<void> {
    this.#isHolding = false;
    await Promise.all(this.#held.splice(0).map(({ thread }) => thread.terminate()));
  }

  /** Stops recording. */
  stop(): void {
    this.release();
    Worker.prototype.postMessage = this.#give;
  }

  #asked(thread: Worker, message: unknown): void {
    this.costs.push(bcrypt.getRounds((message as { hash: string }).hash));
    if (this.#isHolding) this.#held.push({ thread, message });
    else this.#give.call(thread, message);
  }
}
