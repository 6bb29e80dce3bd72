import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { CREDIT_CHECKS } from './credit-checks.js';
import { ENTRY_CHECKS } from './entry-checks.js';
import { type Finding, LAST_ID, type Page, type SqlChecks } from './finding.js';
import { readOrders, rememberingParse } from './order-record.js';
import { brokenRules } from './order-rules.js';
import { queryPage } from './query-page.js';
import { REFUND_CHECKS } from './refund-checks.js';
import { missingKeys, missingTriggers } from './schema-checks.js';
import { WALLET_CHECKS } from './wallet-checks.js';

/** How many wallets and orders have been checked so far. */
export interface Progress {
  wallets: number;
  orders: number;
}

/** What was checked and found. Warnings are no findings: the money is right, and less protected than it could be. */
export interface Reconciliation extends Progress {
  findings: number;
  warnings: string[];
}

/** Is told what is found, as it is found. */
export interface Observer {
  onFinding?: (finding: Finding) => void;
  onProgress?: (progress: Progress) => void;
}

/** How many wallets or orders one snapshot looks at: memory stays flat however many there are. */
const PAGE_SIZE = 1000;

/** A page on which everything is wrong is known to be so after this many rows of each check. */
const FINDINGS_OF_A_CHECK = 100;

const CHECKS_BY_WALLET: SqlChecks = { ...WALLET_CHECKS, ...ENTRY_CHECKS, ...CREDIT_CHECKS };

/** Proves the rules of the money over the whole database, page by page, while the service runs. It changes nothing. */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /** @returns how much was checked and found; the findings themselves go to the observer. */
  async reconcile({ onFinding, onProgress }: Observer = {}): Promise<Reconciliation> {
    const result: Reconciliation = { wallets: 0, orders: 0, findings: 0, warnings: [] };
    const report = (findings: Iterable<Finding>): void => {
      for (const finding of findings) {
        result.findings++;
        onFinding?.(finding);
      }
    };
    const count = (table: keyof Progress, rows: number): void => {
      result[table] += rows;
      onProgress?.({ wallets: result.wallets, orders: result.orders });
    };
    const canRunAtOnce = await this.unitOfWork.snapshot(async (manager) => {
      report(await missingKeys(manager));
      result.warnings = await missingTriggers(manager);
      return (manager.dataSource.options as { poolSize?: number }).poolSize !== 1;
    });
    const parse = rememberingParse();
    const passes = [
      () =>
        this.#pages('wallets', count, async (manager, page) =>
          report(await brokenChecks(manager, CHECKS_BY_WALLET, page)),
        ),
      () =>
        this.#pages('orders', count, async (manager, page) => {
          report(await brokenChecks(manager, REFUND_CHECKS, page));
          for (const order of await readOrders(manager, page, parse)) report(brokenRules(order, this.clock.now()));
        }),
    ];
    // The wallets keep the database busy while this process computes the orders. One connection cannot serve both.
    if (canRunAtOnce) await Promise.all(passes.map((pass) => pass()));
    else for (const pass of passes) await pass();
    return result;
  }

  /** Every page is one moment of the database: a use case moves all of a wallet, or nothing. */
  async #pages(
    table: keyof Progress,
    count: (table: keyof Progress, rows: number) => void,
    check: (manager: EntityManager, page: Page) => Promise<void>,
  ): Promise<void> {
    for (let after = ''; after !== LAST_ID;) {
      after = await this.unitOfWork.snapshot(async (manager) => {
        const rows = await manager.query<{ id: string }[]>(`SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`, [
          after,
          PAGE_SIZE,
        ]);
        const upto = rows.length < PAGE_SIZE ? LAST_ID : (rows.at(-1)?.id ?? LAST_ID);
        await check(manager, { after, upto });
        count(table, rows.length);
        return upto;
      });
    }
  }
}

async function brokenChecks(manager: EntityManager, checks: SqlChecks, page: Page): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const [invariant, sql] of Object.entries(checks)) {
    const rows = await queryPage<Record<string, unknown>>(manager, `${sql} LIMIT :most`, page, {
      most: FINDINGS_OF_A_CHECK,
    });
    found.push(...rows.map((row) => ({ invariant, ...row })));
  }
  return found;
}
