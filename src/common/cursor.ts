import { LAST_INSTANT_MS } from './instants.js';
import { validationFailed } from './problem.js';

/** Which page of a list is asked for: how many rows, and after which. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
}

/** Where a page ends, as an opaque word: the sort key of its last row. */
export function encodeCursor(key: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/**
 * Reads a cursor back.
 *
 * @param types what the sort key is made of.
 * @throws Problem validation_failed for anything that is not a cursor of ours.
 */
export function decodeCursor<T extends readonly ('string' | 'number')[]>(
  cursor: string,
  ...types: T
): { [I in keyof T]: T[I] extends 'string' ? string : number } {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (
      Array.isArray(key) &&
      key.length === types.length &&
      key.every((part, at) => typeof part === types[at] && isSortable(part))
    )
      return key as never;
  } catch {
    // Falls through: what does not parse is no cursor.
  }
  throw validationFailed([{ parameter: 'cursor', detail: 'must be a next_cursor of an earlier page' }]);
}

/** Sort keys are ids, entry numbers and instants; past the last instant a database holds, it would refuse the query. */
function isSortable(part: unknown): boolean {
  return typeof part === 'string'
    ? /^[0-9a-f-]{36}$/.test(part)
    : Number.isSafeInteger(part) && (part as number) >= 0 && (part as number) <= LAST_INSTANT_MS;
}
