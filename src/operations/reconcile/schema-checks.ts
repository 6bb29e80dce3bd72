import { type EntityManager, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { Credit, Hold } from '../../cashback/credit.entity.js';
import { Entry } from '../../cashback/entry.entity.js';
import { GrantTotal } from '../../cashback/grant-totals.js';
import { Grant } from '../../cashback/grant.entity.js';
import { Wallet } from '../../cashback/wallet.entity.js';
import { FeedEvent } from '../../events/event.entity.js';
import { LedgerPosition, EventFeed } from '../../merchants/merchant.entity.js';
import { CustomerChange } from '../../orders/customer-change.entity.js';
import { Order } from '../../orders/order.entity.js';
import { Refund } from '../../orders/refund.entity.js';
import { LedgerDay } from '../../reports/sums.js';
import { type Finding } from './page.js';

const MONEY = [Wallet, Credit, Grant, GrantTotal, Hold, Entry, Order, Refund, CustomerChange];
const ENTITIES: EntityTarget<ObjectLiteral>[] = [...MONEY, EventFeed, FeedEvent, LedgerPosition, LedgerDay];

interface UniqueKey {
  table: string;
  columns: string;
}

/** Primary and unique keys decide races, so each must exist. They are compared by columns, not by name. */
export async function missingKeys(manager: EntityManager): Promise<Finding[]> {
  const rows = await manager.query<{ of_table: string; columns: string }[]>(
    // A key on a prefix of a column would refuse too many rows, and one with more columns too few.
    `SELECT table_name AS of_table, GROUP_CONCAT(column_name ORDER BY column_name) AS columns
       FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND non_unique = 0
      GROUP BY table_name, index_name
     HAVING SUM(sub_part IS NOT NULL) = 0`,
  );
  const present = new Set(rows.map((row) => `${row.of_table} ${row.columns}`));
  return uniqueKeys(manager)
    .filter(({ table, columns }) => !present.has(`${table} ${columns}`))
    .map(({ table, columns }) => ({ invariant: 'the unique keys are in place', table, columns }));
}

/** The unique keys that the entities declare, each with its columns in alphabetical order. */
function uniqueKeys(manager: EntityManager): UniqueKey[] {
  return ENTITIES.map((entity) => manager.dataSource.getMetadata(entity)).flatMap(
    ({ tableName: table, primaryColumns, indices }) =>
      [primaryColumns, ...indices.filter((index) => index.isUnique).map((index) => index.columns)].map((columns) => ({
        table,
        columns: columns
          .map((column) => column.databaseName)
          .sort()
          .join(','),
      })),
  );
}

/** Texts that SQL compares. Comparisons ignore blanks at the end, so a check refuses them. */
const CHECKS = ['orders_store', 'refunds_store', 'cashback_credits_store', 'cashback_credits_reason']
  .concat('cashback_entries_store', 'ledger_days_store', 'ledger_days_credit_store')
  .map((column) => `ck_${column}`);

export async function missingChecks(manager: EntityManager): Promise<Finding[]> {
  const rows = await manager.query<{ name: string }[]>(
    `SELECT constraint_name AS name FROM information_schema.check_constraints
      WHERE constraint_schema = DATABASE() AND check_clause LIKE '%like%'`,
  );
  const present = new Set(rows.map(({ name }) => name));
  return CHECKS.filter((name) => !present.has(name)).map((check) => ({
    invariant: 'no text that is compared ends in a blank',
    check,
  }));
}

/** The triggers that protect what never changes, as `<event> <table>`, and what is missing without them. */
const TRIGGERS = {
  'INSERT cashback_entries': 'no trigger checks the signs of new entries in cashback_entries',
  'UPDATE cashback_entries': 'no trigger closes cashback_entries to UPDATE',
  'DELETE cashback_entries': 'no trigger closes cashback_entries to DELETE',
  'UPDATE audit_log': 'no trigger closes audit_log to UPDATE',
  'DELETE audit_log': 'no trigger closes audit_log to DELETE',
  'UPDATE deployment': 'no trigger closes deployment to UPDATE',
  'DELETE deployment': 'no trigger closes deployment to DELETE',
};

/** They are optional: not every server lets a migration create triggers. */
export async function missingTriggers(manager: EntityManager): Promise<string[]> {
  const rows = await manager.query<{ name: string }[]>(
    `SELECT CONCAT(event_manipulation, ' ', event_object_table) AS name FROM information_schema.triggers
      WHERE event_object_schema = DATABASE() AND action_timing = 'BEFORE'`,
  );
  const present = new Set(rows.map(({ name }) => name));
  return Object.entries(TRIGGERS).flatMap(([name, warning]) => (present.has(name) ? [] : [warning]));
}
