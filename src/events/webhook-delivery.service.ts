import { Injectable, Logger } from '@nestjs/common';
import { LessThanOrEqual } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/values/ids.js';
import { Problem } from '../platform/values/problem.js';
import { after, Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/values/time.js';
import { WebhookEndpoint } from './event.entity.js';
import { EventsService, firstMebibyte } from './events.service.js';
import { Channel, type Sent } from './webhook-channel.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** The endpoints to which an instance delivers at a time, and how many that are behind their feeds are looked at. */
const AT_ONCE = 50;
const MAX_BEHIND = 1000;

/** Another instance takes over an endpoint after this time without progress. */
const LEASE_MS = MINUTE_MS;

/** An endpoint that is far behind lets others have their turn after this time. */
const TURN_MS = 30 * SECOND_MS;

const ATTEMPT_MS = 15 * SECOND_MS;

/** The pauses after the first failures. Later ones last an hour. */
const PAUSES_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS];

/** Pauses differ by up to this part, so that the endpoints of a receiver that was down do not stay in step. */
const JITTER = 0.2;

/** An endpoint is disabled when its attempts have failed for this long. */
const GIVE_UP_AFTER_MS = 3 * DAY_MS;

/** The status by which a receiver says that it wants no more events. */
const GONE = 410;

/** The events that are read at a time, at most, and how long they may wait: a customer may be erased meanwhile. */
const PAGE = 100;
const FRESH_MS = 5 * SECOND_MS;

const BEHIND = `/* ${ALL_MERCHANTS} */
  SELECT e.id, e.merchant_id AS merchantId, f.last_sequence - e.cursor AS events,
         e.next_attempt_at <= ? AND e.leased_until <= ? AS isDue
    FROM webhook_endpoints e JOIN event_feeds f ON f.merchant_id = e.merchant_id
   WHERE e.status = 'active' AND e.cursor < f.last_sequence
   ORDER BY e.next_attempt_at LIMIT ${MAX_BEHIND}`;

type Behind = Pick<WebhookEndpoint, 'id' | 'merchantId'> & Record<'events' | 'isDue', string | number>;

type Leased = WebhookEndpoint & { lease: string };

/** Sends to endpoints the events after their cursors, in order, one request after another. Every instance does so. */
@Injectable()
export class DeliveryService implements SweepTask {
  readonly #log = new Logger('Webhooks');
  /** The connections to the endpoints that this instance has leased. */
  readonly #running = new Map<Channel, Promise<void>>();
  #isStopped = false;
  /** The events that active endpoints were behind their feeds when this instance last looked. */
  behind = 0;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly events: EventsService,
    private readonly secrets: WebhookSecrets,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** Begins to deliver to endpoints that are due, the one that has waited longest first. */
  async run(): Promise<SweepProgress> {
    const now = this.clock.now();
    const behind = await this.unitOfWork.statement((manager) => manager.query<Behind[]>(BEHIND, [now, now]));
    this.behind = behind.reduce((sum, { events }) => sum + Number(events), 0);
    const due = behind.filter(({ isDue }) => Number(isDue) === 1);
    for (const endpoint of due.slice(0, AT_ONCE - this.#running.size)) {
      const leased = await this.#lease(endpoint, now);
      if (leased !== null) this.#start(leased);
    }
    return { hasMore: false };
  }

  /** Resolves when this instance delivers nothing. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Stops at once. What is being sent may arrive a second time, from another instance. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const channel of this.#running.keys()) channel.close();
    await this.settled();
  }

  /** Opens a connection to an endpoint. The caller closes it. */
  open(endpoint: WebhookEndpoint): Channel {
    return new Channel(endpoint, this.secrets.signersOf(endpoint), this.config.WEBHOOK_ALLOW_PRIVATE);
  }

  /** @returns null if another instance has it. */
  #lease({ id, merchantId }: Behind, now: Date): Promise<Leased | null> {
    const lease = newId(now);
    const isDue = { status: 'active', nextAttemptAt: LessThanOrEqual(now), leasedUntil: LessThanOrEqual(now) } as const;
    return this.unitOfWork.statement(async (manager) => {
      const leased = { lease, leasedUntil: after(now, LEASE_MS) };
      await manager.update(WebhookEndpoint, { id, merchantId, ...isDue }, leased);
      const found = await manager.findOneBy(WebhookEndpoint, { id, merchantId, lease });
      return found && { ...found, lease };
    });
  }

