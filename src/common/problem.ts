/** What a client does about a problem. If the problem is retryable, it first sends the same request again. */
export const NEXT_ACTIONS = [
  'fix_request',
  'retry',
  'log_in',
  'refresh_token',
  'use_new_external_id',
  'read_order',
  'lower_amount',
  'contact_support',
] as const;
export type NextAction = (typeof NEXT_ACTIONS)[number];

interface CatalogueEntry {
  status: number;
  title: string;
  next_action: NextAction;
  retryable?: boolean;
}

/**
 * The codes of domain errors. `ProblemFilter` turns a `Problem` into an `application/problem+json` response (RFC 9457).
 */
const CATALOGUE = {
  malformed_request: { status: 400, title: 'The request is not valid HTTP', next_action: 'fix_request' },
  malformed_json: { status: 400, title: 'The request body is not valid JSON', next_action: 'fix_request' },
  validation_failed: { status: 400, title: 'The request is not valid', next_action: 'fix_request' },
  missing_token: { status: 401, title: 'An access token is required', next_action: 'log_in' },
  invalid_token: { status: 401, title: 'The access token is not valid', next_action: 'refresh_token' },
  invalid_credentials: { status: 401, title: 'The email or password is wrong', next_action: 'fix_request' },
  invalid_refresh_token: { status: 401, title: 'The refresh token is not valid', next_action: 'log_in' },
  not_found: { status: 404, title: 'The resource does not exist', next_action: 'fix_request' },
  method_not_allowed: {
    status: 405,
    title: 'The resource does not support this method',
    next_action: 'fix_request',
  },
  request_timeout: { status: 408, title: 'The request did not arrive in time', next_action: 'retry', retryable: true },
  external_id_conflict: {
    status: 409,
    title: 'The external_id was already used with different content',
    next_action: 'use_new_external_id',
  },
  invalid_transition: {
    status: 409,
    title: 'The order does not allow this operation in its current state',
    next_action: 'read_order',
  },
  redemption_no_longer_available: {
    status: 409,
    title: 'The cashback is no longer available',
    next_action: 'lower_amount',
  },
  precondition_failed: {
    status: 412,
    title: 'The order has changed since the version in If-Match',
    next_action: 'read_order',
  },
  payload_too_large: { status: 413, title: 'The request body is too large', next_action: 'fix_request' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON', next_action: 'fix_request' },
  payments_exceed_total: { status: 422, title: 'The payment methods exceed the total', next_action: 'fix_request' },
  redemption_exceeds_maximum: {
    status: 422,
    title: 'The redemption exceeds the maximum',
    next_action: 'lower_amount',
  },
  refund_exceeds_total: {
    status: 422,
    title: 'The refund exceeds the remaining total of the order',
    next_action: 'lower_amount',
  },
  too_many_requests: { status: 429, title: 'Too many requests', next_action: 'retry', retryable: true },
  headers_too_large: { status: 431, title: 'The request headers are too large', next_action: 'fix_request' },
  internal_error: { status: 500, title: 'Internal server error', next_action: 'contact_support', retryable: true },
  unavailable: {
    status: 503,
    title: 'The service is temporarily unavailable',
    next_action: 'retry',
    retryable: true,
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ProblemCode = keyof typeof CATALOGUE;

/** An error in one member, identified by its JSON Pointer in the body (RFC 6901) or the name of the query parameter. */
export interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

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
    const entry: CatalogueEntry = CATALOGUE[code];
    super(options.detail ?? entry.title, { cause: options.cause });
    this.name = 'Problem';
    this.status = entry.status;
    this.title = entry.title;
    this.retryable = entry.retryable ?? false;
    this.nextAction = entry.next_action;
    this.errors = options.errors;
    this.extensions = options.extensions ?? {};
    this.headers = options.headers ?? {};
  }

  /** Returns the body of the response. */
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
      ...(this.errors && { errors: this.errors }),
    };
  }
}

/** Returns a 400 with all validation errors. */
export function validationFailed(errors: Fault[]): Problem {
  const one = errors.length === 1;
  return new Problem('validation_failed', {
    detail: `${errors.length} member${one ? ' is' : 's are'} not valid`,
    errors,
  });
}

export const notFound = (): Problem => new Problem('not_found');

/**
 * Returns a 503: the database is unreachable, too many requests are waiting, or the service is shutting down. The same
 * request may succeed after a second.
 *
 * @param cause is logged; undefined for refusals that are expected under load.
 */
export function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', { detail: 'try again in a moment', headers: { 'retry-after': '1' }, cause });
}

/** A code with the status, title and next action of its responses. */
export interface PublishedProblem extends Required<CatalogueEntry> {
  code: ProblemCode;
}

/** Returns all codes, for the documentation. */
export function problemCodes(): PublishedProblem[] {
  const entries = Object.entries(CATALOGUE) as [ProblemCode, CatalogueEntry][];
  return entries.map(([code, entry]) => ({ retryable: false, ...entry, code }));
}
