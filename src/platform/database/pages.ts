import { type EntityManager, type EntityTarget, type FindOptionsWhere, In } from 'typeorm';
import { validationFailed } from '../values/problem.js';
import { LAST_INSTANT_MS } from '../values/time.js';

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

/** A condition with its parameters. */
export type Condition = [sql: string, ...parameters: unknown[]];

/** Rows of a merchant in one range of an index, which sorts them by an instant, then by ID. */
export interface IndexRange {
  index: string;
  /** Other conditions on columns of the index than the merchant and the instant; or on a few rows. */
  prefix: Condition[];
}

/** Milliseconds, `to` excluded. */
export interface Period {
  from: number;
  to: number;
}

/** @param from the parameters of a list, which were validated. */
export const periodOf = (from: string | undefined, to: string | undefined): Period => ({
  from: from === undefined ? -Infinity : Date.parse(from),
  to: to === undefined ? Infinity : Date.parse(to),
});

/** The position in a list: an instant in milliseconds, and an ID. */
export type Position = [at: number, id: string];

/** A row that is found, but not loaded. */
export interface DatedRow {
  id: string;
  /** By which the list is sorted. */
  sorted_at: Date;
}

export const positionOf = ({ id, sorted_at: at }: DatedRow): Position => [at.getTime(), id];

/** A page of a list. */
export interface DatedList {
  table: string;
  /** The column of the instant. */
  column: string;
  /** Which rows come first: the newest, or the earliest. */
  order: 'DESC' | 'ASC';
  merchantId: string;
  ranges: readonly IndexRange[];
  period: Period;
  /** Where the previous page ended. */
  after: Position | undefined;
  limit: number;
}

/**
 * Finds the rows of a page. Each range is read from one end, or from the start of the page, until the page is full. So
 * the number of rows that the database reads does not grow with the table.
 */
export async function findDated(manager: EntityManager, list: DatedList): Promise<DatedRow[]> {
  const selects = list.ranges.flatMap((range) => selectsOf(list, range));
  if (selects.length === 0) return [];
  const [union, parameters] = [selects.map(([sql]) => sql).join(' UNION ALL '), selects.flatMap(([, ...all]) => all)];
  return manager.query<DatedRow[]>(
    `SELECT id, sorted_at FROM (${union}) found ORDER BY sorted_at ${list.order}, id ${list.order} LIMIT ?`,
    [...parameters, list.limit],
  );
}

/** Loads rows that were found, in their order. */
export async function loadFound<T extends { id: string; merchantId: string }>(
  manager: EntityManager,
  target: EntityTarget<T>,
  merchantId: string,
  found: readonly DatedRow[],
): Promise<T[]> {
  const ids = found.map(({ id }) => id);
  const rows = await manager.findBy(target, { merchantId, id: In(ids) } as FindOptionsWhere<T>);
  return rows.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
}

/** `(created_at, id) < (?, ?)` becomes two statements, because servers do not read it as two ranges of the index. */
function selectsOf(list: DatedList, { index, prefix }: IndexRange): Condition[] {
  const { table, column, order, merchantId, period, after, limit } = list;
  const select = (conditions: Condition[]): Condition => {
    const all: Condition[] = [['merchant_id = ?', merchantId], ...prefix, ...conditions];
    const sql = `(SELECT id, ${column} AS sorted_at FROM ${table} FORCE INDEX (${index}) WHERE ${all.map(([text]) => text).join(' AND ')} ORDER BY ${column} ${order}, id ${order} LIMIT ?)`;
    return [sql, ...all.flatMap(([, ...parameters]) => parameters), limit];
  };
  const between = ({ from, to }: Period): Condition[] => [
    ...(from === -Infinity ? [] : [[`${column} >= ?`, new Date(from)] satisfies Condition]),
    ...(to === Infinity ? [] : [[`${column} < ?`, new Date(to)] satisfies Condition]),
  ];
  const isAhead = ([at]: Position): boolean => (order === 'DESC' ? at >= period.to : at < period.from);
  if (after === undefined || isAhead(after)) return [select(between(period))];
  const [at, id] = after;
  if (at < period.from || at >= period.to) return [];
  return [
    select([
      [`${column} = ?`, new Date(at)],
      [`id ${order === 'DESC' ? '<' : '>'} ?`, id],
    ]),
    select(between(order === 'DESC' ? { ...period, to: at } : { ...period, from: at + 1 })),
  ];
}

/** The maximum number of rows that a page reads. */
const MAX_ROWS = 1000;
/** Parts begin with the size of the page, and double up to this. */
const LARGEST_PART = 200;

interface Scan<Row, Key> {
  limit: number;
  /** Where the previous page ended. */
  after: Key | undefined;
  keyOf: (row: Row) => Key;
  /** Reads the next rows of the list. */
  read: (after: Key | undefined, count: number) => Promise<Row[]>;
  /** Returns those of the rows that belong to the page. */
  select: (rows: Row[]) => Promise<Row[]> | Row[];
}

/**
 * Makes a page of the rows that no index selects: reads the list in parts until the page is full, at most 1,000 rows. A
 * page can therefore be empty although more follow.
 *
 * @returns the page, and the key after which the next one begins; undefined if it is the last one.
 */
export async function scanPage<Row, Key>(scan: Scan<Row, Key>): Promise<{ page: Row[]; next: Key | undefined }> {
  const { limit, keyOf } = scan;
  const found: Row[] = [];
  let { after } = scan;
  let part = limit + 1;
  for (let left = MAX_ROWS; left > 0; left -= part, part = Math.min(2 * part, LARGEST_PART, left)) {
    const rows = await scan.read(after, part);
    found.push(...(await scan.select(rows)));
    if (found.length > limit) return { page: found.slice(0, limit), next: keyOf(found[limit - 1]!) };
    if (rows.length < part) return { page: found, next: undefined };
    after = keyOf(rows.at(-1)!);
  }
  return { page: found, next: after };
}