  #start(endpoint: Leased): void {
    const channel = this.open(endpoint);
    const running = this.#deliver(endpoint, channel)
      .catch((err: unknown) => this.#log.warn({ event: 'webhook_delivery_failed', endpoint_id: endpoint.id, err }))
      .finally(() => this.#running.delete(channel));
    this.#running.set(channel, running);
  }

  /** Sends until the endpoint has all events, an attempt fails, the lease is lost, or the turn is over. */
  async #deliver(endpoint: Leased, channel: Channel): Promise<void> {
    const endOfTurn = after(this.clock.now(), TURN_MS);
    try {
      while ((await this.#sendPage(endpoint, channel)) && this.clock.now() < endOfTurn);
    } finally {
      channel.close();
      const now = this.clock.now();
      // After a failure the endpoint has no lease.
      await this.#save(endpoint, { lease: null, leasedUntil: now, nextAttemptAt: now });
    }
  }

  /** @returns whether there is more to send. */
  async #sendPage(endpoint: Leased, channel: Channel): Promise<boolean> {
    const staleAt = after(this.clock.now(), FRESH_MS);
    const { merchantId, types, batch } = endpoint;
    // Whole batches, so that a page does not end with a small one.
    const limit = PAGE - (PAGE % batch);
    const position = { after: endpoint.cursor, limit, types: types ?? undefined };
    const page = await this.events
      .read(merchantId, position)
      .catch((error: unknown) => this.#noteExpired(endpoint, error));
    if (page === undefined) return false;
    for (let waiting = page.data; waiting.length > 0;) {
      if (this.#isStopped) return false;
      if (this.clock.now() > staleAt) return true;
      const events = firstMebibyte(waiting.slice(0, batch));
      // A page of large orders is short: what would be a small batch is read again, with what follows.
      const isSmall = events.length === waiting.length && events.length < batch;
      if (isSmall && page.has_more && waiting !== page.data) return true;
      waiting = waiting.slice(events.length);
      const sent = await channel.send(events, this.clock.now(), ATTEMPT_MS);
      const { status } = sent.attempt;
      const isAccepted = status !== null && status >= 200 && status <= 299;
      if (!isAccepted) return this.#noteFailure(endpoint, sent);
      if (!(await this.#advance(endpoint, events.at(-1)!.sequence, sent))) return false;
    }
    // Events of other types are passed over.
    if (page.next_after > endpoint.cursor && !(await this.#advance(endpoint, page.next_after))) return false;
    // Events that came meanwhile follow at once.
    return page.has_more || page.data.length > 0;
  }

  /** Events that are no longer kept cannot be sent: the merchant decides where to go on. */
  async #noteExpired(endpoint: Leased, error: unknown): Promise<undefined> {
    if (!(error instanceof Problem) || error.code !== 'events_expired') throw error;
    const at = this.clock.now().toISOString();
    const attempt = { at, event_id: null, status: null, error: error.message, duration_ms: 0, response: null };
    await this.#noteFailure(endpoint, { attempt, retryAfterMs: 0 });
  }

  /** @returns whether the endpoint is still leased. */
  #advance(endpoint: Leased, cursor: number, sent?: Sent): Promise<boolean> {
    const accepted = sent && { failures: 0, failingSince: null, lastAttempt: sent.attempt };
    const changed = { cursor, ...accepted, leasedUntil: after(this.clock.now(), LEASE_MS) };
    Object.assign(endpoint, changed);
    return this.#save(endpoint, changed, sent && 'delivered');
  }

  /** What an instance did not finish before its end is no failure. */
  async #noteFailure(endpoint: Leased, sent: Sent): Promise<false> {
    if (this.#isStopped) return false;
    const now = this.clock.now();
    const { id: endpoint_id, merchantId: merchant_id, failures, failingSince } = endpoint;
    const { attempt, retryAfterMs } = sent;
    const since = failingSince ?? now;
    const isOver = attempt.status === GONE || +now - +since >= GIVE_UP_AFTER_MS;
    const pauseMs = (PAUSES_MS[failures] ?? HOUR_MS) * (1 - JITTER + 2 * JITTER * Math.random());
    const changed = {
      status: isOver ? ('disabled' as const) : ('active' as const),
      failures: failures + 1,
      failingSince: since,
      nextAttemptAt: after(now, Math.max(pauseMs, Math.min(retryAfterMs, HOUR_MS))),
      lastAttempt: attempt,
      lease: null,
      leasedUntil: now,
    };
    const isSaved = await this.#save(endpoint, changed, isOver ? 'disabled' : 'failed');
    if (isSaved && isOver)
      this.#log.warn({ event: 'webhook_endpoint_disabled', endpoint_id, merchant_id, status: attempt.status });
    return false;
  }

  /** @param result of the attempt, if there was one. @returns false if the lease is lost: then nothing changes. */
  #save(
    { id, merchantId, lease }: Leased,
    changed: Partial<WebhookEndpoint>,
    result?: 'delivered' | 'failed' | 'disabled',
  ): Promise<boolean> {
    return this.unitOfWork.statement(async (manager, record) => {
      if (result !== undefined) record({ type: 'webhook.attempted', result });
      const { affected } = await manager.update(WebhookEndpoint, { id, merchantId, lease }, changed);
      return affected === 1;
    });
  }
}
