import { type EntityManager } from 'typeorm';
import { Problem } from '../values/problem.js';
import { addDays, dayOf, startOfDay } from '../values/time.js';
import { queryNamed, readInstant } from './rows.js';

/** A column by which sums are kept, as an expression; with what it joins, if the rows themselves do not say it. */
type Dimension = string | { sql: string; join: string };

/**
 * What is summed by local day. Each declaration has one narrow table, with the merchant, the day, the dimensions and
 * the measures. The rows never change, and none is added to the past.
 */
interface Declaration<Name extends string, Measure extends string> {
  /** What `sum_positions` calls it. */
  name: string;
  table: string;
  /** The table of the rows, with its alias. */
  source: string;
  /** The index of the merchant and the instant, and the column of that instant. */
  index: string;
  instant: string;
  /** The conditions on what the index has between the merchant and the instant, each for a part of the rows. */
  parts?: readonly string[];
  /** What else is true of the rows that count. */
  only?: string;
  dimensions: Record<Name, Dimension>;
  measures: Record<Measure, string>;
}

/** Whose days are summed. */
interface Owner {
  merchantId: string;
  timeZone: string;
}

/** Days of a report, and the part of time that is one row: a day, a month, or all. */
interface Period {
  from: string;
  to: string;
  by?: string;
}

/** A row of sums, with empty texts for dimensions that are not told apart. */
export type Sum<Name extends string, Measure extends string> = Record<'day' | Name, string> &
  Record<Measure, string | number>;

/** The most rows of sums that a report adds up: with more, it has more rows than a report may have. */
const MAX_SUMS = 300_000;

/** The sums of rows of a merchant by local day: what reports read instead of the rows. */
export class DaySums<Name extends string = string, Measure extends string = string> {
  readonly name: string;
  readonly table: string;
  readonly dimensions: readonly Name[];
  readonly measures: readonly Measure[];
  readonly #declared: Declaration<string, string>;
  readonly #alias: string;

  constructor(declared: Declaration<Name, Measure>) {
    this.#declared = declared;
    this.name = declared.name;
    this.table = declared.table;
    this.dimensions = Object.keys(declared.dimensions) as Name[];
    this.measures = Object.keys(declared.measures) as Measure[];
    this.#alias = declared.source.split(' ').at(-1)!;
  }

  /**
   * Returns a statement that adds up rows of a part of a day. Its parameters are the day, the merchant, and the part's
   * start and end.
   *
   * @param names the dimensions that are told apart. Of the others, no table is read.
   */
  statement(names: readonly Name[] = this.dimensions): string {
    const { source, index, instant, parts = [], only, dimensions, measures } = this.#declared;
    const told = names.map((name) => dimensions[name]!);
    const joins = new Set(told.map((dimension) => (typeof dimension === 'string' ? '' : dimension.join)));
    const sqlOf = (dimension: Dimension): string => (typeof dimension === 'string' ? dimension : dimension.sql);
    const columns = [
      ...[`${this.#alias}.merchant_id`, '? AS day'],
      ...this.dimensions.map((name) => `${names.includes(name) ? sqlOf(dimensions[name]!) : "''"} AS ${name}`),
      ...this.measures.map((name) => `${measures[name]} AS ${name}`),
    ];
    const conditions = [
      ...(parts.length > 0 ? [`(${parts.join(' OR ')})`] : []),
      ...[`${instant} >= ?`, `${instant} < ?`, ...(only === undefined ? [] : [only])],
    ];
    return `
      SELECT ${columns.join(', ')}
        FROM ${source} FORCE INDEX (${index}) ${[...joins].join(' ')}
       WHERE ${this.#alias}.merchant_id = ? AND ${conditions.join(' AND ')}
       GROUP BY ${this.dimensions.map((_, at) => at + 3).join(', ')}`;
  }

