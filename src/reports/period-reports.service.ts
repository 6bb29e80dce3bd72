import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { MerchantsService } from '../merchants/merchants.service.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { byOf } from '../platform/http/by.dto.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { exactCents, formatMoney } from '../platform/values/money.js';
import { Problem } from '../platform/values/problem.js';
import { addDays, startOfDay } from '../platform/values/time.js';
import { MAX_ROWS, refuseMany, refusePeriod } from './ledger.service.js';
import { FrequentReportDto, GrantsReportDto, TopReportDto } from './report.dto.js';

const MAX_DAYS = 31;

/** The customers with many orders in a part of time, with the users that completed them, such as `ID=4,ID=1`. */
const FREQUENT = `
  SELECT document, SUM(orders) AS orders, SUM(cents) AS cents, GROUP_CONCAT(completed_by, '=', orders ORDER BY orders DESC, completed_by) AS users
    FROM (SELECT document, completed_by, COUNT(*) AS orders, SUM(total_cents) AS cents FROM orders FORCE INDEX (ix_orders_completion)
           WHERE merchant_id = ? AND status IN (?) AND completed_at >= ? AND completed_at < ? GROUP BY document, completed_by) x
   GROUP BY document HAVING SUM(orders) >= ? ORDER BY SUM(orders) DESC, document`;

/** The customers who bought most and kept it. */
const TOP = `
  SELECT document, COUNT(*) AS orders, SUM(total_cents) AS total, SUM(refunded_cents) AS refunded,
         SUM(redeemed_cents - returned_cents) AS redeemed, SUM(earned_cents - taken_back_cents) AS earned
    FROM orders FORCE INDEX (ix_orders_completion)
   WHERE merchant_id = ? AND status IN (?) AND completed_at >= ? AND completed_at < ?
   GROUP BY document ORDER BY SUM(total_cents - refunded_cents) DESC, document LIMIT ?`;

/**
 * The grants of a part of time, which is that of their IDs, by user and reason. The total is the row without both, and
 * comes first: customers do not add up. A wallet is a customer, also an erased one.
 */
const GRANTS = `
  SELECT * FROM (
    SELECT g.created_by, COALESCE(c.reason, '') AS reason, COUNT(*) AS grants, COUNT(DISTINCT c.wallet_id) AS customers,
           SUM(c.amount_cents) AS amount, SUM(COALESCE(g.voided_cents, 0)) AS voided
      FROM cashback_grants g FORCE INDEX (ix_cashback_grants_merchant)
      JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
     WHERE g.merchant_id = ? AND g.credit_id >= ? AND g.credit_id < ?
     GROUP BY g.created_by, COALESCE(c.reason, '') WITH ROLLUP) x
   WHERE created_by IS NULL OR reason IS NOT NULL
   ORDER BY created_by IS NULL DESC, amount DESC, created_by, reason LIMIT ${MAX_ROWS + 2}`;

const NO_GRANTS = { created_by: null, reason: null, grants: '0', customers: '0', amount: '0', voided: '0' };

type GrantsRow = Record<'grants' | 'customers' | 'amount' | 'voided', string> &
  Record<'created_by' | 'reason', string | null>;

type TopRow = Record<'document' | 'orders' | 'total' | 'refunded' | 'redeemed' | 'earned', string>;

interface FrequentRow {
  document: string;
  orders: string;
  cents: string;
  users: string;
}

interface Period {
  /** The first day. */
  from: string;
  /** The day after the last one. */
  to: string;
}

/** Reports of a period of at most 31 days, which read its orders or grants. */
@Injectable()
export class PeriodReportsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
  ) {}

  /**
   * Returns the customers with many orders in a day, because a cashier may complete sales of others with their own CPF.
   *
   * @throws Problem validation_failed for a period or rows as they must not be; report_too_large.
   */
  async frequent(merchantId: string, options: Period & { at_least: number }): Promise<FrequentReportDto> {
    const data = await this.#read(merchantId, options, async (manager, timeZone) => {
      const found: (FrequentRow & { day: string })[] = [];
      // All days have the time of one statement: on the command line there is no limit.
      const endsAt = performance.now() + (manager.dataSource.options.maxQueryExecutionTime ?? Infinity);
      for (let day = options.from, took = 0; day < options.to; day = addDays(day, 1)) {
        const startedAt = performance.now();
        if (startedAt + took > endsAt) throw new Problem('report_too_large');
        const bounds = [startOfDay(day, timeZone), startOfDay(addDays(day, 1), timeZone)];
        const parameters = [merchantId, COMPLETED_STATUSES, ...bounds, options.at_least];
        found.push(...(await manager.query<FrequentRow[]>(FREQUENT, parameters)).map((row) => ({ day, ...row })));
        refuseMany(found, 'at_least');
        took = performance.now() - startedAt;
      }
      return found;
    });
    return {
      data: data.map(({ day, document, orders, cents, users }) => ({
        ...{ day, document, orders: Number(orders), total: money(cents) },
        completed_by: users.split(',').map((user) => {
          const [by = '', count] = user.split('=');
          return Object.assign(byOf(by), { orders: Number(count) });
        }),
      })),
    };
  }

  /**
   * Returns the customers who bought most and kept it, because they deserve something.
   *
   * @throws Problem validation_failed for an empty period or one that is too long.
   */
  async customers(merchantId: string, options: Period & { limit: number }): Promise<TopReportDto> {
    const data = await this.#read(merchantId, options, (manager, _, bounds) =>
      manager.query<TopRow[]>(TOP, [merchantId, COMPLETED_STATUSES, ...bounds, options.limit]),
    );
    return {
      data: data.map(({ document, orders, total, refunded, redeemed, earned }) => ({
        ...{ document, orders: Number(orders), total: money(total), refunded: money(refunded) },
        ...{ redeemed: money(redeemed), earned: money(earned) },
      })),
    };
  }

  /**
   * Returns who granted how much, and why.
   *
   * @throws Problem validation_failed for an empty period or one that is too long, and for too many rows.
   */
  async grants(merchantId: string, options: Period): Promise<GrantsReportDto> {
    const [total = NO_GRANTS, ...rows] = await this.#read(merchantId, options, (manager, _, bounds) =>
      manager.query<GrantsRow[]>(GRANTS, [merchantId, ...bounds.map(beforeIdsOf)]),
    );
    refuseMany(rows, 'to');
    const data = rows.map((row) => ({ by: byOf(row.created_by!), reason: row.reason || null, ...figuresOf(row) }));
    return { data, total: figuresOf(total) };
  }

  /** Reads the rows of a period on one snapshot. */
  async #read<Row>(
    merchantId: string,
    period: Period,
    read: (manager: EntityManager, timeZone: string, bounds: Date[]) => Promise<Row[]>,
  ): Promise<Row[]> {
    refusePeriod(period, MAX_DAYS);
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    const bounds = [period.from, period.to].map((day) => startOfDay(day, timeZone));
    return this.unitOfWork.snapshot((manager) => read(manager, timeZone, bounds));
  }
}

const money = (cents: string): string => formatMoney(exactCents(cents));

const figuresOf = ({ grants, customers, amount, voided }: GrantsRow): GrantsReportDto['total'] => ({
  grants: Number(grants),
  customers: Number(customers),
  amount: money(amount),
  voided: money(voided),
});
