import { Injectable } from '@nestjs/common';
import { type NextFunction, type Response } from 'express';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { lockConflicts } from '../database/errors.js';
import { type AppRequest } from '../http/app-request.js';
import { type DomainEvent } from '../values/domain-event.js';
import { type Problem } from '../values/problem.js';

export const CENTS_IN_BRL = 100;

/** The movements of cashback that are counted, by the kind of their ledger entries. */
const MOVEMENTS = {
  earn: 'earned',
  grant: 'granted',
  redeem: 'redeemed',
  return: 'returned',
  take_back: 'taken_back',
  void: 'voided',
  expire: 'expired',
} as const;

/** The service's Prometheus metrics, including the defaults of prom-client such as event-loop lag and memory. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  readonly #requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of requests by method, route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });

  readonly #refusals = this.#counter('problems_total', 'Problem responses by code', 'code');

  readonly #ofMerchants = this.#counter(
    'merchant_requests_total',
    'Requests with a valid token by merchant and outcome: ok, refused (4xx) or failed (5xx)',
    'merchant_id',
    'outcome',
  );

  readonly #malformed = this.#counter(
    'http_refused_connections_total',
    'Connections closed with a problem because the request could not be parsed or took too long, by code',
    'code',
  );

  readonly #orders = this.#counter(
    'orders_total',
    'Events of orders by type, such as created, replayed and completed',
    'event',
  );

  readonly #cashback = this.#counter(
    'cashback_brl_total',
    'Cashback moved by committed use cases, in BRL, by event, such as earned, granted and expired',
    'event',
  );

  readonly #attempts = this.#counter(
    'webhook_attempts_total',
    'Attempts to send an event or a batch: delivered, failed, or disabled if the endpoint was disabled for it',
    'result',
  );

  readonly #thefts = this.#counter(
    'session_thefts_detected_total',
    'Sessions that were revoked because a refresh token was used again after its retry window',
  );

  readonly #lockouts = this.#counter(
    'login_lockouts_total',
    'Lockouts after too many failed logins, by limit: login (a user from a network), login-network or login-user',
    'limit',
  );

  readonly rateLimitStoreFailures = this.#counter(
    'rate_limit_store_failures_total',
    'Redis failures of the rate limiter; while they increase, the instance counts its own requests',
  );

  readonly databaseRetries = this.#counter(
    'database_retries_total',
    'Use cases retried after a conflict with another transaction, by reason',
    'reason',
  );

  readonly statementKeys = new Histogram({
    name: 'database_batch_keys',
    help: 'Requests that shared a statement, by kind of statement; the count is the number of statements',
    labelNames: ['kind'],
    buckets: [1, 2, 5, 10, 20, 50, 100, 200],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // A counter that starts with its first conflict, movement or attempt would not show that one as an increase.
    for (const reason of lockConflicts()) this.databaseRetries.inc({ reason }, 0);
    for (const event of Object.values(MOVEMENTS)) this.#cashback.inc({ event }, 0);
    for (const result of ['delivered', 'failed', 'disabled']) this.#attempts.inc({ result }, 0);
    for (const limit of ['login', 'login-network', 'login-user']) this.#lockouts.inc({ limit }, 0);
  }

  /** Adds a gauge of several states, which are measured each time the metrics are read. */
  gauge(name: string, help: string, measure: () => Record<string, number>): void {
    new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers: [this.registry],
      collect() {
        for (const [state, figure] of Object.entries(measure())) this.set({ state }, figure);
      },
    });
  }

  figure(name: string, help: string, measure: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(measure());
      },
    });
  }

  #counter(name: string, help: string, ...labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  count(event: DomainEvent): void {
    const [subject, name] = event.type.split('.') as [string, string];
    if (subject === 'order') this.#orders.inc({ event: name });
    if (event.type === 'session.theft_detected') this.#thefts.inc();
    if (event.type === 'login.locked_out') this.#lockouts.inc({ limit: event.limit });
    if (event.type === 'webhook.attempted') this.#attempts.inc({ result: event.result });
    if (event.type !== 'cashback.moved') return;
    for (const [kind, movement] of Object.entries(MOVEMENTS))
      this.#cashback.inc({ event: movement }, (event.centsByKind[kind] ?? 0) / CENTS_IN_BRL);
  }

  /** Counts a connection whose request could not be parsed. It has no route and no duration. */
  refusedBelowHttp({ code }: Problem): void {
    this.#refusals.inc({ code });
    this.#malformed.inc({ code });
  }

  /** Measures every request by its route's pattern, not by its path, which would be a label per order. */
  observeRequests(): (request: AppRequest, response: Response, next: NextFunction) => void {
    return (request, response, next) => {
      const end = this.#requests.startTimer();
      response.once('finish', () => {
        end({ method: request.method, route: request.route?.path ?? 'none', status: response.statusCode });
        if (request.user !== undefined) this.#countFor(request.user.merchantId, response.statusCode);
        const code = response.locals.problemCode as Problem['code'] | undefined;
        if (code !== undefined) this.#refusals.inc({ code });
      });
      next();
    };
  }

  /** Only a valid token names a merchant, so nobody can add series. All outcomes start at 0, so that each can rise. */
  #countFor(merchant_id: string, status: number): void {
    const outcome = status < 400 ? 'ok' : status < 500 ? 'refused' : 'failed';
    for (const each of ['ok', 'refused', 'failed'])
      this.#ofMerchants.inc({ merchant_id, outcome: each }, each === outcome ? 1 : 0);
  }
}
