import { Worker } from 'node:worker_threads';

/** An idle thread is stopped, because its heap takes about 8 MiB and most merchants log in once per hour. */
const IDLE_TIMEOUT_MS = 10_000;

/**
 * A thread that compares passwords, one at a time, at a lower priority than the rest of the service. (`bcrypt.compare`
 * runs in libuv's pool, at the same priority.) It starts with the first comparison and stops when it is idle.
 */
export class ComparisonThread {
  #worker: Worker | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #pending: { resolve: (same: boolean) => void; reject: (error: unknown) => void } | undefined;

  /**
   * Must not be called again before the promise settles.
   *
   * @throws Error if the thread can't start, or exits before it has a result.
   */
  async compare(password: string, hash: string): Promise<boolean> {
    clearTimeout(this.#idleTimer);
    const worker = (this.#worker ??= this.#start());
    try {
      return await new Promise((resolve, reject) => {
        this.#pending = { resolve, reject };
        worker.ref();
        worker.postMessage({ password, hash });
      });
    } finally {
      // An idle thread must not keep the process alive.
      worker.unref();
      this.#idleTimer = setTimeout(() => this.#stop(worker), IDLE_TIMEOUT_MS).unref();
    }
  }

  /** Stops the thread. A comparison in progress is rejected. */
  async end(): Promise<void> {
    await this.#worker?.terminate();
  }

  #stop(worker: Worker): void {
    this.#worker = undefined;
    void worker.terminate();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./comparison-worker.mjs', import.meta.url));
    let cause: unknown;
    worker.on('message', (same: boolean) => this.#pending?.resolve(same));
    worker.once('error', (error) => (cause = error));
    worker.once('exit', (code) => {
      // Another worker may have replaced this one since it was stopped.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#pending?.reject(cause ?? new Error(`the thread that compares passwords exited with code ${code}`));
    });
    return worker;
  }
}
