import { Clock } from '../../src/common/clock.js';

/** A clock that runs like the real one and can be moved forward. */
export class TestClock extends Clock {
  #aheadMs = 0;

  override now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** Moves the clock forward. */
  advance(step: { days?: number; hours?: number; minutes?: number; seconds?: number; ms?: number }): void {
    const { days = 0, hours = 0, minutes = 0, seconds = 0, ms = 0 } = step;
    this.#aheadMs += (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms;
  }
}
