import { Clock } from '../../src/platform/values/time.js';

/** The faked clock of a run (`.ci/nightly`), for programs that a test starts with an environment of their own. */
export const CLOCK_OF_RUN = Object.fromEntries(
  Object.entries(process.env as Record<string, string>).filter(([name]) => /^(LD_PRELOAD$|FAKETIME)/.test(name)),
);

/** A clock that runs like the real one and can be moved forward. */
export class TestClock extends Clock {
  #aheadMs = 0;
  /** Does what the service does by date. Tests do not wait for it. */
  sweep: () => Promise<void> = () => Promise.resolve();

  override now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** Moves the clock forward, and lets the service do what is then due. */
  async advance(step: {
    days?: number;
    hours?: number;
    minutes?: number;
    seconds?: number;
    ms?: number;
  }): Promise<void> {
    const { days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0 } = step;
    this.skip((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms);
    await this.sweep();
  }

  /** Moves the clock forward to an instant of a response, or a bit before or after it. */
  advanceTo(instant: string | null, offsetMs = 0): Promise<void> {
    return this.advance({ ms: Date.parse(String(instant)) + offsetMs - this.now().getTime() });
  }

  /** The instant a number of minutes from now. */
  inMinutes(minutes: number): Date {
    return new Date(this.now().getTime() + minutes * 60_000);
  }

  /** The instant a number of days of 24 hours from now. */
  inDays(days: number): Date {
    return this.inMinutes(days * 24 * 60);
  }

  /** Only moves the clock forward. */
  skip(ms: number): void {
    this.#aheadMs += ms;
  }
}

/** A clock that stands still until a test moves it. */
export class FrozenClock extends TestClock {
  #at = Date.now();

  override now(): Date {
    return new Date(this.#at);
  }

  get ms(): number {
    return this.#at;
  }

  override skip(ms: number): void {
    this.#at += ms;
  }
}
