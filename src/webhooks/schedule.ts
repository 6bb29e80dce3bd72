import { after, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../common/clock.js';
import type { Sent } from './channel.js';
import type { WebhookEndpoint } from './webhook-endpoint.entity.js';

/** The pauses after the first failures. Later ones last an hour. */
const PAUSES_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS];

/** Pauses differ by up to this part, so that the endpoints of a receiver that was down do not stay in step. */
const JITTER = 0.2;

/** An endpoint is disabled when its attempts have failed for this long. */
const GIVE_UP_AFTER_MS = 3 * DAY_MS;

/** The status by which a receiver says that it wants no more events. */
const GONE = 410;

/** Returns what a failed attempt changes of an endpoint: when it is tried again, or that it is not. */
export function afterFailure(endpoint: WebhookEndpoint, { attempt, retryAfterMs }: Sent, now: Date) {
  const { failures, failingSince } = endpoint;
  const since = failingSince ?? now;
  const isOver = attempt.status === GONE || +now - +since >= GIVE_UP_AFTER_MS;
  const pauseMs = (PAUSES_MS[failures] ?? HOUR_MS) * (1 - JITTER + 2 * JITTER * Math.random());
  return {
    status: isOver ? ('disabled' as const) : ('active' as const),
    failures: failures + 1,
    failingSince: since,
    nextAttemptAt: after(now, Math.max(pauseMs, Math.min(retryAfterMs, HOUR_MS))),
  };
}
