/**
 * The codes of domain errors. `ProblemFilter` turns a `Problem` into an `application/problem+json` response (RFC 9457).
 */
const CATALOGUE = {
  malformed_request: { status: 400, title: 'The request is not valid HTTP' },
  malformed_json: { status: 400, title: 'The request body is not valid JSON' },
  validation_failed: { status: 400, title: 'The request is not valid' },
  missing_token: { status: 401, title: 'An access token is required' },
  invalid_token: { status: 401, title: 'The access token is not valid' },
  invalid_credentials: { status: 401, title: 'The email or password is wrong' },
  invalid_refresh_token: { status: 401, title: 'The refresh token is not valid' },
  not_found: { status: 404, title: 'The resource does not exist' },
  method_not_allowed: { status: 405, title: 'The resource does not support this method' },
  request_timeout: { status: 408, title: 'The request did not arrive in time', retryable: true },
  external_id_conflict: { status: 409, title: 'The external_id was already used with different content' },
  invalid_transition: { status: 409, title: 'The order does not allow this operation in its current state' },
  redemption_no_longer_available: { status: 409, title: 'The cashback is no longer available' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  payments_exceed_total: { status: 422, title: 'The payment methods exceed the total' },
  redemption_exceeds_maximum: { status: 422, title: 'The redemption exceeds the maximum' },
  refund_exceeds_total: { status: 422, title: 'The refund exceeds the remaining total of the order' },
  too_many_requests: { status: 429, title: 'Too many requests', retryable: true },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal_error: { status: 500, title: 'Internal server error', retryable: true },
  unavailable: { status: 503, title: 'The service is temporarily unavailable', retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable?: boolean }>;

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
  readonly errors: Fault[] | undefined;
  readonly extensions: Record<string, unknown>;
  readonly headers: Record<string, string>;

  constructor(
    readonly code: ProblemCode,
    options: ProblemOptions = {},
  ) {
    const entry: { status: number; title: string; retryable?: boolean } = CATALOGUE[code];
    super(options.detail ?? entry.title, { cause: options.cause });
    this.name = 'Problem';
    this.status = entry.status;
    this.title = entry.title;
    this.retryable = entry.retryable ?? false;
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

/** A code with the status and title of its responses. */
export interface PublishedProblem {
  code: ProblemCode;
  status: number;
  title: string;
  retryable: boolean;
}

/** Returns all codes, for the documentation. */
export function problemCodes(): PublishedProblem[] {
  const entries = Object.entries(CATALOGUE) as [ProblemCode, { status: number; title: string; retryable?: boolean }][];
  return entries.map(([code, { status, title, retryable = false }]) => ({ code, status, title, retryable }));
}
