import { SALES_SUMS } from '../orders/sums.js';
import { decodeCursor, encodeCursor } from '../platform/database/lists.js';
import { type Answer, type Asked } from '../platform/database/reads.js';
import { byOf } from '../platform/http/by.dto.js';
import { Problem } from '../platform/values/problem.js';
import { addDays, SECOND_MS, startOfDay } from '../platform/values/time.js';
import {
  type FrequentQueryDto,
  type FrequentReportDto,
  type FrequentRowDto,
  type TopQueryDto,
  type TopReportDto,
} from './report.dto.js';
import {
  addUp,
  boundsOf,
  completedIn,
  type Days,
  figures,
  MAX_ROWS,
  OF_COMPLETED,
  readSums,
  refuseDays,
  refuseMany,
} from './report.js';

/** The most orders that a request reads. */
const MAX_ORDERS = 300_000;

const TOP = `
  SELECT document, COUNT(*) AS orders, SUM(total_cents) AS total, SUM(refunded_cents) AS refunded,
         SUM(redeemed_cents - returned_cents) AS redeemed, SUM(earned_cents - taken_back_cents) AS earned
    ${OF_COMPLETED}
   GROUP BY document ORDER BY SUM(total_cents - refunded_cents) DESC, document LIMIT ?`;

type TopRow = Record<'document' | 'orders' | 'total' | 'refunded' | 'redeemed' | 'earned', string>;

/** Reports the customers who bought most and kept it, because they deserve something. */
export const TOP_CUSTOMERS: Answer<TopQueryDto, TopReportDto> = async (asked) => {
  refuseDays(asked.query);
  await refuseManyOrders(asked, asked.query);
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

/** How long a page reads days. What is left is for the next one. */
const PAGE_MS = 2 * SECOND_MS;

const LIST = 'frequent';

/** Reports the customers with many orders in a day: a cashier may complete sales of others with their own CPF. */
export const FREQUENT_CUSTOMERS: Answer<FrequentQueryDto, FrequentReportDto> = async (asked) => {
  const { manager, merchantId, query, timeZone } = asked;
  refuseDays(query);
  const endsAt = performance.now() + PAGE_MS;
  const data: FrequentRowDto[] = [];
  let day = query.from;
  if (query.cursor !== undefined) {
    const [at] = decodeCursor(LIST, query.cursor, ['number']);
    day = [new Date(at).toISOString().slice(0, 10), query.from].sort()[1]!;
  }
  let longestMs = 0;
  for (const first = day; day < query.to; day = addDays(day, 1)) {
    const to = addDays(day, 1);
    const startedAt = performance.now();
    const isNext = day > first && (startedAt + longestMs > endsAt || (await hasManyOrders(asked, { from: day, to })));
    if (isNext || data.length > MAX_ROWS / 2) return { data, next_cursor: encodeCursor(LIST, [Date.parse(day)]) };
    if (day === first) await refuseManyOrders(asked, { from: day, to });
    const bounds = [startOfDay(day, timeZone), startOfDay(to, timeZone)];
    const parameters = [...completedIn(merchantId, bounds), query.at_least];
    const found = await manager.query<FrequentRow[]>(FREQUENT, parameters);
    data.push(...found.map((row) => toFrequentDto(day, row)));
    refuseMany(data, 'at_least');
    longestMs = Math.max(longestMs, performance.now() - startedAt);
  }
  return { data, next_cursor: null };
};

/** Whether more orders were completed in these days than a request reads. */
async function hasManyOrders(asked: Asked, days: Days): Promise<boolean> {
  const { rows } = await readSums({ ...asked, query: days }, [SALES_SUMS]);
  return addUp(rows, ['orders']).orders > MAX_ORDERS;
}

async function refuseManyOrders(asked: Asked, days: Days): Promise<void> {
  if (await hasManyOrders(asked, days)) throw new Problem('too_many_orders', { maximum: MAX_ORDERS });
}

const toFrequentDto = (day: string, row: FrequentRow): FrequentRowDto => ({
  ...{ day, document: row.document, ...figures(row, ['orders'], ['total']) },
  completed_by: row.users.split(',').map((user) => {
    const [by = '', count] = user.split('=');
    return Object.assign(byOf(by), { orders: Number(count) });
  }),
});
