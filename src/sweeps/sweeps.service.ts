import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { CreditExpiryService } from '../cashback/credit-expiry.service.js';
import { OperatorGrantsService } from '../cashback/operator-grants.service.js';
import { Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../common/clock.js';
import { DomainEvents, isFeedEvent } from '../common/domain-event.js';
import type { SweepTask } from '../common/sweep.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { DateEvents } from '../events/date-events.js';
import { RetentionService } from '../events/retention.service.js';
import { SequencerService } from '../events/sequencer.service.js';
import { OrderExpiryService } from '../orders/order-expiry.service.js';
import { DeliveryService } from '../webhooks/delivery.service.js';
import { WebhookSecrets } from '../webhooks/webhook-secrets.js';

/** After a wake-up, wait this long, so that events arriving together are numbered together. */
const GATHER_MS = 200;

/** Such sweeps work a quarter of the time, so that orders do not wait. */
const IN_BACKGROUND = { rest: 3 };

interface Pace {
  /** The pause after all has been done. */
  intervalMs?: number;
  /** How long a wake-up waits for others. */
  gatherMs?: number;
  /** How many times as long as it worked a sweep rests before it goes on. */
  rest?: number;
}

/** Runs a task regularly, and without a pause while there is more. */
class Sweep {
  readonly #log = new Logger('Sweep');
  #doneUntil: Date;
  #isFailing = false;
  #isWoken = false;
  #endPause: () => void = () => undefined;

  constructor(
    private readonly name: string,
    private readonly task: SweepTask,
    private readonly clock: Clock,
    private readonly pace: Pace,
  ) {
    this.#doneUntil = clock.now();
  }

  /** How long work that is due may have waited for this instance. */
  get lagSeconds(): number {
    return Math.max(0, (this.clock.now().getTime() - this.#doneUntil.getTime()) / SECOND_MS);
  }

  async doAll(): Promise<void> {
    while (await this.#runTask());
  }

  /** Works until the signal. What fails is logged once and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake(), { once: true });
    while (!signal.aborted) {
      const startedAt = performance.now();
      if (await this.#tryTask()) await sleep((this.pace.rest ?? 0) * (performance.now() - startedAt));
      else await this.#pause();
    }
  }

  /** Ends the pause: there is work. */
  wake(): void {
    this.#isWoken = true;
    this.#endPause();
  }

  async #pause(): Promise<void> {
    const { intervalMs = SECOND_MS, gatherMs = 0 } = this.pace;
    const pause = new AbortController();
    this.#endPause = () => pause.abort();
    // Instances do not stay in step.
    const pauseMs = this.#isWoken ? 0 : intervalMs * (0.75 + Math.random() / 2);
    await sleep(pauseMs, undefined, { signal: pause.signal }).catch(() => undefined);
    if (this.#isWoken) await sleep(gatherMs);
    this.#isWoken = false;
  }

  /** @returns whether there is more. */
  async #runTask(): Promise<boolean> {
    const now = this.clock.now();
    const { hasMore, doneUntil = now } = await this.task.run();
    this.#doneUntil = doneUntil;
    return hasMore;
  }

  async #tryTask(): Promise<boolean> {
    try {
      const hasMore = await this.#runTask();
      this.#isFailing = false;
      return hasMore;
    } catch (err) {
      if (!this.#isFailing) this.#log.warn({ event: 'sweep_failed', sweep: this.name, err }, 'will be tried again');
      this.#isFailing = true;
      return false;
    }
  }
}

type SweepName =
  'orders' | 'credits' | 'available' | 'expiring' | 'retention' | 'events' | 'webhooks' | 'secrets' | 'operator_grants';

/** Does what no request asks for: what happens by date, the feeds of events, and webhooks. Every instance does so. */
@Injectable()
export class SweepsService implements BeforeApplicationShutdown {
  /** Those that record events come before the one that numbers them, and that before the one that sends them. */
  readonly #sweeps: Record<SweepName, Sweep>;
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
    const sweep = (name: SweepName, task: SweepTask, pace: Pace = {}): Sweep => new Sweep(name, task, clock, pace);
    const announced = { intervalMs: 30 * SECOND_MS, ...IN_BACKGROUND };
    this.#sweeps = {
      orders: sweep('orders', orders),
      credits: sweep('credits', credits),
      available: sweep('available', new DateEvents('available', unitOfWork, clock), announced),
      expiring: sweep('expiring', new DateEvents('expiring', unitOfWork, clock), announced),
      retention: sweep('retention', retention, { intervalMs: MINUTE_MS, ...IN_BACKGROUND }),
      events: sweep('events', sequencer, { gatherMs: GATHER_MS }),
      webhooks: sweep('webhooks', deliveries),
      secrets: sweep('secrets', secrets, { intervalMs: HOUR_MS }),
      operator_grants: sweep('operator_grants', operatorGrants, { intervalMs: MINUTE_MS }),
    };
    events.subscribe((event) => {
      if (isFeedEvent(event)) this.#sweeps.events.wake();
      if (event.type === 'feed.advanced') this.#sweeps.webhooks.wake();
    });
  }

  /** How long what is due may have waited for this instance, in seconds, by sweep. */
  lagsOf(...names: SweepName[]): Record<string, number> {
    return Object.fromEntries(names.map((name) => [name, this.#sweeps[name].lagSeconds]));
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
