import { Worker } from 'node:worker_threads';

/** A thread has a heap of its own, some 8 MiB, and most merchants log in once an hour. */
const LEAVES_AFTER_MS = 10_000;

/**
 * A thread that compares passwords, one at a time, at a lower priority than the rest of the service; `bcrypt.compare` would
 * do it at the same, in libuv's pool. It starts with a comparison, and ends when there was none for a while.
 */
export class ComparisonThread {
  #worker: Worker | undefined;
  #leaving: NodeJS.Timeout | undefined;
  #asked: { resolve: (same: boolean) => void; reject: (error: unknown) => void } | undefined;

  /**
   * Not to be called again before it has answered.
   *
   * @throws Error where the thread can't start, or dies before it answers.
   */
  async compare(password: string, hash: string): Promise<boolean> {
    clearTimeout(this.#leaving);
    const worker = (this.#worker ??= this.#start());
    try {
      return await new Promise((resolve, reject) => {
        this.#asked = { resolve, reject };
        worker.ref();
        worker.postMessage({ password, hash });
      });
    } finally {
      // Only a comparison under way keeps the process alive.
      worker.unref();
      this.#leaving = setTimeout(() => this.#leave(worker), LEAVES_AFTER_MS).unref();
    }
  }

  /** Ends the thread; whoever waits for it learns that by an error. */
  async end(): Promise<void> {
    await this.#worker?.terminate();
  }

  #leave(worker: Worker): void {
    this.#worker = undefined;
    void worker.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./comparison-worker.mjs', import.meta.url));
    let fault: unknown;
    worker.on('message', (same: boolean) => this.#asked?.resolve(same));
    worker.once('error', (error) => (fault = error));
    worker.once('exit', (code) => {
      // One that had nothing to do may have a successor by now.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#asked?.reject(fault ?? new Error(`the thread that compares passwords ended with ${code}`));
    });
    return worker;
  }
}
