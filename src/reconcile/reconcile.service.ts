import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { ORDER_CHECKS, WALLET_CHECKS } from './reconcile-checks.js';

/** An invariant that does not hold, with the rows' own figures. */
export interface Discrepancy {
  invariant: string;
  [figure: string]: unknown;
}

export interface Reconciliation {
  wallets: number;
  orders: number;
  discrepancies: Discrepancy[];
}

/** How many wallets or orders one snapshot looks at: memory stays flat however many there are. */
const PAGE = 500;

/** A database that went wrong everywhere is known to be so after this many. */
const REPORT_AT_MOST = 1000;

const UNIQUE_KEYS = ['uq_orders_merchant_external_id', 'uq_refunds_order_external_id', 'uq_cashback_credits_order'];

/** Proves the invariants of the money over the whole database, page by page, while the service runs. */
@Injectable()
export class ReconcileService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async reconcile(): Promise<Reconciliation> {
    const discrepancies: Discrepancy[] = await this.unitOfWork.snapshot((manager) => missingKeys(manager));
    const wallets = await this.#pages('wallets', WALLET_CHECKS, discrepancies);
    const orders = await this.#pages('orders', ORDER_CHECKS, discrepancies);
    return { wallets, orders, discrepancies };
  }

  /** Every page is one moment of the database: a use case moves all of a wallet, or nothing. */
  async #pages(table: 'wallets' | 'orders', checks: Record<string, string>, found: Discrepancy[]): Promise<number> {
    let last = '';
    for (let seen = 0; ;) {
      const ids = await this.unitOfWork.snapshot(async (manager) => {
        const rows = await manager.query<{ id: string }[]>(`SELECT id FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`, [
          last,
          PAGE,
        ]);
        const page = rows.map(({ id }) => id);
        if (page.length > 0) found.push(...(await this.#check(manager, checks, page)));
        return page;
      });
      seen += ids.length;
      last = ids.at(-1) ?? last;
      if (ids.length < PAGE || found.length >= REPORT_AT_MOST) return seen;
    }
  }

  async #check(manager: EntityManager, checks: Record<string, string>, ids: string[]): Promise<Discrepancy[]> {
    const found: Discrepancy[] = [];
    for (const [invariant, sql] of Object.entries(checks)) {
      const [text, values] = manager.connection.driver.escapeQueryWithParameters(sql, { ids, now: this.clock.now() });
      const rows = await manager.query<Record<string, unknown>[]>(text, values);
      found.push(...rows.map((row) => ({ invariant, ...row })));
    }
    return found;
  }
}

/** One order an (merchant, external_id), one refund an (order, external_id), one credit an order: unique keys see to it. */
async function missingKeys(manager: EntityManager): Promise<Discrepancy[]> {
  const rows = await manager.query<{ name: string }[]>(
    'SELECT DISTINCT index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0 AND index_name IN (?)',
    [UNIQUE_KEYS],
  );
  const present = new Set(rows.map(({ name }) => name));
  return UNIQUE_KEYS.filter((key) => !present.has(key)).map((key) => ({
    invariant: 'the unique keys are in place',
    missing: key,
  }));
}
