import { Injectable } from '@nestjs/common';
import { type EntityManager, type EntityTarget, type ObjectLiteral } from 'typeorm';
import { Credit, Hold } from '../../cashback/credit.entity.js';
import { Debit } from '../../cashback/debit.entity.js';
import { Entry } from '../../cashback/entry.entity.js';
import { GrantTotal } from '../../merchants/grant-totals.js';
import { Grant } from '../../cashback/grant.entity.js';
import { GrantDay, LedgerDay } from '../../cashback/sums.js';
import { Wallet } from '../../cashback/wallet.entity.js';
import { FeedEvent } from '../../events/event.entity.js';
import { CampaignVersion } from '../../merchants/campaign.entity.js';
import { EventFeed, Merchant, PolicyBase, SumPosition } from '../../merchants/merchant.entity.js';
import { CustomerChange } from '../../orders/customer-change.entity.js';
import { Order } from '../../orders/order.entity.js';
import { Refund } from '../../orders/refund.entity.js';
import { RefundDay, SalesDay } from '../../orders/sums.js';
import { DatabaseServer } from '../../platform/database/database-server.js';
import { readInstant } from '../../platform/database/rows.js';
import { UnitOfWork } from '../../platform/database/unit-of-work.js';
import { OPERATOR } from '../../platform/values/caller.js';
import { beforeIdsOf } from '../../platform/values/ids.js';
import { Clock, dayOf, startOfDay } from '../../platform/values/time.js';
import { FEED_CHECKS } from './feed-checks.js';
import { MERCHANT_CHECKS, REFUND_CHECKS, WALLET_CHECKS } from './ledger-checks.js';
import { readOrders } from './order-record.js';
import { brokenRules } from './order-rules.js';
import { type Finding, inPage, LAST_ID, type Page, queryPage, type SqlChecks } from './page.js';
import { wrongSums } from './sum-checks.js';

export interface Progress {
  wallets: number;
  orders: number;
}

/** The number of checked rows and of findings. Warnings are not findings: the money is correct but less protected. */
export interface Reconciliation extends Progress {
  findings: number;
  warnings: string[];
}

/** Receives findings and progress during the check. */
interface Observer {
  onFinding?: (finding: Finding) => void;
  onProgress?: (progress: Progress) => void;
}

/** Wallets or orders per snapshot, so that memory use does not grow with their number. */
const PAGE_SIZE = 1000;

/** Maximum number of findings per check and page. */
const FINDINGS_OF_A_CHECK = 100;

const CHECKS = { wallets: { ...WALLET_CHECKS, ...FEED_CHECKS }, orders: REFUND_CHECKS };

/** The rows of a table. Each page is checked on one consistent snapshot. */
type Pass = [table: keyof Progress, pages: AsyncGenerator<Page & { rows: number }>];

/** Checks the rules of the money over the whole database, page by page, while the service runs. It changes nothing. */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly server: DatabaseServer,
  ) {}

  /** @returns the counts; the findings themselves go to the observer. */
  async reconcile({ onFinding, onProgress }: Observer = {}): Promise<Reconciliation> {
    const result: Reconciliation = { wallets: 0, orders: 0, findings: 0, warnings: [] };
    const report = (findings: Iterable<Finding>): void => {
      for (const finding of findings) {
        result.findings++;
        onFinding?.(finding);
      }
    };
    const connections = await this.unitOfWork.snapshot(async (manager) => {
      report(await missingKeys(manager));
      report(await missingChecks(manager));
      report(await brokenChecks(manager, MERCHANT_CHECKS, { after: '', upto: LAST_ID }, this.clock.now()));
      result.warnings = [...this.server.warnings, ...(await missingTriggers(manager))];
      return (manager.dataSource.options as { poolSize?: number }).poolSize;
    });
    const check = async (...passes: Pass[]): Promise<void> => {
      for (const [table, pages] of passes) {
        for await (const { rows, ...page } of pages) {
          await this.unitOfWork.snapshot(async (manager) => {
            report(await brokenChecks(manager, CHECKS[table], page, this.clock.now()));
            if (table === 'orders') for (const order of await readOrders(manager, page)) report(brokenRules(order));
          });
          result[table] += rows;
          onProgress?.({ wallets: result.wallets, orders: result.orders });
        }
      }
    };
    const wallets: Pass = ['wallets', this.#pages('wallets')];
    const orders: Pass = ['orders', this.#pages('orders')];
    // The database checks the wallets and this process the orders, so both run at once. The one that ends first
    // helps the other.
    await Promise.all(connections === 1 ? [check(wallets, orders)] : [check(wallets, orders), check(orders, wallets)]);
    for await (const findings of wrongTotals(this.unitOfWork)) report(findings);
    return result;
  }

  async *#pages(table: keyof Progress): Pass[1] {
    for (let after = ''; after !== LAST_ID;) {
      const sql = `SELECT id FROM ${table} WHERE ${inPage('id')} ORDER BY id LIMIT ${PAGE_SIZE}`;
      const ids = await this.unitOfWork.statement((manager) =>
        queryPage<{ id: string }>(manager, sql, { after, upto: LAST_ID }),
      );
      const upto = ids.length < PAGE_SIZE ? LAST_ID : (ids.at(-1)?.id ?? LAST_ID);
      yield { after, upto, rows: ids.length };
      after = upto;
    }
  }
}

async function brokenChecks(manager: EntityManager, checks: SqlChecks, page: Page, now: Date): Promise<Finding[]> {
  const found: Finding[] = [];
  const others = { most: FINDINGS_OF_A_CHECK, now };
  for (const [invariant, sql] of Object.entries(checks)) {
    const rows = await queryPage<Record<string, unknown>>(manager, `${sql} LIMIT :most`, page, others);
    found.push(...rows.map((row) => ({ invariant, ...row })));
  }
  return found;
}

