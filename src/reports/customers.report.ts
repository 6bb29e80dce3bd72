import { type Answer } from '../platform/database/reads.js';
import { byOf } from '../platform/http/by.dto.js';
import { Problem } from '../platform/values/problem.js';
import { addDays, startOfDay } from '../platform/values/time.js';
import {
  type FrequentQueryDto,
  type FrequentReportDto,
  type FrequentRowDto,
  type TopQueryDto,
  type TopReportDto,
} from './report.dto.js';
import { boundsOf, completedIn, figures, OF_COMPLETED, refuseDays, refuseMany } from './report.js';

const TOP = `
  SELECT document, COUNT(*) AS orders, SUM(total_cents) AS total, SUM(refunded_cents) AS refunded,
         SUM(redeemed_cents - returned_cents) AS redeemed, SUM(earned_cents - taken_back_cents) AS earned
    ${OF_COMPLETED}
   GROUP BY document ORDER BY SUM(total_cents - refunded_cents) DESC, document LIMIT ?`;

type TopRow = Record<'document' | 'orders' | 'total' | 'refunded' | 'redeemed' | 'earned', string>;

/** Reports the customers who bought most and kept it, because they deserve something. */
export const TOP_CUSTOMERS: Answer<TopQueryDto, TopReportDto> = async (asked) => {
  const parameters = [...completedIn(asked.merchantId, boundsOf(asked)), asked.query.limit];
  const found = await asked.manager.query<TopRow[]>(TOP, parameters);
  const data = found.map((row) => ({
    document: row.document,
    ...figures(row, ['orders'], ['total', 'refunded', 'redeemed', 'earned']),
  }));
  return { data };
};

/** The customers with many orders in a part of time, with the users that completed them, such as `ID=4,ID=1`. */
const FREQUENT = `
  SELECT document, SUM(orders) AS orders, SUM(total) AS total, GROUP_CONCAT(completed_by, '=', orders ORDER BY orders DESC, completed_by) AS users
    FROM (SELECT document, completed_by, COUNT(*) AS orders, SUM(total_cents) AS total
            ${OF_COMPLETED} GROUP BY document, completed_by) x
   GROUP BY document HAVING SUM(orders) >= ? ORDER BY SUM(orders) DESC, document`;

type FrequentRow = Record<'document' | 'orders' | 'total' | 'users', string>;

/**
 * Reports the customers with many orders in a day, because a cashier may complete sales of others with their own CPF.
 *
 * @throws Problem report_too_large, also if the time of one statement is over: on the command line there is no limit.
 */
export const FREQUENT_CUSTOMERS: Answer<FrequentQueryDto, FrequentReportDto> = async (asked) => {
  const { manager, merchantId, query, timeZone } = asked;
  refuseDays(query);
  const endsAt = performance.now() + (manager.dataSource.options.maxQueryExecutionTime ?? Infinity);
  const data: FrequentRowDto[] = [];
  for (let day = query.from, took = 0; day < query.to; day = addDays(day, 1)) {
    const startedAt = performance.now();
    if (startedAt + took > endsAt) throw new Problem('report_too_large');
    const bounds = [startOfDay(day, timeZone), startOfDay(addDays(day, 1), timeZone)];
    const parameters = [...completedIn(merchantId, bounds), query.at_least];
    const found = await manager.query<FrequentRow[]>(FREQUENT, parameters);
    data.push(...found.map((row) => toFrequentDto(day, row)));
    refuseMany(data, 'at_least');
    took = performance.now() - startedAt;
  }
  return { data };
};

const toFrequentDto = (day: string, row: FrequentRow): FrequentRowDto => ({
  ...{ day, document: row.document, ...figures(row, ['orders'], ['total']) },
  completed_by: row.users.split(',').map((user) => {
    const [by = '', count] = user.split('=');
    return Object.assign(byOf(by), { orders: Number(count) });
  }),
});
