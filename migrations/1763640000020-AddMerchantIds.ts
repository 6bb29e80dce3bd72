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
 * Then the default goes, so that these instances cannot write a row that the new version would not see, and the rows
 * that they wrote in the meantime are filled in. No statement rewrites a table or blocks writes.
 */
export class AddMerchantIds1763640000020 implements MigrationInterface {
  /** Each batch is a transaction of its own. */
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const change of CHANGES) await addMerchantId(runner, change);
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

async function addMerchantId(runner: QueryRunner, change: Change): Promise<void> {
  const { table, indexes } = change;
  if (!(await hasColumn(runner, table, 'merchant_id')))
    await runner.query(`
      ALTER TABLE ${table} ADD COLUMN merchant_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
        ALGORITHM = INSTANT`);
  await fillIn(runner, change);
  if (await hasDefault(runner, table, 'merchant_id')) {
    const clauses = ['ALTER COLUMN merchant_id DROP DEFAULT', ...replace(indexes, 'after')];
    await runner.query(`ALTER TABLE ${table} ${clauses.join(', ')}, ALGORITHM = INPLACE, LOCK = NONE`);
  }
  await fillIn(runner, change);
  if (table === LEDGER) await closeLedger(runner);
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
    `DROP INDEX ${index.split(' ').at(-1)}`,
    `ADD ${index} (${columns[by]})`,
  ]);
}
