import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { CreditExpiryService } from '../cashback/credit-expiry.service.js';
import { OperatorGrantsService } from '../cashback/operator-grants.service.js';
import { Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../common/clock.js';
import { DomainEvents, isFeedEvent } from '../common/domain-event.js';
import { type SharedWork, Sweep } from '../common/sweep.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { DateEvents } from '../events/date-events.js';
import { RetentionService } from '../events/retention.service.js';
import { SequencerService } from '../events/sequencer.service.js';
import { OrderExpiryService } from '../orders/order-expiry.service.js';
import { DeliveryService } from '../webhooks/delivery.service.js';
import { WebhookSecrets } from '../webhooks/webhook-secrets.js';

/** What is done for a million customers at once takes a fourth of the time, so that orders beside it do not wait. */
const REST = 3;

/** Does what no request asks for: what happens by date, the feeds of events, and webhooks. Every instance does so. */
@Injectable()
export class SweepsService implements BeforeApplicationShutdown {
  /** Those that record events come before the one that numbers them, and that before the one that sends them. */
  readonly #sweeps: Record<
    | 'orders'
    | 'credits'
    | 'available'
    | 'expiring'
    | 'retention'
    | 'events'
    | 'webhooks'
    | 'secrets'
    | 'operator_grants',
    Sweep
  >;
  readonly #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    orders: OrderExpiryService,
    credits: CreditExpiryService,
    sequencer: SequencerService,
    retention: RetentionService,
    private readonly deliveries: DeliveryService,
    secrets: WebhookSecrets,
    operatorGrants: OperatorGrantsService,
    unitOfWork: UnitOfWork,
    events: DomainEvents,
    clock: Clock,
  ) {
    const sweep = (name: string, work: SharedWork, intervalMs = SECOND_MS, rest = 0): Sweep =>
      new Sweep(name, work, clock, intervalMs, rest);
    this.#sweeps = {
      orders: sweep('orders', orders),
      credits: sweep('credits', credits),
      available: sweep('available', new DateEvents('available', unitOfWork, clock), 30 * SECOND_MS, REST),
      expiring: sweep('expiring', new DateEvents('expiring', unitOfWork, clock), 30 * SECOND_MS, REST),
      retention: sweep('retention', retention, MINUTE_MS, REST),
      events: sweep('events', sequencer),
      webhooks: sweep('webhooks', deliveries),
      secrets: sweep('secrets', secrets, HOUR_MS),
      operator_grants: sweep('operator_grants', operatorGrants, MINUTE_MS),
    };
    events.subscribe((event) => {
      if (isFeedEvent(event)) this.#sweeps.events.wake();
      if (event.type === 'feed.advanced') this.#sweeps.webhooks.wake();
    });
  }

  /** How long orders and credits that are due may have waited for this instance, in seconds. */
  get expiryLag(): { orders: number; credits: number } {
    return { orders: this.#sweeps.orders.lagSeconds, credits: this.#sweeps.credits.lagSeconds };
  }

  /** How long dates that are due may have waited for their events, in seconds. */
  get dayLag(): { available: number; expiring: number } {
    return { available: this.#sweeps.available.lagSeconds, expiring: this.#sweeps.expiring.lagSeconds };
  }

  /** Works until the shutdown. */
  start(): void {
    const { signal } = this.#stopped;
    this.#running = Promise.all(Object.values(this.#sweeps).map((sweep) => sweep.run(signal)));
  }

  async doAll(): Promise<void> {
    for (const sweep of Object.values(this.#sweeps)) await sweep.doAll();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await this.deliveries.stop();
  }
}
