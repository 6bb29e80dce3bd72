import { Logger } from '@nestjs/common';
import { after, type Clock, MINUTE_MS, SECOND_MS } from '../common/clock.js';
import { Problem } from '../common/problem.js';
import type { UnitOfWork } from '../database/unit-of-work.js';
import type { EventDto } from '../events/dto/event.dto.js';
import type { EventsService } from '../events/events.service.js';
import type { Channel, Sent } from './channel.js';
import { afterFailure } from './schedule.js';
import { WebhookEndpoint } from './webhook-endpoint.entity.js';

export type LeasedEndpoint = WebhookEndpoint & { lease: string };

/** Another instance takes over an endpoint after this time without progress. */
export const LEASE_MS = MINUTE_MS;

/** An endpoint that is far behind lets others have their turn after this time. */
const TURN_MS = 30 * SECOND_MS;

const ATTEMPT_MS = 15 * SECOND_MS;

/** The events that are read at a time, and how long they may wait: a customer may be erased meanwhile. */
const PAGE = 50;
const FRESH_MS = 5 * SECOND_MS;

/** Delivers to an endpoint that this instance has leased: sends the events after its cursor, one after another. */
export class Delivery {
  readonly #log = new Logger('Webhooks');
  #isStopped = false;

  constructor(
    private readonly endpoint: LeasedEndpoint,
    private readonly channel: Channel,
    private readonly unitOfWork: UnitOfWork,
    private readonly events: EventsService,
    private readonly clock: Clock,
  ) {}

  /** Sends until the endpoint has all events, an attempt fails, the lease is lost, or the turn is over. */
  async run(): Promise<void> {
    const endOfTurn = after(this.clock.now(), TURN_MS);
    try {
      while ((await this.#sendPage()) && this.clock.now() < endOfTurn);
    } finally {
      this.channel.close();
      const now = this.clock.now();
      // After a failure the endpoint has no lease.
      await this.#save({ lease: null, leasedUntil: now, nextAttemptAt: now });
    }
  }

  /** Stops now. What is being sent is not counted as a failure. */
  stop(): void {
    this.#isStopped = true;
    this.channel.close();
  }

  /** @returns whether there is more to send. */
  async #sendPage(): Promise<boolean> {
    const staleAt = after(this.clock.now(), FRESH_MS);
    const { merchantId, types } = this.endpoint;
    const position = { after: this.endpoint.cursor, limit: PAGE, types: types ?? undefined };
    const page = await this.events.list(merchantId, position).catch((error: unknown) => this.#noteExpired(error));
    if (page === undefined) return false;
    for (const event of page.data) {
      if (this.#isStopped) return false;
      if (this.clock.now() > staleAt) return true;
      if (!(await this.#send(event))) return false;
    }
    // Events of other types are passed over.
    if (page.next_after > this.endpoint.cursor && !(await this.#advance(page.next_after))) return false;
    // Events that came meanwhile follow at once.
    return page.has_more || page.data.length > 0;
  }

  /** @returns whether the event was accepted, and the endpoint is still leased. */
  async #send(event: EventDto): Promise<boolean> {
    const sent = await this.channel.send(event, this.clock.now(), ATTEMPT_MS);
    const { status } = sent.attempt;
    if (status !== null && status >= 200 && status <= 299) return this.#advance(event.sequence, sent);
    if (!this.#isStopped) await this.#noteFailure(sent);
    return false;
  }

  /** Events that are no longer kept cannot be sent: the merchant decides where to go on. */
  async #noteExpired(error: unknown): Promise<undefined> {
    if (!(error instanceof Problem) || error.code !== 'events_expired') throw error;
    const at = this.clock.now().toISOString();
    const attempt = { at, event_id: null, status: null, error: error.message, duration_ms: 0, response: null };
    await this.#noteFailure({ attempt, retryAfterMs: 0 });
  }

  #advance(sequence: number, sent?: Sent): Promise<boolean> {
    const now = this.clock.now();
    Object.assign(this.endpoint, { cursor: sequence, ...(sent && { failures: 0, failingSince: null }) });
    const { failures, failingSince } = this.endpoint;
    const changed = { cursor: sequence, failures, failingSince, leasedUntil: after(now, LEASE_MS) };
    return this.#save({ ...changed, ...(sent && { lastAttempt: sent.attempt }) }, sent && 'delivered');
  }

  async #noteFailure(sent: Sent): Promise<void> {
    const now = this.clock.now();
    const failed = afterFailure(this.endpoint, sent, now);
    const isDisabled = failed.status === 'disabled';
    const changed = { ...failed, lastAttempt: sent.attempt, lease: null, leasedUntil: now };
    if (!(await this.#save(changed, isDisabled ? 'disabled' : 'failed')) || !isDisabled) return;
    const { id: endpoint_id, merchantId: merchant_id } = this.endpoint;
    this.#log.warn({ event: 'webhook_endpoint_disabled', endpoint_id, merchant_id, status: sent.attempt.status });
  }

  /** @returns false if the lease is lost: then nothing changes. */
  #save(changed: Partial<WebhookEndpoint>, result?: 'delivered' | 'failed' | 'disabled'): Promise<boolean> {
    const { id, merchantId, lease } = this.endpoint;
    return this.unitOfWork.statement(async (manager, record) => {
      if (result !== undefined) record({ type: 'webhook.attempted', merchantId, endpointId: id, result });
      const { affected } = await manager.update(WebhookEndpoint, { id, merchantId, lease }, changed);
      return affected === 1;
    });
  }
}
