import { LAST_INSTANT_MS } from './instants.js';
import { validationFailed } from './problem.js';

/** The page of a list to return: at most `limit` rows, after the one that `cursor` points to. */
export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
}

/** The page of a list by creation, which can have bounds. */
export interface CreatedPageRequest extends PageRequest {
  readonly created_from?: string;
  readonly created_to?: string;
}

/**
 * Encodes the sort key of a page's last row as an opaque cursor.
 *
 * @param list a name of the list, such as `entries <wallet ID>`. A cursor is only valid in the list that it comes from.
 */
export function encodeCursor(list: string, key: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @param types the types of the sort key's parts.
 * @param place where the request has the cursor.
 * @throws Problem validation_failed if it is not a valid cursor.
 */
export function decodeCursor<const T extends readonly ('string' | 'number')[]>(
  list: string,
  cursor: string,
  types: T,
  place: { parameter: string } | { pointer: string } = { parameter: 'cursor' },
): { -readonly [I in keyof T]: T[I] extends 'string' ? string : number } {
  try {
    const [from, ...key] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (
      from === list &&
      key.length === types.length &&
      key.every((part, at) => typeof part === types[at] && isSortable(part))
    )
      return key as never;
  } catch {
    // Falls through: not a cursor.
  }
  throw validationFailed([{ ...place, detail: 'must be the next_cursor of an earlier page of this list' }]);
}

/** Sort keys are IDs, entry numbers and instants. The database would refuse a query with a later instant. */
function isSortable(part: unknown): boolean {
  return typeof part === 'string'
    ? /^[0-9a-f-]{36}$/.test(part)
    : Number.isSafeInteger(part) && (part as number) >= 0 && (part as number) <= LAST_INSTANT_MS;
}

/**
 * Makes a page from rows that were read with one row more than its limit, which shows whether another page follows.
 *
 * @param keyOf the sort key of a row, for the cursor.
 */
export function pageOf<T>(
  list: string,
  rows: readonly T[],
  limit: number,
  keyOf: (row: T) => readonly (string | number)[],
): { page: T[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { page, next_cursor: last === undefined ? null : encodeCursor(list, keyOf(last)) };
}
