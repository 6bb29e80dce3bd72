import type { NextAction, Problem, ProblemError } from './generated/types.gen.js';

/** Stands for texts that this version of the client does not know: a `switch` needs a `default`. */
declare enum Other {
  Unknown = 'unknown',
}
export type Unknown = Other;

/** What each error has, whatever its code. */
interface Common extends Error {
  readonly name: 'CashbackError';
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  readonly detail: string;
  /** For questions to the operator of the service; undefined without a response. */
  readonly requestId: string | undefined;
  /** Whether the same request may succeed later. The client has already retried it. */
  readonly retryable: boolean;
  /** How many milliseconds to wait before the next try; 0 if the service did not say. */
  readonly retryAfter: number;
  readonly nextAction: NextAction | Unknown;
  /** The members and parameters that are not valid, or differ. */
  readonly errors: readonly ProblemError[];
}

type Envelope = 'type' | 'title' | 'status' | 'instance' | 'request_id' | 'retryable' | 'next_action' | 'errors';
/** Leaves the code and the members that only this code has. */
type Members<P> = P extends unknown ? Omit<P, Envelope> : never;

/**
 * What a call rejects with, unless it was aborted. Its `code` selects its other members, such as `existing_id`.
 *
 * - `network_error`: no complete response; `cause` says why
 * - `unexpected_response`: not what the operation answers, for example a redirect, or the page of a proxy
 */
export type CashbackError = Common &
  (Members<Problem> | { readonly code: 'network_error' | 'unexpected_response' } | { readonly code: Unknown });

/** A problem of the service, or what the client knows without one. */
export interface Failure {
  code: string;
  status: number;
  detail: string;
  retryable: boolean;
  next_action: string;
  request_id?: string | undefined;
  retry_after?: number;
  errors?: readonly ProblemError[];
}

/** The number of errors that the service sends at most. */
const MAX_ERRORS = 100;

class CallError extends Error {
  constructor(
    { request_id, next_action, retry_after = 0, errors: given, ...members }: Failure,
    options?: ErrorOptions,
  ) {
    // Something before the service may have changed them.
    const isError = (error: unknown): boolean => typeof error === 'object' && error !== null;
    const errors = Array.isArray(given) ? given.slice(0, MAX_ERRORS).filter(isError) : [];
    const lines = errors.map(({ pointer, parameter, detail }) => `${pointer ?? parameter}: ${detail}`);
    super([`${members.code}: ${members.detail}`, ...lines].join('\n'), options);
    const [name, requestId, nextAction, retryAfter] = ['CashbackError', request_id, next_action, retry_after];
    Object.assign(this, members, { name, requestId, nextAction, retryAfter, errors });
  }
}

export const CashbackError = CallError as unknown as new (failure: Failure, options?: ErrorOptions) => CashbackError;

/** What the client itself refuses. */
export const refusal = (code: string, status: number, next_action: string, detail: string): CashbackError =>
  new CashbackError({ code, status, detail, retryable: false, next_action });

/** Whether the service, and not something before it, answered with this status. */
export const isRefusal = (error: unknown, status: number): boolean =>
  error instanceof CashbackError && error.status === status && error.code !== 'unexpected_response';
