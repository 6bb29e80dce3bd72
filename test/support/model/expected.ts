import type { Answer } from '../client.js';

/** What the documents say about a response. In `body`, a function checks a value that they do not determine. */
export interface Outcome {
  status: number;
  body: unknown;
  /** Whether `Idempotency-Replayed` is `true`: of a request that changes something, or finds it done. */
  replayed?: boolean;
}

export type Check = (value: unknown) => boolean;

export const anything: Check = () => true;
export const anId: Check = (value) => /^[0-9a-f-]{36}$/.test(String(value));
export const oneOf =
  (...allowed: unknown[]): Check =>
  (value) =>
    allowed.some((one) => differences(one, value).length === 0);
/** "Rates and shares are decimal strings: `"0.05"` is 5 %" */
export const share =
  (basisPoints: bigint): Check =>
  (value) =>
    typeof value === 'string' && Number(value) === Number(basisPoints) / 10_000;
export const inAnyOrder =
  (expected: string[]): Check =>
  (value) =>
    Array.isArray(value) && [...(value as unknown[])].sort().join() === [...expected].sort().join();
/** `errors` that point at these members, or at members of these. Without names there are no `errors`. */
export const pointersTo =
  (...names: string[]): Check =>
  (errors) =>
    inAnyOrder(names)(pointedAt(errors));

const pointedAt = (errors: unknown): string[] => [
  ...new Set(((errors ?? []) as { pointer: string }[]).map(({ pointer }) => memberAt(pointer))),
];

/** "`errors` point into `/complete/…`" */
const memberAt = (pointer: string): string => {
  const [, first = '', ...others] = pointer.split('/');
  return first === 'complete' ? [first, ...others.slice(0, 1)].join('/') : first;
};

/** Returns the differences between what the documents say and a value. `null` equals absent. */
export function differences(expected: unknown, actual: unknown, path = ''): string[] {
  if (typeof expected === 'function') {
    return (expected as Check)(actual) ? [] : [`${path} is ${JSON.stringify(actual)}, which is not documented`];
  }
  const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual)) {
    const isSame = (expected ?? null) === (actual ?? null);
    return isSame ? [] : [`${path} is ${JSON.stringify(actual)}, documented ${JSON.stringify(expected)}`];
  }
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...names].flatMap((name) => differences(expected[name], actual[name], `${path}/${name}`));
}

export function outcomeDifferences({ status, body, replayed }: Outcome, answer: Answer): string[] {
  if (answer.status !== status) return [`status is ${answer.status}, documented ${status}`];
  const header = answer.headers.get('idempotency-replayed');
  // Of a repeated request, an attempt that was answered too late may have done it.
  if (replayed !== undefined && (header === 'true') !== replayed && (replayed || !answer.isRepeated))
    return [`Idempotency-Replayed is ${header}`];
  return differences(body, answer.body);
}

/** docs/errors.md: the status and `next_action` of each code that the model expects. */
const PROBLEMS = {
  malformed_request: [400, 'fix_request'],
  validation_failed: [400, 'fix_request'],
  not_found: [404, 'fix_request'],
  external_id_conflict: [409, 'read_existing'],
  invalid_transition: [409, 'read_order'],
  campaign_status_conflict: [409, 'fix_request'],
  cashback_held: [409, 'read_existing'],
  redemption_lapsed: [409, 'fix_request'],
  redemption_no_longer_available: [409, 'fix_request'],
  refund_not_voidable: [409, 'fix_request'],
  wallet_frozen: [409, 'fix_request'],
  precondition_failed: [412, 'read_order'],
  payments_exceed_total: [422, 'fix_request'],
  redemption_exceeds_maximum: [422, 'fix_request'],
  redemption_below_minimum: [422, 'fix_request'],
  earn_amount_exceeds_maximum: [422, 'fix_request'],
  debit_exceeds_balance: [422, 'fix_request'],
  grant_exceeds_maximum: [422, 'fix_request'],
  refund_exceeds_total: [422, 'fix_request'],
} as const;

/** A problem with the members of its code, and with a check of `errors` if the documents say where they point. */
export function problem(code: keyof typeof PROBLEMS, members: object = {}, errors: Check = anything): Outcome {
  const [status, nextAction] = PROBLEMS[code];
  return {
    ...{ status, replayed: false },
    body: {
      ...{ type: `urn:problem:cashback:${code}`, status, code, next_action: nextAction },
      // "`retryable` is true for 408, 429, 500 and 503"
      ...{ retryable: false, title: anything, detail: anything, instance: anything, request_id: anId },
      ...members,
      errors,
    },
  };
}

/** A 400 of members. Which of them are reported together is documented only for the errors of single members. */
export const invalid = (...names: (string | false)[]): Outcome | false =>
  names.some(Boolean) &&
  problem('validation_failed', {}, (errors) => {
    const actual = pointedAt(errors);
    return actual.length > 0 && actual.every((name) => names.includes(name));
  });

/** How often operations had each outcome, and how often a special state was reached. */
export const seen = new Map<string, number>();

export const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
