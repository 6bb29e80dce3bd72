import { Column, Entity, type EntityManager, ForeignKey, PrimaryColumn } from 'typeorm';
import { type EntryKind } from '../cashback/entry.entity.js';
import { LedgerPosition } from '../merchants/merchant.entity.js';
import { ASCII, CentsColumn, PrimaryId } from '../platform/database/columns.js';
import { readInstant } from '../platform/database/rows.js';
import { addDays, dayOf, startOfDay } from '../platform/values/time.js';

/** The sum of the ledger's entries of a kind in a local day of the merchant, by stores; no store is an empty text. */
@Entity('ledger_days')
export class LedgerDay {
  @PrimaryId('merchant_id')
  @ForeignKey(() => LedgerPosition, { name: 'fk_ledger_days_position' })
  merchantId!: string;

  @PrimaryColumn({ name: 'day', length: 10, ...ASCII })
  day!: string;

  /** Where it happened. */
  @PrimaryColumn({ name: 'store', type: 'varchar', length: 100 })
  store!: string;

  /** The store that owes the credit; empty for the debt, too. */
  @PrimaryColumn({ name: 'credit_store', type: 'varchar', length: 100 })
  creditStore!: string;

  @PrimaryColumn({ name: 'kind', length: 32, ...ASCII })
  kind!: EntryKind;

  /** The number of entries. */
  @Column({ name: 'entries', type: 'bigint' })
  entries!: number;

  @CentsColumn('amount_cents')
  amountCents!: number;
}

/** A column by which sums are kept, as an expression; with what it joins, if the rows themselves do not say it. */
type Dimension = string | { sql: string; join: string };

/**
 * What is summed by local day. Each declaration has one narrow table, with the merchant, the day, the dimensions and
 * the measures. The rows never change, and none is added to the past.
 */
interface Declaration<Name extends string, Measure extends string> {
  table: string;
  /** The table of the rows, with its alias. */
  source: string;
  /** The index of the merchant and the instant, and the column of that instant. */
  index: string;
  instant: string;
  dimensions: Record<Name, Dimension>;
  measures: Record<Measure, string>;
}

/** The sums of rows of a merchant by local day: what reports read instead of the rows. */
class DaySums<Name extends string, Measure extends string> {
  readonly #alias: string;

  constructor(private readonly declared: Declaration<Name, Measure>) {
    this.#alias = declared.source.split(' ').at(-1)!;
  }

  /**
   * Returns a statement that adds up rows of a part of a day. Its parameters are the day, the merchant, and the part's
   * start and end.
   *
   * @param names the dimensions that are told apart. Of the others, no table is read.
   */
  statement(names: readonly Name[] = Object.keys(this.declared.dimensions) as Name[]): string {
    const { source, index, instant, dimensions, measures } = this.declared;
    const shown = Object.entries<Dimension>(dimensions).map(([name, dimension]) => {
      const isTold = names.includes(name as Name);
      const sql = typeof dimension === 'string' ? dimension : dimension.sql;
      return {
        column: `${isTold ? sql : "''"} AS ${name}`,
        join: isTold && typeof dimension === 'object' ? dimension.join : '',
      };
    });
    const sums = Object.entries<string>(measures).map(([name, sql]) => `${sql} AS ${name}`);
    const columns = [`${this.#alias}.merchant_id`, '? AS day', ...shown.map(({ column }) => column), ...sums];
    return `
      SELECT ${columns.join(', ')}
        FROM ${source} FORCE INDEX (${index}) ${shown.map(({ join }) => join).join(' ')}
       WHERE ${this.#alias}.merchant_id = ? AND ${instant} >= ? AND ${instant} < ?
       GROUP BY ${shown.map((_, at) => at + 3).join(', ')}`;
  }

  /** Adds rows of a part of a day to the sums. */
  async add(manager: EntityManager, merchantId: string, day: string, from: Date, to: Date): Promise<void> {
    const { table, dimensions, measures } = this.declared;
    const names = ['merchant_id', 'day', ...Object.keys(dimensions), ...Object.keys(measures)];
    const added = Object.keys(measures).map((name) => `${name} = ${table}.${name} + VALUES(${name})`);
    await manager.query(
      `INSERT INTO ${table} (${names.join(', ')}) ${this.statement()} ON DUPLICATE KEY UPDATE ${added.join(', ')}`,
      [day, merchantId, from, to],
    );
  }

  /** Returns the instant of a merchant's first row from an instant on, or of a following one. */
  firstFrom(manager: EntityManager, merchantId: string, from: Date, skipped = 0): Promise<Date | undefined> {
    const { source, index, instant } = this.declared;
    const sql = `
      SELECT ${instant} AS at FROM ${source} FORCE INDEX (${index})
       WHERE ${this.#alias}.merchant_id = ? AND ${instant} >= ? ORDER BY ${instant} LIMIT 1 OFFSET ?`;
    return readInstant(manager, sql, [merchantId, from, skipped]);
  }

  /** Adds up the rows that are not summed, until an instant that begins a day: each local day. */
  async rest(
    manager: EntityManager,
    { id, timeZone }: { id: string; timeZone: string },
    { from, to }: { from: Date; to: Date },
    names?: readonly Name[],
  ): Promise<(Record<'day' | Name, string> & Record<Measure, string | number>)[]> {
    const sql = this.statement(names);
    const sums: (Record<'day' | Name, string> & Record<Measure, string | number>)[] = [];
    for (let start = from; ;) {
      const next = await this.firstFrom(manager, id, start);
      if (next === undefined || next >= to) return sums;
      const day = dayOf(next, timeZone);
      const end = startOfDay(addDays(day, 1), timeZone);
      sums.push(...(await manager.query<typeof sums>(sql, [day, id, start, end])));
      start = end;
    }
  }
}

/** The ledger: what was earned, redeemed and so on, where it happened, and which store owes it. */
export const LEDGER_SUMS = new DaySums({
  table: 'ledger_days',
  source: 'cashback_entries e',
  index: 'ix_cashback_entries_created',
  instant: 'e.created_at',
  dimensions: {
    store: "COALESCE(e.store, '')",
    credit_store: {
      sql: "COALESCE(c.store, '')",
      join: 'LEFT JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id',
    },
    kind: 'e.kind',
  },
  measures: { entries: 'COUNT(*)', amount_cents: 'SUM(e.amount_cents)' },
});
