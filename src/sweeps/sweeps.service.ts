import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { CreditExpiryService } from '../cashback/credit-expiry.service.js';
import { Clock, MINUTE_MS, SECOND_MS } from '../common/clock.js';
import { DomainEvents, isFeedEvent } from '../common/domain-event.js';
import { Sweep } from '../common/sweep.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { DateEvents } from '../events/date-events.js';
import { RetentionService } from '../events/retention.service.js';
import { SequencerService } from '../events/sequencer.service.js';
import { OrderExpiryService } from '../orders/order-expiry.service.js';

/** Does what no request asks for: what happens by date, and the feeds of events. Every instance does so. */
@Injectable()
export class SweepsService implements BeforeApplicationShutdown {
  readonly #orders: Sweep;
  readonly #credits: Sweep;
  readonly #available: Sweep;
  readonly #expiring: Sweep;
  readonly #retention: Sweep;
  readonly #events: Sweep;
  readonly #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    orders: OrderExpiryService,
    credits: CreditExpiryService,
    sequencer: SequencerService,
    retention: RetentionService,
    unitOfWork: UnitOfWork,
    events: DomainEvents,
    clock: Clock,
  ) {
    this.#orders = new Sweep('orders', orders, clock);
    this.#credits = new Sweep('credits', credits, clock);
    this.#available = new Sweep('available', new DateEvents('available', unitOfWork, clock), clock, 30 * SECOND_MS);
    this.#expiring = new Sweep('expiring', new DateEvents('expiring', unitOfWork, clock), clock, 30 * SECOND_MS);
    this.#retention = new Sweep('retention', retention, clock, MINUTE_MS);
    this.#events = new Sweep('events', sequencer, clock);
    events.subscribe((event) => {
      if (isFeedEvent(event)) this.#events.wake();
    });
  }

  /** How long orders and credits that are due may have waited for this instance, in seconds. */
  get expiryLag(): { orders: number; credits: number } {
    return { orders: this.#orders.lagSeconds, credits: this.#credits.lagSeconds };
  }

  /** How long dates that are due may have waited for their events, in seconds. */
  get dayLag(): { available: number; expiring: number } {
    return { available: this.#available.lagSeconds, expiring: this.#expiring.lagSeconds };
  }

  /** Works until the shutdown. */
  start(): void {
    const { signal } = this.#stopped;
    this.#running = Promise.all(this.#all.map((sweep) => sweep.run(signal)));
  }

  /** Does everything that is due now. */
  async doAll(): Promise<void> {
    for (const sweep of this.#all) await sweep.doAll();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /** The events last: the others record some. */
  get #all(): Sweep[] {
    return [this.#orders, this.#credits, this.#available, this.#expiring, this.#retention, this.#events];
  }
}
