/**
 * The one class of domain error, and the catalogue of its codes. One filter turns it into an
 * `application/problem+json` answer (RFC 9457; contract, section 5).
 */
const CATALOGUE = {
  malformed_request: { status: 400, title: 'The request is not valid HTTP' },
  malformed_json: { status: 400, title: 'The request body is not valid JSON' },
  validation_failed: { status: 400, title: 'The request is not valid' },
  missing_token: { status: 401, title: 'An access token is needed' },
  invalid_token: { status: 401, title: 'The access token is not valid' },
  invalid_credentials: { status: 401, title: 'E-mail or password is wrong' },
  invalid_refresh_token: { status: 401, title: 'The refresh token is not valid' },
  not_found: { status: 404, title: 'There is no such resource' },
  method_not_allowed: { status: 405, title: 'The resource does not know this method' },
  request_timeout: { status: 408, title: 'The request did not arrive in time', retryable: true },
  external_id_conflict: { status: 409, title: 'The external_id is taken by other content' },
  invalid_transition: { status: 409, title: 'The order does not allow this now' },
  redemption_no_longer_available: { status: 409, title: 'The cashback is no longer available' },
  payload_too_large: { status: 413, title: 'The request body is too large' },
  unsupported_media_type: { status: 415, title: 'The request body must be JSON' },
  payments_exceed_total: { status: 422, title: 'The payment methods exceed the total' },
  redemption_exceeds_maximum: { status: 422, title: 'The redemption exceeds the maximum' },
  refund_exceeds_total: { status: 422, title: 'The refund exceeds what is left of the order' },
  too_many_requests: { status: 429, title: 'Too many requests', retryable: true },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal_error: { status: 500, title: 'Internal server error', retryable: true },
  unavailable: { status: 503, title: 'The service is not available at the moment', retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable?: boolean }>;

export type ProblemCode = keyof typeof CATALOGUE;

/** A fault of one member: of the body by JSON Pointer (RFC 6901), of the query by the parameter's name. */
export interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

interface ProblemOptions {
  detail?: string;
  /** Faults by member, all that were found. */
  errors?: Fault[];
  /** Extension members of the answer (RFC 9457, section 3.2), such as `maximum`. */
  extensions?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** What a use case throws when it can't do what was asked; `code` is stable and documented. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  /** Whether the same request may succeed a little later. Every operation is safe to repeat. */
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

  /** The body of the answer. */
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

/** A 400 for members that break their rules; every fault at once. */
export function validationFailed(errors: Fault[]): Problem {
  const one = errors.length === 1;
  return new Problem('validation_failed', {
    detail: `${errors.length} member${one ? ' is' : 's are'} not valid`,
    errors,
  });
}

export const notFound = (): Problem => new Problem('not_found');

/**
 * The database is unreachable, too many requests wait, or the service is shutting down: the same request may succeed in a
 * second.
 *
 * @param cause is logged; undefined for refusals that are expected under load.
 */
export function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', { detail: 'try again in a moment', headers: { 'retry-after': '1' }, cause });
}

/** A code as it is published: with the status and title of its answers. */
export interface PublishedProblem {
  code: ProblemCode;
  status: number;
  title: string;
  retryable: boolean;
}

/** All codes, for the documentation. */
export function problemCodes(): PublishedProblem[] {
  const entries = Object.entries(CATALOGUE) as [ProblemCode, { status: number; title: string; retryable?: boolean }][];
  return entries.map(([code, { status, title, retryable = false }]) => ({ code, status, title, retryable }));
}
