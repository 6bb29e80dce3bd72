import { TestClock } from '../clock.js';

/** A clock that stops between steps, so that the model and the service read the same time. */
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
