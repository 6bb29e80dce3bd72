/** What a client does about a problem. If the problem is retryable, it first sends the same request again. */
export const NEXT_ACTIONS = [
  'fix_request',
  'retry',
  'log_in',
  'refresh_token',
  'read_existing',
  'read_order',
  'contact_support',
] as const;
export type NextAction = (typeof NEXT_ACTIONS)[number];

/** Whether the same request may succeed later. */
const RETRYABLE = true;

type CatalogueEntry = readonly [status: number, title: string, nextAction: NextAction, isRetryable?: boolean];

/**
 * The codes of domain errors. `ProblemFilter` turns a `Problem` into an `application/problem+json` response (RFC 9457).
 */
const CATALOGUE = {
  malformed_request: [400, 'The request is not valid HTTP', 'fix_request'],
  malformed_json: [400, 'The request body is not valid JSON', 'fix_request'],
  validation_failed: [400, 'The request is not valid', 'fix_request'],
  missing_token: [401, 'An access token is required', 'log_in'],
  invalid_token: [401, 'The access token is not valid', 'refresh_token'],
  invalid_credentials: [401, 'The email or password is wrong', 'fix_request'],
  invalid_refresh_token: [401, 'The refresh token is not valid', 'log_in'],
  forbidden: [403, 'The API user does not have the permission for this', 'contact_support'],
  route_not_found: [404, 'The path does not exist', 'fix_request'],
  not_found: [404, 'The resource does not exist', 'fix_request'],
  method_not_allowed: [405, 'The resource does not support this method', 'fix_request'],
  request_timeout: [408, 'The request did not arrive in time', 'retry', RETRYABLE],
  external_id_conflict: [409, 'The external_id was already used with different content', 'read_existing'],
  invalid_transition: [409, 'The order does not allow this operation in its current state', 'read_order'],
  redemption_lapsed: [409, 'The cashback that the order held was released', 'fix_request'],
  redemption_no_longer_available: [409, 'The cashback is no longer available', 'fix_request'],
  webhook_url_taken: [409, 'Another webhook endpoint has this URL', 'read_existing'],
  events_expired: [410, 'Events after this sequence are no longer kept', 'fix_request'],
  precondition_failed: [412, 'The order has changed since the version in If-Match', 'read_order'],
  payload_too_large: [413, 'The request body is too large', 'fix_request'],
  unsupported_media_type: [415, 'The request body must be JSON', 'fix_request'],
  payments_exceed_total: [422, 'The payment methods and the redeemed cashback exceed the total', 'fix_request'],
  redemption_exceeds_maximum: [422, 'The redemption exceeds the maximum', 'fix_request'],
  grant_exceeds_maximum: [422, 'The grant exceeds the maximum', 'fix_request'],
  refund_exceeds_total: [422, 'The refund exceeds what is left of the order', 'fix_request'],
  webhook_url_refused: [422, 'Events are not sent to this URL', 'fix_request'],
  too_many_webhook_endpoints: [422, 'There are too many webhook endpoints', 'fix_request'],
  too_many_requests: [429, 'Too many requests', 'retry', RETRYABLE],
  headers_too_large: [431, 'The request headers are too large', 'fix_request'],
  internal_error: [500, 'Internal server error', 'contact_support', RETRYABLE],
  unavailable: [503, 'The service is temporarily unavailable', 'retry', RETRYABLE],
} as const satisfies Record<string, CatalogueEntry>;

export type ProblemCode = keyof typeof CATALOGUE;

/** What limits a redeemable maximum (`limited_by`); null if only the total does. */
export const LIMITED_BY = ['balance', 'order_share', 'minimum_total', null] as const;
export type LimitedBy = (typeof LIMITED_BY)[number];

/** The operations on an order that its status allows or refuses (`operations`). */
export const ORDER_OPERATIONS = ['hold', 'renew', 'amend', 'complete', 'cancel', 'refund'] as const;
export type OrderOperation = (typeof ORDER_OPERATIONS)[number];

/** An error in one member, identified by its JSON Pointer in the body (RFC 6901) or the name of the query parameter. */
export interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

/** The number of errors that a response lists. */
export const MAX_FAULTS = 100;

interface ProblemOptions {
  detail?: string;
  /** All errors of the request's members. */
  errors?: Fault[];
  /** Extension members of the response (RFC 9457, section 3.2), such as `maximum`. */
  extensions?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** The only class of domain error. Its `code` is stable and documented in docs/errors.md. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  /** Whether the same request may succeed later. Every operation is safe to retry. */
  readonly retryable: boolean;
  readonly nextAction: NextAction;
  readonly errors: Fault[] | undefined;
  readonly extensions: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    readonly code: ProblemCode,
    options: ProblemOptions = {},
  ) {
    const [status, title, nextAction, isRetryable = false]: CatalogueEntry = CATALOGUE[code];
    super(options.detail ?? title, { cause: options.cause });
    this.name = 'Problem';
    this.status = status;
    this.title = title;
    this.retryable = isRetryable;
    this.nextAction = nextAction;
    this.errors = options.errors;
    this.extensions = options.extensions ?? {};
    this.headers = options.headers ?? {};
  }

  toBody(instance: string, requestId: string): Record<string, unknown> {
    return {
      type: `urn:problem:cashback:${this.code}`,
      title: this.title,
      status: this.status,
      detail: this.message,
      instance,
      code: this.code,
      request_id: requestId,
      retryable: this.retryable,
      next_action: this.nextAction,
      ...this.extensions,
      ...(this.errors && { errors: this.errors.slice(0, MAX_FAULTS) }),
    };
  }
}

export function validationFailed(errors: Fault[]): Problem {
  const count = errors.length > MAX_FAULTS ? `more than ${MAX_FAULTS}` : errors.length;
  return new Problem('validation_failed', {
    detail: `${count} member${count === 1 ? ' is' : 's are'} not valid`,
    errors,
  });
}

/** Returns the error of a member that another request with the same `external_id` had with another value. */
export const differing = (pointer: string): Fault => ({ pointer, detail: 'differs from the earlier request' });

/** Returns a 409 that names what has the `external_id` already, such as `order`, and each member that differs. */
export function externalIdConflict(what: string, existingId: string, errors: Fault[]): Problem {
  return new Problem('external_id_conflict', {
    detail: `${what} ${existingId} has this external_id and differs in ${errors.length} member${errors.length === 1 ? '' : 's'}`,
    errors,
    extensions: { existing_id: existingId },
  });
}

/** @param detail what does not exist, such as `no order has this external_id`. Another merchant's does not either. */
export const notFound = (detail: string): Problem => new Problem('not_found', { detail });

/**
 * Returns a 503: the database is unreachable, too many requests are waiting, or the service is shutting down. The same
 * request may succeed after a second.
 *
 * @param cause is logged; undefined for refusals that are expected under load.
 */
export function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', { detail: 'try again in a moment', headers: { 'retry-after': '1' }, cause });
}

/** What the documentation says about a code. */
export interface PublishedProblem {
  code: ProblemCode;
  status: number;
  title: string;
  next_action: NextAction;
  retryable: boolean;
}

export function problemCodes(): PublishedProblem[] {
  const entries = Object.entries(CATALOGUE) as [ProblemCode, CatalogueEntry][];
  return entries.map(([code, [status, title, next_action, retryable = false]]) => {
    return { code, status, title, next_action, retryable };
  });
}
