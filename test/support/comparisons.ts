import { Worker } from 'node:worker_threads';
import bcrypt from 'bcrypt';

/**
 * Watches what the service gives its threads to compare, one comparison a message, and holds it back where a test says so.
 * The threads are real, and so is what they do. (The service and the test share the one `Worker` of Node.)
 */
export class Comparisons {
  /** The cost of each comparison that was asked of a thread. */
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

  /** From now on comparisons take their turn, but don't end. */
  hold(): void {
    this.costs.length = 0;
    this.#isHolding = true;
  }

  /** Lets those go on that were held back, and all that follow. */
  release(): void {
    this.#isHolding = false;
    for (const { thread, message } of this.#held.splice(0)) this.#give.call(thread, message);
  }

  /** Ends the threads whose comparisons are held back, as a fault of theirs would, and holds back no more. */
  async killThreads(): Promise<void> {
    this.#isHolding = false;
    await Promise.all(this.#held.splice(0).map(({ thread }) => thread.terminate()));
  }

  /** Watches no more. */
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
