import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createTrigger } from '../src/database/create-trigger.js';
import { hasColumn, hasDefault, hasTrigger } from '../src/database/migration-checks.js';

/** Rows per statement of the backfill: few enough that a request waits for their locks only for a moment. */
const BATCH = 2000;

/** The ledger rejects UPDATE, except while this migration fills in its rows. */
const LEDGER = 'cashback_entries';

interface Change {
  table: string;
  key: string;
  /** The table and column from which a row gets its merchant. */
  parent: string;
  parentId: string;
  /** The indexes that change, by name. The merchant is not their first column, because foreign keys use them. */
  indexes: Record<string, { before: string; after: string }>;
}

const CHANGES: Change[] = [
  {
    table: 'cashback_credits',
    key: 'id',
    parent: 'wallets',
    parentId: 'wallet_id',
    indexes: {
      'UNIQUE INDEX uq_cashback_credits_order': { before: 'order_id', after: 'order_id, merchant_id' },
      'INDEX ix_cashback_credits_expiry': {
        before: 'wallet_id, is_open, expires_at, id, available_at, remaining_cents',
        after: 'wallet_id, merchant_id, is_open, expires_at, id, available_at, remaining_cents',
      },
      'INDEX ix_cashback_credits_release': {
        before: 'wallet_id, is_open, available_at, expires_at, remaining_cents',
        after: 'wallet_id, merchant_id, is_open, available_at, expires_at, remaining_cents',
      },
    },
  },
  {
    table: 'cashback_holds',
    key: 'order_id, credit_id',
    parent: 'wallets',
    parentId: 'wallet_id',
    indexes: {
      'INDEX ix_cashback_holds_expiry': {
        before: 'wallet_id, expires_at, amount_cents',
        after: 'wallet_id, merchant_id, expires_at, amount_cents',
      },
    },
  },
  { table: 'cashback_entries', key: 'wallet_id, seq', parent: 'wallets', parentId: 'wallet_id', indexes: {} },
  {
    table: 'refunds',
    key: 'id',
    parent: 'orders',
    parentId: 'order_id',
    indexes: {
      'UNIQUE INDEX uq_refunds_order_external_id': {
        before: 'order_id, external_id',
        after: 'order_id, merchant_id, external_id',
      },
    },
  },
];

/**
 * Credits, holds, entries and refunds get their merchant, so that every table of the money can be partitioned by it.
 *
 * The column first has an empty default, which instances of the previous version write, and all rows are filled in.
 * Then the defaults of all tables go, so that these instances cannot write a row that the new version would not see.
 * They fail only from then on, while the rows that they wrote in the meantime are filled in. No statement rewrites a
 * table or blocks writes.
 */
export class AddMerchantIds1763640000020 implements MigrationInterface {
  /** Each batch is a transaction of its own. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const change of CHANGES) await addMerchantId(runner, change);
    for (const { table } of CHANGES)
      if (await hasDefault(runner, table, 'merchant_id'))
        await runner.query(
          `ALTER TABLE ${table} ALTER COLUMN merchant_id DROP DEFAULT, ALGORITHM = INPLACE, LOCK = NONE`,
        );
    for (const change of CHANGES) await fillIn(runner, change);
    await closeLedger(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { table, indexes } of CHANGES.toReversed()) {
      if (!(await hasColumn(runner, table, 'merchant_id'))) continue;
      const clauses = replace(indexes, 'before');
      if (clauses.length > 0)
        await runner.query(`ALTER TABLE ${table} ${clauses.join(', ')}, ALGORITHM = INPLACE, LOCK = NONE`);
      await runner.query(`ALTER TABLE ${table} DROP COLUMN merchant_id, ALGORITHM = INSTANT`);
    }
  }
}

/** Adds the column, fills in the rows and replaces the indexes, while instances of the previous version write rows. */
async function addMerchantId(runner: QueryRunner, change: Change): Promise<void> {
  const { table, indexes } = change;
  if (!(await hasColumn(runner, table, 'merchant_id')))
    await runner.query(`
      ALTER TABLE ${table} ADD COLUMN merchant_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
        ALGORITHM = INSTANT`);
  await fillIn(runner, change);
  const [index] = Object.keys(indexes);
  if (index !== undefined && !(await isIndexed(runner, table, nameOf(index))))
    await runner.query(
      `ALTER TABLE ${table} ${replace(indexes, 'after').join(', ')}, ALGORITHM = INPLACE, LOCK = NONE`,
    );
}

/** Returns whether the merchant is a column of the index. */
async function isIndexed(runner: QueryRunner, table: string, index: string): Promise<boolean> {
  const rows = (await runner.query(
    `SELECT 1 FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ? AND column_name = 'merchant_id'`,
    [table, index],
  )) as unknown[];
  return rows.length > 0;
}

/** Fills in the rows without a merchant, in the order of the primary key. */
async function fillIn(runner: QueryRunner, { table, key, parent, parentId }: Change): Promise<void> {
  const [first = key] = key.split(', ');
  for (let from = ''; ;) {
    const rest = `${table} WHERE ${first} >= ? AND merchant_id = ''`;
    const [row] = (await runner.query(`SELECT ${first} AS at FROM ${rest} ORDER BY ${key} LIMIT 1`, [from])) as {
      at: string;
    }[];
    if (row === undefined) return;
    from = row.at;
    if (table === LEDGER && (await hasTrigger(runner, 'tr_cashback_entries_no_update')))
      await runner.query('DROP TRIGGER IF EXISTS tr_cashback_entries_no_update');
    await runner.query(
      `UPDATE ${table} SET merchant_id = (SELECT p.merchant_id FROM ${parent} p WHERE p.id = ${table}.${parentId})
        WHERE ${first} >= ? AND merchant_id = '' ORDER BY ${key} LIMIT ${BATCH}`,
      [from],
    );
  }
}

/** Rejects UPDATE on the ledger, as before. */
function closeLedger(runner: QueryRunner): Promise<void> {
  return createTrigger(
    runner,
    `tr_cashback_entries_no_update BEFORE UPDATE ON cashback_entries FOR EACH ROW
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'cashback_entries is append-only: a correction is a new entry'`,
    'cashback_entries is not closed to UPDATE',
  );
}

/** Returns the clauses that replace indexes. */
function replace(indexes: Change['indexes'], by: 'before' | 'after'): string[] {
  return Object.entries(indexes).flatMap(([index, columns]) => [
    `DROP INDEX ${nameOf(index)}`,
    `ADD ${index} (${columns[by]})`,
  ]);
}

const nameOf = (index: string): string => index.slice(index.lastIndexOf(' ') + 1);
