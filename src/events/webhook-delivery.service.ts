import { Injectable, Logger } from '@nestjs/common';
import dns from 'node:dns';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { BlockList, isIPv6, type LookupFunction } from 'node:net';
import { useAgent } from 'request-filtering-agent';
import { type Webhook } from 'standardwebhooks';
import { LessThanOrEqual } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/values/ids.js';
import { Problem } from '../platform/values/problem.js';
import { after, Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/values/time.js';
import { WebhookEndpoint } from './event.entity.js';
import { EventsService, firstThatFit } from './events.service.js';
import { type WebhookAttemptDto } from './webhook-endpoint.dto.js';
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
      const events = firstThatFit(waiting.slice(0, batch));
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

/** How much of a response is read, and how much of that is stored. */
const READ_BYTES = 16 * 1024;
const STORED_BYTES = 1024;

/** What the agent takes for public: IPv4 in the first form of IPv6, and the host of virtual machines at Azure. */
const NOT_PUBLIC = new BlockList();
NOT_PUBLIC.addSubnet('::', 96, 'ipv6');
NOT_PUBLIC.addAddress('168.63.129.16');

/** Resolves a name, as the agent does. */
const lookUp: LookupFunction = (host, options, done) =>
  dns.lookup(host, options, (error, found, family) => {
    const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
    const isRefused = addresses.some((one) => NOT_PUBLIC.check(one, isIPv6(one) ? 'ipv6' : 'ipv4'));
    done(isRefused ? new Error(`${host} is not allowed`) : error, found, family);
  });

/** An attempt, and how long the receiver asks to wait. */
export interface Sent {
  attempt: WebhookAttemptDto;
  retryAfterMs: number;
}

/** Sends events to an endpoint's URL, one request after another over one connection. */
class Channel {
  readonly #url: URL;
  readonly #agent: http.Agent;

  /** @param allowsPrivate whether it may connect to an address that is not public, whatever the name resolves to. */
  constructor(
    private readonly endpoint: { url: string; batch: number },
    private readonly signers: readonly Webhook[],
    allowsPrivate: boolean,
  ) {
    this.#url = new URL(endpoint.url);
    const allowed = { allowPrivateIPAddress: allowsPrivate, allowMetaIPAddress: allowsPrivate };
    const lookup = allowsPrivate ? dns.lookup : lookUp;
    this.#agent = useAgent(endpoint.url, { keepAlive: true, maxSockets: 1, lookup, ...allowed });
  }

  /**
   * Sends events in one request, signed (Standard Webhooks) with the ID of the last one. It never throws: what fails is
   * the outcome of the attempt.
   */
  async send(events: readonly { id: string }[], now: Date, timeoutMs: number): Promise<Sent> {
    const startedAt = performance.now();
    const { id } = events.at(-1)!;
    const body = JSON.stringify(this.endpoint.batch > 1 ? { data: events } : events[0]);
    const outcome = await this.#post(id, body, now, timeoutMs).catch((error: unknown) => {
      return { status: null, error: messageOf(error, timeoutMs), response: null, retryAfterMs: 0 };
    });
    const { retryAfterMs, status, error, response } = outcome;
    const duration_ms = Math.round(performance.now() - startedAt);
    return {
      attempt: { at: now.toISOString(), event_id: id, status, error, duration_ms, response },
      retryAfterMs,
    };
  }

  /** Closes the connection. What is being sent fails. */
  close(): void {
    this.#agent.destroy();
  }

  async #post(id: string, body: string, now: Date, timeoutMs: number) {
    if (this.signers.length === 0) throw new Error('the secret of the endpoint cannot be read: rotate it');
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'cashback-order-service',
      'webhook-id': id,
      'webhook-timestamp': Math.floor(+now / SECOND_MS),
      'webhook-signature': this.signers.map((signer) => signer.sign(id, now, body)).join(' '),
    };
    const response = await this.#respond(headers, body, AbortSignal.timeout(timeoutMs));
    const { statusCode: status = null, headers: answered } = response;
    const retryAfterMs = retryAfter(answered['retry-after'], now);
    return { status, error: null, response: await beginningOf(response), retryAfterMs };
  }

  /**
   * Resolves to the head of the response. A receiver may close a connection just when it is used again: then the
   * request goes over a new one, as https://nodejs.org/api/http.html#requestreusedsocket says.
   */
  async #respond(headers: http.OutgoingHttpHeaders, body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { request } = this.#url.protocol === 'https:' ? https : http;
    const sending = request(this.#url, { method: 'POST', agent: this.#agent, headers, signal }).end(body);
    // After the head of the response, an error only ends the reading of the body.
    sending.on('error', () => undefined);
    try {
      // The signal also ends the waiting for a response that switches protocols, which closes without an error.
      const [response] = (await once(sending, 'response', { signal })) as [IncomingMessage];
      return response;
    } catch (error) {
      if (sending.reusedSocket && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return this.#respond(headers, body, signal);
      throw error;
    }
  }
}

/** Reads what is stored of a response. Its status counts, also if the rest does not arrive. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  let body = Buffer.alloc(0);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      body = Buffer.concat([body, chunk]);
      if (body.length >= READ_BYTES) break;
    }
  } catch {
    // The connection broke, or the time is over.
  }
  return body.subarray(0, STORED_BYTES).toString();
}

/** Reads Retry-After (RFC 9110, section 10.2.3): seconds or a date. */
function retryAfter(value: string | undefined, now: Date): number {
  if (value === undefined) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * SECOND_MS : Date.parse(value) - +now;
  return Math.max(0, ms || 0);
}

/** What the merchant reads: not to which private address a name resolves, nor which names exist. */
function messageOf(error: unknown, timeoutMs: number): string {
  const { name, message, syscall } = error as NodeJS.ErrnoException;
  if (name === 'AbortError') return `no response within ${timeoutMs} ms`;
  if (syscall === 'getaddrinfo' || message.includes('is not allowed'))
    return 'the host name has no address, or one that is not public';
  // A failed connection to several addresses has no message of its own.
  return (error instanceof AggregateError ? (error.errors[0] as Error).message : message).slice(0, STORED_BYTES);
}
