import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreditExpiryService } from '../cashback/credit-expiry.service.js';
import { DateEvents } from '../events/date-events.js';
import { RetentionService } from '../events/retention.service.js';
import { SequencerService } from '../events/sequencer.service.js';
import { DeliveryService } from '../events/webhook-delivery.service.js';
import { WebhookSecrets } from '../events/webhook-secrets.js';
import { OrderExpiryService } from '../orders/order-expiry.service.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { DatabaseServer } from '../platform/database/database-server.js';
import { SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { CENTS_IN_BRL, Metrics } from '../platform/observe/metrics.js';
import { OPERATOR } from '../platform/values/caller.js';
import { DomainEvents, isFeedEvent } from '../platform/values/domain-event.js';
import { newId } from '../platform/values/ids.js';
import { after, Clock, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/values/time.js';
import { SumsService } from '../reports/sums.service.js';

/** A pause lasts at least this long, so that work arriving meanwhile is done together. */
const GATHER_MS = 200;

/** Such sweeps work a quarter of the time, so that orders do not wait. */
const REST = 3;

/**
 * Runs a task regularly, and without a pause while there is more. A task that can wait rests `rest` times as long as it
 * worked. On a machine whose clock is wrong, nothing runs.
 */
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
    private readonly server: DatabaseServer,
    private readonly intervalMs: number,
    private readonly rest: number,
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
      if (await this.#tryTask()) await sleep(this.rest * (performance.now() - startedAt));
      else await this.#pause();
    }
  }

  wake(): void {
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#endPause();
  }

  async #pause(): Promise<void> {
    await sleep(GATHER_MS);
    const pause = new AbortController();
    this.#endPause = () => pause.abort();
    // Instances do not stay in step.
    const pauseMs = this.#isWoken ? 0 : this.intervalMs * (0.75 + Math.random() / 2) - GATHER_MS;
    await sleep(pauseMs, undefined, { signal: pause.signal }).catch(() => undefined);
    this.#isWoken = false;
  }

  /** @returns whether there is more. */
  async #runTask(): Promise<boolean> {
    await this.server.check();
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

/**
 * IDs begin with the time, so the latest grants are a range of the primary key. Those of a sandbox's clock that stands
 * ahead are later than now.
 */
const GRANTED = `/* ${ALL_MERCHANTS} */
  SELECT COALESCE(SUM(c.amount_cents), 0) AS cents
    FROM cashback_grants g JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
   WHERE g.credit_id > ? AND g.credit_id < ? AND g.created_by = '${OPERATOR}'`;

/** Adds up what operators granted. The command line is a process of its own, whose metrics nobody reads. */
@Injectable()
export class OperatorGrantsService implements SweepTask {
  /** What they granted within an hour before this instance last looked, in centavos. */
  cents = 0;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async run(): Promise<SweepProgress> {
    const now = this.clock.now();
    const period = [-HOUR_MS, MINUTE_MS].map((ms) => newId(after(now, ms)));
    const [row] = await this.unitOfWork.statement((manager) => manager.query<{ cents: string }[]>(GRANTED, period));
    this.cents = Number(row?.cents);
    return { hasMore: false };
  }
}

/** Does what no request asks for: what happens by date, the feeds of events, and webhooks. Every instance does so. */
@Injectable()
export class SweepsService implements BeforeApplicationShutdown {
  /** Those that record events come before the one that numbers them, and that before the one that sends them. */
  readonly #sweeps;
  readonly #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    orders: OrderExpiryService,
    credits: CreditExpiryService,
    private readonly sequencer: SequencerService,
    retention: RetentionService,
    private readonly deliveries: DeliveryService,
    secrets: WebhookSecrets,
    private readonly operatorGrants: OperatorGrantsService,
    ledgerSums: SumsService,
    unitOfWork: UnitOfWork,
    events: DomainEvents,
    metrics: Metrics,
    clock: Clock,
    server: DatabaseServer,
  ) {
    const sweep = (name: string, task: SweepTask, intervalMs = SECOND_MS, rest = 0): Sweep =>
      new Sweep(name, task, clock, server, intervalMs, rest);
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
      ledger_sums: sweep('ledger_sums', ledgerSums, MINUTE_MS, REST),
    };
    events.subscribe((event) => {
      if (isFeedEvent(event)) this.#sweeps.events.wake();
      if (event.type === 'feed.advanced') this.#sweeps.webhooks.wake();
    });
    this.#publish(metrics);
  }

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

  #publish(metrics: Metrics): void {
    const { orders, credits, available, expiring, ledger_sums } = this.#sweeps;
    metrics.gauge(
      'expiry_lag_seconds',
      'How long orders and credits that are due may have waited for this instance to expire them',
      () => ({ orders: orders.lagSeconds, credits: credits.lagSeconds }),
    );
    metrics.gauge(
      'day_sweep_behind_seconds',
      'How long dates of cashback may have waited for this instance to announce them, and days to be added up',
      () => ({
        available: available.lagSeconds,
        expiring: expiring.lagSeconds,
        ledger_sums: ledger_sums.lagSeconds,
      }),
    );
    metrics.figure(
      'events_lag_seconds',
      'How long the oldest event had waited for its number when this instance last looked',
      () => this.sequencer.lagSeconds,
    );
    metrics.figure(
      'event_outbox_rows',
      'Events that waited for their number when this instance last looked, up to 10,000',
      () => this.sequencer.waiting,
    );
    metrics.figure(
      'webhook_behind_events',
      'Events that active webhook endpoints were behind their feeds when this instance last looked',
      () => this.deliveries.behind,
    );
    metrics.figure(
      'operator_grants_brl',
      'Cashback in BRL that operators granted with the command line within an hour before this instance last looked',
      () => this.operatorGrants.cents / CENTS_IN_BRL,
    );
  }
}
