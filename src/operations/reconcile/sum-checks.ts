import { type EntityManager } from 'typeorm';
import { SumPosition } from '../../merchants/merchant.entity.js';
import { type AnyDaySums } from '../../platform/database/day-sums.js';
import { type UnitOfWork } from '../../platform/database/unit-of-work.js';
import { addDays, dayOf, startOfDay } from '../../platform/values/time.js';
import { groupBy } from '../../platform/values/group-by.js';
import { ALL_SUMS } from '../../reports/sums.js';
import { type Finding } from './page.js';

/** The sums by their table: a table can have sums of several kinds of rows. */
const TABLES = groupBy(Object.values(ALL_SUMS), ({ table }) => table);

/** Compares all sums of a merchant with their rows, each day on one snapshot. */
export async function* wrongSums(
  unitOfWork: UnitOfWork,
  merchantId: string,
  timeZone: string,
): AsyncGenerator<Finding[]> {
  for (const sums of TABLES.values())
    for (let last: string | undefined; ;) {
      const checked = await unitOfWork.snapshot((manager) => checkNextDay(manager, sums, merchantId, timeZone, last));
      if (checked === undefined) break;
      yield checked.findings;
      last = checked.day;
    }
}

/** Checks the first day after another one that has rows that are summed, or sums. */
async function checkNextDay(
  manager: EntityManager,
  all: readonly AnyDaySums[],
  merchantId: string,
  timeZone: string,
  last?: string,
): Promise<{ day: string; findings: Finding[] } | undefined> {
  const { table } = all[0]!;
  const from = last === undefined ? new Date(0) : startOfDay(addDays(last, 1), timeZone);
  const [sum] = await manager.query<{ day: string | null }[]>(
    `SELECT MIN(day) AS day FROM ${table} WHERE merchant_id = ? AND day > ?`,
    [merchantId, last ?? ''],
  );
  const days = [sum?.day ?? undefined];
  const ends: Date[] = [];
  for (const sums of all) {
    const position = await manager.findOneBy(SumPosition, { merchantId, sums: sums.name });
    const first = await sums.firstFrom(manager, merchantId, from);
    ends.push(position?.summedUntil ?? new Date(0));
    if (first !== undefined && first < ends.at(-1)!) days.push(dayOf(first, timeZone));
  }
  const [day] = days.filter((found) => found !== undefined).sort();
  if (day === undefined) return undefined;
  const [start, end] = [startOfDay(day, timeZone), startOfDay(addDays(day, 1), timeZone)];
  const sources = ends.flatMap((summedUntil) => [day, merchantId, start, end < summedUntil ? end : summedUntil]);
  const wrong = await manager.query<object[]>(statementFor(all), [merchantId, day, ...sources]);
  const of = { invariant: 'the sums of a day are those of its rows', table, merchant_id: merchantId, day };
  return { day, findings: wrong.map((figures) => ({ ...of, ...figures })) };
}

/** Returns a statement with the sums of a day, and of its rows (`source_…`), where these differ. */
function statementFor(all: readonly AnyDaySums[]): string {
  const { table, dimensions, measures } = all[0]!;
  const keys = dimensions.join(', ');
  const columnsOf = (of: (measure: string) => string): string => measures.map(of).join(', ');
  const rows = all.map(
    (sums) =>
      `SELECT ${keys}, ${columnsOf(() => '0')}, ${columnsOf((name) => name)} FROM (${sums.statement()}) of_${sums.name}`,
  );
  return `
    SELECT ${keys}, ${columnsOf((name) => `SUM(${name}) AS ${name}, SUM(source_${name}) AS source_${name}`)}
      FROM (SELECT ${keys}, ${columnsOf((name) => name)}, ${columnsOf((name) => `0 AS source_${name}`)}
              FROM ${table} WHERE merchant_id = ? AND day = ?
             UNION ALL ${rows.join(' UNION ALL ')}) both_sums
     GROUP BY ${keys}
    HAVING ${measures.map((name) => `SUM(${name}) <> SUM(source_${name})`).join(' OR ')}
     LIMIT 100`;
}
