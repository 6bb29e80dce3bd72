import { Injectable } from '@nestjs/common';
import { readUserNames } from '../auth/user-names.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { exactCents, formatMoney } from '../platform/values/money.js';
import { Problem } from '../platform/values/problem.js';
import { addDays, startOfDay } from '../platform/values/time.js';
import { refuseMany, refusePeriod } from './limits.js';
import { type FrequentReportDto, type TopReportDto } from './report.dto.js';

const MAX_DAYS = 31;

/** The customers with many orders in a part of time, with the users that completed them, such as `ID=4,ID=1`. */
const CUSTOMERS = `
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

type TopRow = Record<'document' | 'orders' | 'total' | 'refunded' | 'redeemed' | 'earned', string>;

interface CustomerRow {
  document: string;
  orders: string;
  cents: string;
  users: string;
}

/**
 * Reports customers with many orders: in a day, because a cashier may complete sales of others with their own CPF, and
 * in a period, because the best customers deserve something.
 */
@Injectable()
export class FrequentService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
  ) {}

  /** @throws Problem validation_failed for a period or rows as they must not be; report_too_large. */
  async report(
    merchantId: string,
    options: { from: string; to: string; at_least: number },
  ): Promise<FrequentReportDto> {
    refusePeriod(options, MAX_DAYS);
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    return this.unitOfWork.snapshot(async (manager) => {
      const found: (CustomerRow & { day: string })[] = [];
      // All days have the time of one statement: on the command line there is no limit.
      const endsAt = performance.now() + (manager.dataSource.options.maxQueryExecutionTime ?? Infinity);
      for (let day = options.from, took = 0; day < options.to; day = addDays(day, 1)) {
        const startedAt = performance.now();
        if (startedAt + took > endsAt) throw new Problem('report_too_large');
        const bounds = [startOfDay(day, timeZone), startOfDay(addDays(day, 1), timeZone)];
        const parameters = [merchantId, COMPLETED_STATUSES, ...bounds, options.at_least];
        found.push(...(await manager.query<CustomerRow[]>(CUSTOMERS, parameters)).map((row) => ({ day, ...row })));
        refuseMany(found, 'at_least');
        took = performance.now() - startedAt;
      }
      const usersOf = ({ users }: CustomerRow): [string, number][] =>
        users.split(',').map((user) => [user.split('=')[0]!, Number(user.split('=')[1])]);
      const whoIs = await readUserNames(
        manager,
        found.flatMap(usersOf).map(([by]) => by),
      );
      return {
        data: found.map((row) => ({
          day: row.day,
          document: row.document,
          orders: Number(row.orders),
          total: formatMoney(exactCents(row.cents)),
          completed_by: usersOf(row).map(([by, orders]) => ({ ...whoIs(by)!, orders })),
        })),
      };
    });
  }

  /** @throws Problem validation_failed for an empty period or one that is too long. */
  async top(merchantId: string, options: { from: string; to: string; limit: number }): Promise<TopReportDto> {
    refusePeriod(options, MAX_DAYS);
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    const bounds = [options.from, options.to].map((day) => startOfDay(day, timeZone));
    const parameters = [merchantId, COMPLETED_STATUSES, ...bounds, options.limit];
    const rows = await this.unitOfWork.statement((manager) => manager.query<TopRow[]>(TOP, parameters));
    const money = (cents: string): string => formatMoney(exactCents(cents));
    return {
      data: rows.map(({ document, orders, total, refunded, redeemed, earned }) => ({
        document,
        orders: Number(orders),
        total: money(total),
        refunded: money(refunded),
        redeemed: money(redeemed),
        earned: money(earned),
      })),
    };
  }
}
