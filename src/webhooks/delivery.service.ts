import { Injectable, Logger } from '@nestjs/common';
import { LessThanOrEqual } from 'typeorm';
import { after, Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import type { SharedWork } from '../common/sweep.js';
import { Config } from '../config/config.js';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { EventsService } from '../events/events.service.js';
import { Channel } from './channel.js';
import { Delivery, LEASE_MS, type LeasedEndpoint } from './delivery.js';
import { WebhookEndpoint } from './webhook-endpoint.entity.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** The endpoints to which an instance delivers at a time. */
const AT_ONCE = 50;

/** How many endpoints that are behind their feeds are looked at. */
const MOST_BEHIND = 1000;

const BEHIND = `/* ${ALL_MERCHANTS} */
  SELECT e.id, e.merchant_id AS merchantId, f.last_sequence - e.cursor AS events,
         e.next_attempt_at <= ? AND e.leased_until <= ? AS isDue
    FROM webhook_endpoints e JOIN event_feeds f ON f.merchant_id = e.merchant_id
   WHERE e.status = 'active' AND e.cursor < f.last_sequence
   ORDER BY e.next_attempt_at LIMIT ${MOST_BEHIND}`;

interface Behind {
  id: string;
  merchantId: string;
  events: string | number;
  isDue: string | number;
}

/** Finds the endpoints that are behind their feeds, and delivers to them. Every instance does so. */
@Injectable()
export class DeliveryService implements SharedWork {
  readonly #log = new Logger('Webhooks');
  readonly #running = new Map<Delivery, Promise<void>>();
  #behind = 0;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly events: EventsService,
    private readonly secrets: WebhookSecrets,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /** The events that active endpoints were behind their feeds when this instance last looked. */
  get behind(): number {
    return this.#behind;
  }

  /** Begins to deliver to endpoints that are due, the one that has waited longest first. */
  async next(): Promise<Date> {
    const now = this.clock.now();
    const behind = await this.unitOfWork.statement((manager) => manager.query<Behind[]>(BEHIND, [now, now]));
    this.#behind = behind.reduce((sum, { events }) => sum + Number(events), 0);
    const due = behind.filter(({ isDue }) => Number(isDue) === 1);
    for (const endpoint of due.slice(0, AT_ONCE - this.#running.size)) {
      const claimed = await this.#claim(endpoint, now);
      if (claimed !== null) this.#start(claimed);
    }
    return now;
  }

  /** Resolves when this instance delivers nothing. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Stops at once. What is being sent may arrive a second time, from another instance. */
  async stop(): Promise<void> {
    for (const delivery of this.#running.keys()) delivery.stop();
    await this.settled();
  }

  /** Opens a connection to an endpoint. The caller closes it. */
  open(endpoint: WebhookEndpoint): Channel {
    return new Channel(endpoint.url, this.secrets.signersOf(endpoint), this.config.WEBHOOK_ALLOW_PRIVATE);
  }

  /** @returns null if another instance has it. */
  #claim({ id, merchantId }: Behind, now: Date): Promise<LeasedEndpoint | null> {
    const lease = newId(now);
    const isDue = { status: 'active', nextAttemptAt: LessThanOrEqual(now), leasedUntil: LessThanOrEqual(now) } as const;
    return this.unitOfWork.statement(async (manager) => {
      const leased = { lease, leasedUntil: after(now, LEASE_MS) };
      await manager.update(WebhookEndpoint, { id, merchantId, ...isDue }, leased);
      const claimed = await manager.findOneBy(WebhookEndpoint, { id, merchantId, lease });
      return claimed && { ...claimed, lease };
    });
  }

  #start(endpoint: LeasedEndpoint): void {
    const delivery = new Delivery(endpoint, this.open(endpoint), this.unitOfWork, this.events, this.clock);
    const running = delivery
      .run()
      .catch((err: unknown) => this.#log.warn({ event: 'webhook_delivery_failed', endpoint_id: endpoint.id, err }))
      .finally(() => this.#running.delete(delivery));
    this.#running.set(delivery, running);
  }
}
