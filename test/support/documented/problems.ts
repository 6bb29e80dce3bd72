/** docs/errors.md: the status and `next_action` of each code that the model expects. */
const PROBLEMS = {
  malformed_request: [400, 'fix_request'],
  validation_failed: [400, 'fix_request'],
  not_found: [404, 'fix_request'],
  external_id_conflict: [409, 'read_existing'],
  invalid_transition: [409, 'read_order'],
  redemption_lapsed: [409, 'fix_request'],
  redemption_no_longer_available: [409, 'fix_request'],
  precondition_failed: [412, 'read_order'],
  payments_exceed_total: [422, 'fix_request'],
  redemption_exceeds_maximum: [422, 'lower_amount'],
  grant_exceeds_maximum: [422, 'lower_amount'],
  refund_exceeds_total: [422, 'fix_request'],
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** What one response may be. */
export interface Outcome {
  status: number;
  /** The body, or a check of it; see `comparison.ts`. */
  body: unknown;
  /** For a 201: whether `Idempotency-Replayed` is `true`. */
  replayed?: boolean;
  /** For a problem with `errors`: the first segments of their pointers, or a check of them. */
  pointers?: string[] | ((pointers: string[]) => boolean);
}

/** A problem with the members that errors.md gives all of them, and with those of its code. */
export function problem(
  code: ProblemCode,
  members: Record<string, unknown> = {},
  pointers?: Outcome['pointers'],
): Outcome {
  const [status, nextAction] = PROBLEMS[code];
  return {
    status,
    body: {
      type: `urn:problem:cashback:${code}`,
      status,
      code,
      // "`retryable` is true for 408, 429, 500 and 503"
      retryable: false,
      next_action: nextAction,
      ...members,
    },
    ...(pointers && { pointers }),
  };
}