const MONEY = [Wallet, Credit, Grant, GrantTotal, Debit, Hold, Entry, Order, Refund, CustomerChange];
const SUMS = [SumPosition, LedgerDay, GrantDay, SalesDay, RefundDay];
const RULES = [PolicyBase, CampaignVersion];
const ENTITIES: EntityTarget<ObjectLiteral>[] = [...MONEY, ...SUMS, ...RULES, EventFeed, FeedEvent];

/** Primary and unique keys decide races, so each must exist. They are compared by columns, not by name. */
async function missingKeys(manager: EntityManager): Promise<Finding[]> {
  // The columns of each key in alphabetical order.
  const declared = ENTITIES.map((entity) => manager.dataSource.getMetadata(entity)).flatMap(
    ({ tableName: table, primaryColumns, indices }) =>
      [primaryColumns, ...indices.filter((index) => index.isUnique).map((index) => index.columns)].map((columns) => {
        const names = columns.map((column) => column.databaseName).sort();
        return { table, columns: names.join(',') };
      }),
  );
  const missing = await missingIn(
    manager,
    // A key on a prefix of a column would refuse too many rows, and one with more columns too few.
    `SELECT CONCAT(table_name, ' ', GROUP_CONCAT(column_name ORDER BY column_name)) AS name
       FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND non_unique = 0
      GROUP BY table_name, index_name
     HAVING SUM(sub_part IS NOT NULL) = 0`,
    declared.map((key) => [`${key.table} ${key.columns}`, key]),
  );
  return missing.map((key) => ({ invariant: 'the unique keys are in place', ...key }));
}

/** Texts that SQL compares. Comparisons ignore blanks at the end, so a check refuses them. */
const CHECK_CONSTRAINTS = ['orders_store', 'refunds_store', 'cashback_credits_store', 'cashback_credits_reason']
  .concat('debits_store', 'cashback_entries_store', 'ledger_days_store', 'ledger_days_credit_store')
  .concat('sales_days_store', 'refund_days_store', 'grant_days_reason')
  .map((column) => `ck_${column}`);

async function missingChecks(manager: EntityManager): Promise<Finding[]> {
  const missing = await missingIn(
    manager,
    `SELECT constraint_name AS name FROM information_schema.check_constraints
      WHERE constraint_schema = DATABASE() AND check_clause LIKE '%like%'`,
    CHECK_CONSTRAINTS.map((name) => [name, name]),
  );
  return missing.map((check) => ({ invariant: 'no text that is compared ends in a blank', check }));
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
const missingTriggers = (manager: EntityManager): Promise<string[]> =>
  missingIn(
    manager,
    `SELECT CONCAT(event_manipulation, ' ', event_object_table) AS name FROM information_schema.triggers
      WHERE event_object_schema = DATABASE() AND action_timing = 'BEFORE'`,
    Object.entries(TRIGGERS),
  );

/** Returns what is declared under the names that a query does not find. */
async function missingIn<T>(manager: EntityManager, sql: string, declared: [name: string, T][]): Promise<T[]> {
  const rows = await manager.query<{ name: string }[]>(sql);
  const present = new Set(rows.map(({ name }) => name));
  return declared.filter(([name]) => !present.has(name)).map(([, what]) => what);
}

const LAST_GRANT = `
  SELECT c.created_at AS at FROM cashback_credits c WHERE c.id = (
    SELECT MAX(credit_id) FROM cashback_grants FORCE INDEX (ix_cashback_grants_user)
     WHERE merchant_id = ? AND created_by <> '${OPERATOR}') AND c.merchant_id = ?`;

/** What each user, and all of a merchant, granted since the beginning of a day, where the total of the day is lower. */
const LOW_TOTALS = `
  SELECT g.subject_id, g.cents, t.day, t.granted_cents
    FROM (SELECT COALESCE(g.created_by, '') AS subject_id, SUM(c.amount_cents) AS cents
            FROM cashback_grants g FORCE INDEX (ix_cashback_grants_merchant)
            JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
           WHERE g.merchant_id = ? AND g.credit_id >= ? AND g.created_by <> '${OPERATOR}'
           GROUP BY g.created_by WITH ROLLUP) g
    LEFT JOIN grant_totals t ON t.merchant_id = ? AND t.subject_id = IF(g.subject_id = '', ?, g.subject_id)
   WHERE NOT COALESCE(t.day > ? OR (t.day = ? AND t.granted_cents >= g.cents), FALSE) LIMIT 100`;

/** Checks that all grants of the last day on which users granted count for the maximum of a day. */
async function lowTotals(manager: EntityManager, merchantId: string, timeZone: string): Promise<Finding[]> {
  const last = await readInstant(manager, LAST_GRANT, [merchantId, merchantId]);
  if (last === undefined) return [];
  const day = dayOf(last, timeZone);
  const since = beforeIdsOf(startOfDay(day, timeZone));
  const low = await manager.query<object[]>(LOW_TOTALS, [merchantId, since, merchantId, merchantId, day, day]);
  const invariant = 'the total of a day has all grants of its users';
  return low.map((figures) => ({ invariant, merchant_id: merchantId, ...figures }));
}

/** Compares the sums of all merchants with their rows, and the totals of users with their grants. */
async function* wrongTotals(unitOfWork: UnitOfWork): AsyncGenerator<Finding[]> {
  const merchants = await unitOfWork.statement((manager) => manager.find(Merchant, { order: { id: 'ASC' } }));
  for (const { id, policy } of merchants) {
    yield await unitOfWork.snapshot((manager) => lowTotals(manager, id, policy.timeZone));
    yield* wrongSums(unitOfWork, id, policy.timeZone);
  }
}
