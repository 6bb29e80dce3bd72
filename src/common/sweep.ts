import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type Clock, SECOND_MS } from './clock.js';

/** Work that instances share: what one has locked, the others skip. */
export interface SharedWork {
  /** Does the part that is due first. @returns the instant up to which nothing is due any more. */
  next(): Promise<Date>;
}

/** The work that is announced within this time is done together, which costs the database a fraction. */
const GATHER_MS = 200;

/**
 * Does work regularly, and without a pause while there is more. Work that can wait rests `rest` times as long as it
 * worked, so that requests beside it do not wait.
 */
export class Sweep {
  readonly #log = new Logger('Sweep');
  #doneUntil: Date;
  #isFailing = false;
  #isWoken = false;
  #endPause: () => void = () => undefined;

  constructor(
    private readonly name: string,
    private readonly work: SharedWork,
    private readonly clock: Clock,
    private readonly intervalMs = SECOND_MS,
    private readonly rest = 0,
  ) {
    this.#doneUntil = clock.now();
  }

  /** How long work that is due may have waited for this instance. */
  get lagSeconds(): number {
    return Math.max(0, (this.clock.now().getTime() - this.#doneUntil.getTime()) / SECOND_MS);
  }

  async doAll(): Promise<void> {
    const now = this.clock.now();
    do this.#doneUntil = await this.work.next();
    while (this.#doneUntil < now);
  }

  /** Works until the signal. What fails is logged once and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake(), { once: true });
    while (!signal.aborted) {
      const startedAt = performance.now();
      if (await this.#next()) await sleep(this.rest * (performance.now() - startedAt));
      else await this.#pause();
    }
  }

  /** Ends the pause: there is work. */
  wake(): void {
    this.#isWoken = true;
    this.#endPause();
  }

  async #pause(): Promise<void> {
    const pause = new AbortController();
    this.#endPause = () => pause.abort();
    // Instances do not stay in step.
    const pauseMs = this.#isWoken ? 0 : this.intervalMs * (0.75 + Math.random() / 2);
    await sleep(pauseMs, undefined, { signal: pause.signal }).catch(() => undefined);
    if (this.#isWoken) await sleep(GATHER_MS);
    this.#isWoken = false;
  }

  /** @returns whether there is more. */
  async #next(): Promise<boolean> {
    const now = this.clock.now();
    try {
      this.#doneUntil = await this.work.next();
      this.#isFailing = false;
      return this.#doneUntil < now;
    } catch (err) {
      if (!this.#isFailing) this.#log.warn({ event: 'sweep_failed', sweep: this.name, err }, 'will be tried again');
      this.#isFailing = true;
      return false;
    }
  }
}

/** Returns the instant up to which nothing is due any more, after the `due` that were found first were done. */
export function doneUntil(due: readonly { expiresAt: Date }[], limit: number, now: Date): Date {
  return due.length < limit ? now : due.at(-1)!.expiresAt;
}

/** Does each of some things, also after one of them failed. @throws the first error, at the end. */
export async function doEach<T>(things: Iterable<T>, doOne: (thing: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = [];
  for (const thing of things) await doOne(thing).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
