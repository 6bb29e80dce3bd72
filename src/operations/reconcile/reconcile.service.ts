import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { DatabaseServer } from '../../platform/database/database-server.js';
import { UnitOfWork } from '../../platform/database/unit-of-work.js';
import { Clock } from '../../platform/values/time.js';
import { ENTRY_CHECKS } from './entry-checks.js';
import { FEED_CHECKS } from './feed-checks.js';
import { readOrders } from './order-record.js';
import { brokenRules } from './order-rules.js';
import { type Finding, inPage, LAST_ID, type Page, queryPage, type SqlChecks } from './page.js';
import { REFUND_CHECKS } from './refund-checks.js';
import { missingChecks, missingKeys, missingTriggers } from './schema-checks.js';
import { POSITION_CHECKS, wrongSums } from './sum-checks.js';
import { CREDIT_CHECKS, WALLET_CHECKS } from './wallet-checks.js';

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
export interface Observer {
  onFinding?: (finding: Finding) => void;
  onProgress?: (progress: Progress) => void;
}

/** Wallets or orders per snapshot, so that memory use does not grow with their number. */
const PAGE_SIZE = 1000;

/** Maximum number of findings per check and page. */
const FINDINGS_OF_A_CHECK = 100;

const CHECKS_BY_WALLET: SqlChecks = {
  ...WALLET_CHECKS,
  ...ENTRY_CHECKS,
  ...CREDIT_CHECKS,
  ...FEED_CHECKS,
  ...POSITION_CHECKS,
};

const CHECKS_BY_ORDER: SqlChecks = REFUND_CHECKS;

/** A check of all rows of a table. Each page is checked on one consistent snapshot. */
interface Pass {
  table: keyof Progress;
  pages: AsyncGenerator<Page & { rows: number }>;
  checkPage: (manager: EntityManager, page: Page) => Promise<void>;
}

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
      result.warnings = [...this.server.warnings, ...(await missingTriggers(manager))];
      return (manager.dataSource.options as { poolSize?: number }).poolSize;
    });
    const wallets = this.#pass('wallets', async (manager, page) => {
      report(await brokenChecks(manager, CHECKS_BY_WALLET, page, this.clock.now()));
    });
    const orders = this.#pass('orders', async (manager, page) => {
      report(await brokenChecks(manager, CHECKS_BY_ORDER, page, this.clock.now()));
      for (const order of await readOrders(manager, page)) report(brokenRules(order));
    });
    const check = async (...passes: Pass[]): Promise<void> => {
      for (const { table, pages, checkPage } of passes) {
        for await (const { rows, ...page } of pages) {
          await this.unitOfWork.snapshot((manager) => checkPage(manager, page));
          result[table] += rows;
          onProgress?.({ wallets: result.wallets, orders: result.orders });
        }
      }
    };
    // The database checks the wallets and this process the orders, so both run at once. The one that ends first
    // helps the other.
    await Promise.all(connections === 1 ? [check(wallets, orders)] : [check(wallets, orders), check(orders, wallets)]);
    for await (const findings of wrongSums(this.unitOfWork)) report(findings);
    return result;
  }

  #pass(table: keyof Progress, checkPage: Pass['checkPage']): Pass {
    return { table, pages: this.#pages(table), checkPage };
  }

  async *#pages(table: keyof Progress): Pass['pages'] {
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
