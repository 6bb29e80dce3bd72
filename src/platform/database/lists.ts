import { type EntityManager, In, type ObjectLiteral } from 'typeorm';
import { validationFailed } from '../values/problem.js';
import { LAST_INSTANT_MS } from '../values/time.js';
import { columnNames, idColumn, toEntity } from './rows.js';

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

/** A condition with its parameters. */
export type Condition = [sql: string, ...parameters: unknown[]];

/** Rows of a merchant in one range of an index, which sorts them as the list does. */
export interface IndexRange {
  index: string;
  /** Other conditions on columns of the index than the merchant and the sort key; or on a few rows. */
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

/** A row that is found, but not loaded. */
export interface Found {
  id: string;
  /** What sorts the list: the ID, or a number. */
  tie: string | number;
  /** What sorts it before that, if there is something. */
  sorted_at?: Date;
  grouped_by?: string;
}

/** A list of entities, as one request asks for it. */
export interface List<Dto> {
  /** Names its cursors, such as `entries <wallet ID>`: a cursor is only valid in the list that it comes from. */
  name: string;
  /** What the rows are. The last column of its primary key identifies a row, and sorts the rows of one instant. */
  entity: new () => ObjectLiteral;
  /** Which rows come first: the newest, or the earliest. */
  order: 'DESC' | 'ASC';
  /** The column of the instant that sorts the rows. Without it, the ID or the number does. */
  instant?: string;
  /** A column of numbers that sorts them instead of the ID. */
  number?: string;
  /** A column of IDs that sorts them before the number, if that is not distinct. */
  group?: string;
  /** A column that identifies a row and sorts instead of the last column of the primary key, of small rows. */
  key?: string;
  ranges: readonly IndexRange[];
  /** Of the instant. */
  period?: Period;
  /** Where the request has its cursor; by default, in the parameter `cursor`. */
  place?: { pointer: string };
  /** Whether the rows are read as a whole where they are found, because they are small; otherwise those of the page. */
  isSmall?: true;
  /** Returns those of the rows that belong to the list, if no index selects them. */
  select?: (found: readonly Found[]) => Promise<readonly Found[]> | readonly Found[];
  /** Returns the first rows that fit into a page, at least one: they can be large. */
  fit?: (found: readonly Found[]) => Promise<readonly Found[]>;
  /** Makes the DTOs of the rows, in the same order. */
  present: (rows: never[]) => Promise<Dto[]> | Dto[];
}

/** A list whose entity is known. */
type Declared<Dto, Row> = Omit<List<Dto>, 'entity' | 'present'> & {
  entity: new () => Row;
  present: (rows: Row[]) => Promise<Dto[]> | Dto[];
};

/** Declares a list: `present` gets the rows of its entity. */
export const list = <Dto, Row extends ObjectLiteral>(declared: Declared<Dto, Row>): List<Dto> => declared;

export const LARGEST_PAGE = 100;

/** The maximum number of rows that a page reads if no index selects them, in parts that double up to the largest. */
const MAX_ROWS = 1000;
const LARGEST_PART = 200;

const MAX_BYTES = 1024 * 1024;

/**
 * Returns the first rows that have at most 1 MiB together, but at least one if there is any: large rows must not
 * exhaust the memory of the process.
 *
 * @param frameBytes what is around them.
 */
export function firstMebibyte<T>(rows: readonly T[], bytesOf: (row: T) => number, frameBytes = 0): T[] {
  let bytes = frameBytes;
  const end = rows.findIndex((row, at) => (bytes += bytesOf(row)) > MAX_BYTES && at > 0);
  return end === -1 ? [...rows] : rows.slice(0, end);
}

/**
 * Reads a page of a list: what of it follows its cursor.
 *
 * @throws Problem validation_failed if the cursor is not one of this list.
 */
export async function readPage<Dto>(
  { manager, merchantId }: { manager: EntityManager; merchantId: string },
  { limit, cursor }: PageRequest,
  list: List<Dto>,
): Promise<{ data: Dto[]; next_cursor: string | null }> {
  const after = cursor === undefined ? undefined : foundBy(list, cursor);
  const read = (from: Found | undefined, count: number): Promise<Found[]> =>
    findRows(manager, merchantId, list, from, count);
  const found = list.select ? await scan(list, read, after, limit) : await take(read, after, limit);
  const rows = (found.rows.length > 0 && (await list.fit?.(found.rows))) || found.rows;
  const last = rows.length < found.rows.length ? rows.at(-1) : found.last;
  const entities = list.isSmall
    ? entitiesOf(manager, list.entity, rows)
    : await loadFound(manager, merchantId, list.entity, rows);
  return {
    data: rows.length === 0 ? [] : await list.present(entities as never[]),
    next_cursor: last === undefined ? null : encodeCursor(list.name, keyOf(list, last)),
  };
}

type Read = (after: Found | undefined, count: number) => Promise<Found[]>;

/** The rows of a page, and the one after which the next page begins; undefined if there is none. */
interface Part {
  rows: Found[];
  last: Found | undefined;
}

/** Reads one row more than the page has, which shows whether another page follows. */
async function take(read: Read, after: Found | undefined, limit: number): Promise<Part> {
  const found = await read(after, limit + 1);
  const rows = found.slice(0, limit);
  return { rows, last: found.length > limit ? rows.at(-1) : undefined };
}

/**
 * Makes a page of the rows that no index selects: reads the list in parts until the page is full, at most 1,000 rows. A
 * page can therefore be empty although more follow.
 */
async function scan<Dto>(list: List<Dto>, read: Read, start: Found | undefined, limit: number): Promise<Part> {
  const rows: Found[] = [];
  let [after, part] = [start, limit + 1];
  for (let left = MAX_ROWS; left > 0; left -= part, part = Math.min(2 * part, LARGEST_PART, left)) {
    const found = await read(after, part);
    rows.push(...(found.length === 0 ? [] : await list.select!(found)));
    if (rows.length > limit) return { rows: rows.slice(0, limit), last: rows[limit - 1] };
    if (found.length < part) return { rows, last: undefined };
    after = found.at(-1)!;
  }
  return { rows, last: after };
}

/**
 * Finds rows. Each range is read from one end, or from the start of the page, until there are enough. So the number of
 * rows that the database reads does not grow with the table.
 */
async function findRows<Dto>(
  manager: EntityManager,
  merchantId: string,
  list: List<Dto>,
  after: Found | undefined,
  count: number,
): Promise<Found[]> {
  const selects = list.ranges.flatMap((range) => selectsOf(manager, merchantId, list, range, after, count));
  if (selects.length === 0) return [];
  const [[only, ...parameters] = ['']] = selects;
  // A server would copy the rows of one range into a table of its own, and sort them again.
  if (selects.length === 1) return manager.query<Found[]>(only, parameters);
  const sorted = [...sortsOf(list).map(([, alias]) => alias), 'tie'].map((key) => `${key} ${list.order}`);
  const union = selects.map(([sql]) => sql).join(' UNION ALL ');
  return manager.query<Found[]>(`SELECT * FROM (${union}) found ORDER BY ${sorted.join(', ')} LIMIT ?`, [
    ...selects.flatMap(([, ...parameters]) => parameters),
    count,
  ]);
}

/** The columns that sort a list before its ID or number, with their names in what is found. */
const sortsOf = <Dto>({ instant, group }: List<Dto>): (readonly [column: string, alias: string])[] => [
  ...(instant === undefined ? [] : [[instant, 'sorted_at'] as const]),
  ...(group === undefined ? [] : [[group, 'grouped_by'] as const]),
];

/** The condition for the rows that follow another one of the same instant. */
function isBeyond<Dto>({ order, group }: List<Dto>, tie: string, { tie: of, grouped_by: id }: Found): Condition {
  const is = order === 'DESC' ? '<' : '>';
  return group === undefined
    ? [`${tie} ${is} ?`, of]
    : [`(${group} ${is} ? OR (${group} = ? AND ${tie} ${is} ?))`, id, id, of];
}

/** `(created_at, id) < (?, ?)` becomes two statements, because servers do not read it as two ranges of the index. */
function selectsOf<Dto>(
  manager: EntityManager,
  merchantId: string,
  list: List<Dto>,
  { index, prefix }: IndexRange,
  after: Found | undefined,
  count: number,
): Condition[] {
  const { entity, order, instant, period = { from: -Infinity, to: Infinity } } = list;
  const { tableName: table } = manager.dataSource.getMetadata(entity);
  const id = list.key ?? idColumn(manager, entity).databaseName;
  const tie = list.number ?? id;
  const all = list.isSmall ? columnNames(manager, entity) : [];
  const own = all.includes('id') ? all : [...all, `${id} AS id`];
  const sorts = sortsOf(list);
  const columns = [...own, `${tie} AS tie`, ...sorts.map(([column, alias]) => `${column} AS ${alias}`)];
  const sort = [...sorts.map(([column]) => column), tie].map((column) => `${column} ${order}`);
  const select = (conditions: Condition[]): Condition => {
    const of: Condition[] = [['merchant_id = ?', merchantId], ...prefix, ...conditions];
    const where = of.map(([text]) => text).join(' AND ');
    const sql = `(SELECT ${columns.join(', ')} FROM ${table} FORCE INDEX (${index}) WHERE ${where} ORDER BY ${sort.join(', ')} LIMIT ?)`;
    return [sql, ...of.flatMap(([, ...parameters]) => parameters), count];
  };
  const between = ({ from, to }: Period): Condition[] => [
    ...(from === -Infinity ? [] : [[`${instant} >= ?`, new Date(from)] satisfies Condition]),
    ...(to === Infinity ? [] : [[`${instant} < ?`, new Date(to)] satisfies Condition]),
  ];
  if (after === undefined) return [select(between(period))];
  const beyond = isBeyond(list, tie, after);
  if (instant === undefined || after.sorted_at === undefined) return [select([beyond])];
  const at = after.sorted_at.getTime();
  if (order === 'DESC' ? at >= period.to : at < period.from) return [select(between(period))];
  if (at < period.from || at >= period.to) return [];
  return [
    select([[`${instant} = ?`, new Date(at)], beyond]),
    select(between(order === 'DESC' ? { ...period, to: at } : { ...period, from: at + 1 })),
  ];
}

/** For `select`: returns those of the rows that also fulfill a condition. */
export async function selectBy<T extends ObjectLiteral>(
  { manager, merchantId }: { manager: EntityManager; merchantId: string },
  entity: new () => T,
  found: readonly Found[],
  [sql, ...parameters]: Condition,
): Promise<Found[]> {
  const { tableName } = manager.dataSource.getMetadata(entity);
  const rows = await manager.query<{ id: string }[]>(
    `SELECT id FROM ${tableName} WHERE merchant_id = ? AND id IN (?) AND ${sql}`,
    [merchantId, found.map(({ id }) => id), ...parameters],
  );
  const ids = new Set(rows.map(({ id }) => id));
  return found.filter(({ id }) => ids.has(id));
}

/** Returns the entities of small rows. */
export const entitiesOf = <T extends ObjectLiteral>(
  manager: EntityManager,
  entity: new () => T,
  found: readonly Found[],
): T[] => found.map((row) => toEntity(manager, entity, { ...row }));

/** Loads rows that were found, in their order. */
async function loadFound<T extends ObjectLiteral>(
  manager: EntityManager,
  merchantId: string,
  entity: new () => T,
  found: readonly Found[],
): Promise<T[]> {
  if (found.length === 0) return [];
  const { propertyName } = idColumn(manager, entity);
  const places = new Map(found.map(({ id }, at) => [id, at]));
  const where: object = { merchantId, [propertyName]: In([...places.keys()]) };
  const placeOf = (row: T): number => places.get((row as Record<string, string>)[propertyName]!)!;
  return (await manager.findBy(entity, where)).sort((a, b) => placeOf(a) - placeOf(b));
}

const keyOf = <Dto>(
  { instant, group, number }: List<Dto>,
  { sorted_at: at, grouped_by: id, tie }: Found,
): (string | number)[] => [
  ...(instant === undefined ? [] : [at!.getTime()]),
  ...(group === undefined ? [] : [id!]),
  number === undefined ? tie : Number(tie),
];

function foundBy<Dto>({ name, instant, group, number, place }: List<Dto>, cursor: string): Found {
  const types: ('string' | 'number')[] = [
    ...(instant === undefined ? [] : ['number' as const]),
    ...(group === undefined ? [] : ['string' as const]),
    number === undefined ? 'string' : 'number',
  ];
  const key = decodeCursor(name, cursor, types, place);
  const tie = key.at(-1)!;
  return {
    ...{ id: String(tie), tie },
    ...(instant !== undefined && { sorted_at: new Date(key[0]!) }),
    ...(group !== undefined && { grouped_by: String(key.at(-2)) }),
  };
}

/** Encodes the sort key of a page's last row as an opaque cursor. */
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