  /** Adds rows of a part of a day to the sums. With READ COMMITTED, it locks none of the rows. */
  async add(manager: EntityManager, merchantId: string, day: string, from: Date, to: Date): Promise<void> {
    const names = ['merchant_id', 'day', ...this.dimensions, ...this.measures];
    const added = this.measures.map((name) => `${name} = ${this.table}.${name} + VALUES(${name})`);
    await manager.query(
      `INSERT INTO ${this.table} (${names.join(', ')}) ${this.statement()} ON DUPLICATE KEY UPDATE ${added.join(', ')}`,
      [day, merchantId, from, to],
    );
  }

  /** Returns the instant of a merchant's first row from an instant on, or of a following one. */
  firstFrom(manager: EntityManager, merchantId: string, from: Date, skipped = 0): Promise<Date | undefined> {
    const { source, index, instant, parts = ['TRUE'] } = this.#declared;
    const first = parts.map(
      (part) => `
      (SELECT ${instant} AS at FROM ${source} FORCE INDEX (${index})
        WHERE ${this.#alias}.merchant_id = ? AND ${part} AND ${instant} >= ? ORDER BY ${instant} LIMIT ?)`,
    );
    return readInstant(manager, `${first.join(' UNION ALL ')} ORDER BY at LIMIT 1 OFFSET ?`, [
      ...parts.flatMap(() => [merchantId, from, skipped + 1]),
      skipped,
    ]);
  }

  /**
   * Returns what is summed of a period, by some dimensions. Each row has a day of its part of the period.
   *
   * @param hasPast whether what was before the period counts, too: it has a day before the period.
   * @throws Problem report_too_large if the dimensions have too many values.
   */
  async summed(
    manager: EntityManager,
    merchantId: string,
    { from, to, by }: Period,
    names: readonly Name[],
    hasPast: boolean,
  ): Promise<Sum<Name, Measure>[]> {
    const part = { day: 'day', month: "GREATEST(CONCAT(LEFT(day, 7), '-01'), :from)" }[by ?? ''] ?? ':from';
    const columns = [
      `CASE WHEN day < :from THEN '' ELSE ${part} END AS day`,
      ...this.dimensions.map((name) => `${names.includes(name) ? name : "''"} AS ${name}`),
    ];
    const sums = await queryNamed<Sum<Name, Measure>>(
      manager,
      `SELECT ${[...columns, ...this.measures.map((name) => `SUM(${name}) AS ${name}`)].join(', ')}
         FROM ${this.table} WHERE merchant_id = :merchantId AND day >= :since AND day < :to
        GROUP BY ${columns.map((_, at) => at + 1).join(', ')} LIMIT ${MAX_SUMS + 1}`,
      { merchantId, from, to, since: hasPast ? '' : from },
    );
    return refuseMany(sums);
  }

  /**
   * Adds up the rows that are not summed, until an instant that begins a day: each local day.
   *
   * @throws Problem report_too_large after the time of one statement, or with too many rows: the job is far behind.
   */
  async rest(
    manager: EntityManager,
    { merchantId, timeZone }: Owner,
    { from, to }: { from: Date; to: Date },
    names: readonly Name[],
  ): Promise<Sum<Name, Measure>[]> {
    const sums: Sum<Name, Measure>[] = [];
    const endsAt = performance.now() + (manager.dataSource.options.maxQueryExecutionTime ?? Infinity);
    for (let start = from; ;) {
      if (performance.now() > endsAt) throw new Problem('report_too_large');
      const next = await this.firstFrom(manager, merchantId, start);
      if (next === undefined || next >= to) return sums;
      const day = dayOf(next, timeZone);
      const end = startOfDay(addDays(day, 1), timeZone);
      const limited = `${this.statement(names)} LIMIT ${MAX_SUMS + 1}`;
      for (const sum of await manager.query<typeof sums>(limited, [day, merchantId, start, end])) sums.push(sum);
      refuseMany(sums);
      start = end;
    }
  }
}

function refuseMany<Row>(sums: Row[]): Row[] {
  if (sums.length > MAX_SUMS) throw new Problem('report_too_large');
  return sums;
}

/** What all sums have in common, whatever they are of. */
export type AnyDaySums = Omit<DaySums, 'summed' | 'rest'>;
