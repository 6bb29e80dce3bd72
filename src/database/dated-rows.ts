import { type EntityManager, type EntityTarget, type FindOptionsWhere, In } from 'typeorm';

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
