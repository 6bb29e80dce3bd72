import type { Answer } from '../client.js';
import type { Outcome } from './problems.js';

/** Checks one value. @returns what is wrong with it */
export type Check = (value: unknown) => string | undefined;

/** How often an answer was accepted that the documents do not determine, by place. */
export const gaps = new Map<string, number>();

export function countGap(place: string): void {
  gaps.set(place, (gaps.get(place) ?? 0) + 1);
}

/** How often the sequences reached a state that needs several operations. */
export const reached = new Map<string, number>();

export function countReached(state: string): void {
  reached.set(state, (reached.get(state) ?? 0) + 1);
}

/** Any value: the documents do not say which. */
export const unchecked =
  (place: string): Check =>
  () => {
    countGap(place);
    return undefined;
  };

/** One of several values: the documents do not say which. */
export const eitherOf =
  (place: string, ...allowed: unknown[]): Check =>
  (value) => {
    const index = allowed.findIndex((one) => differences(one, value).length === 0);
    countGap(`${place}: reading ${index + 1} of ${allowed.length}`);
    return index >= 0 ? undefined : `is ${JSON.stringify(value)}, none of ${JSON.stringify(allowed)}`;
  };

/** A text in a range: the documents do not say which. */
export const within =
  (place: string, from: string, to: string): Check =>
  (value) => {
    countGap(`${place}: ${value === from ? 'first' : value === to ? 'last' : 'between'}`);
    return typeof value === 'string' && value >= from && value <= to
      ? undefined
      : `is ${JSON.stringify(value)}, not from ${from} to ${to}`;
  };

export const numerically =
  (expected: number): Check =>
  (value) =>
    typeof value === 'string' && Number(value) === expected
      ? undefined
      : `is ${JSON.stringify(value)}, not ${expected}`;

/** Returns the differences between what the documents say and a value. `null` equals absent. */
export function differences(expected: unknown, actual: unknown, path = ''): string[] {
  if (typeof expected === 'function') {
    const wrong = (expected as Check)(actual);
    return wrong === undefined ? [] : [`${path} ${wrong}`];
  }
  if (expected === null || expected === undefined || typeof expected !== 'object') {
    return (expected ?? null) === (actual ?? null)
      ? []
      : [`${path} is ${JSON.stringify(actual)}, documented ${JSON.stringify(expected)}`];
  }
  if (actual === null || typeof actual !== 'object' || Array.isArray(expected) !== Array.isArray(actual)) {
    return [`${path} is ${JSON.stringify(actual)}, documented ${JSON.stringify(expected)}`];
  }
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...names].flatMap((name) => differences((expected as any)[name], (actual as any)[name], `${path}/${name}`));
}

/** Returns how a response differs from an outcome. Of a problem, texts for people are not compared. */
export function outcomeDifferences({ status, body, replayed, pointers }: Outcome, answer: Answer): string[] {
  if (answer.status !== status) return [`status is ${answer.status}, documented ${status}`];
  if (status < 300) {
    const header = answer.headers.get('idempotency-replayed');
    const wrong = replayed === undefined || (header === 'true') === replayed ? [] : [`Idempotency-Replayed ${header}`];
    return [...wrong, ...differences(body, answer.body)];
  }
  const { title: _title, detail: _detail, request_id: _id, errors, ...members } = answer.body;
  const { instance: _instance, ...compared } = members;
  return [...differences(body, compared), ...pointerDifferences(pointers, errors)];
}

function pointerDifferences(expected: Outcome['pointers'], errors: unknown): string[] {
  if (expected === undefined) return [];
  if (!Array.isArray(errors)) return ['there are no errors'];
  const actual = [...new Set(errors.map(({ pointer }: { pointer: string }) => pointer.split('/')[1] ?? ''))].sort();
  const agrees = typeof expected === 'function' ? expected(actual) : actual.join() === [...expected].sort().join();
  return agrees ? [] : [`errors point at ${actual.join()}, documented ${expected.toString()}`];
}
