import type { ServerResponse } from 'node:http';
import { unavailable } from '../common/problem.js';

const MAX_WAIT_MS = 3000;

/** At most `limit` requests run at once. At most `places` others wait, in order of arrival, for three seconds. */
export class Gate {
  running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly limit: number,
    private readonly places: number,
  ) {}

  get waiting(): number {
    return this.#waiting.size;
  }

  async enter(response: ServerResponse): Promise<void> {
    if (this.running < this.limit) return void this.running++;
    if (this.#waiting.size >= this.places || response.closed) throw unavailable(undefined);
    await new Promise<void>((resolve, reject) => {
      const settle = (outcome: () => void): void => {
        clearTimeout(timer);
        response.off('close', refuse);
        this.#waiting.delete(start);
        outcome();
      };
      const start = (): void => settle(resolve);
      const refuse = (): void => settle(() => reject(unavailable(undefined)));
      const timer = setTimeout(refuse, MAX_WAIT_MS);
      response.once('close', refuse);
      this.#waiting.add(start);
    });
  }

  leave(): void {
    for (const start of this.#waiting) return start();
    this.running--;
  }
}
