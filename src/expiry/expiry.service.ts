import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { CreditExpiryService } from '../cashback/credit-expiry.service.js';
import { Clock } from '../common/clock.js';
import { Sweep } from '../common/sweep.js';
import { OrderExpiryService } from '../orders/order-expiry.service.js';

/** Expires orders and credits soon after their time has come. Every instance does so. */
@Injectable()
export class ExpiryService implements BeforeApplicationShutdown {
  readonly #orders: Sweep;
  readonly #credits: Sweep;
  readonly #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(orders: OrderExpiryService, credits: CreditExpiryService, clock: Clock) {
    this.#orders = new Sweep('orders', orders, clock);
    this.#credits = new Sweep('credits', credits, clock);
  }

  /** How long orders and credits that are due may have waited for this instance, in seconds. */
  get lag(): { orders: number; credits: number } {
    return { orders: this.#orders.lagSeconds, credits: this.#credits.lagSeconds };
  }

  /** Works until the shutdown. */
  start(): void {
    const { signal } = this.#stopped;
    this.#running = Promise.all([this.#orders.run(signal), this.#credits.run(signal)]);
  }

  /** Expires everything that is due now. */
  async expireAll(): Promise<void> {
    await this.#orders.doAll();
    await this.#credits.doAll();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }
}
