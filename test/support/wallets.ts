import type { Service } from './service.js';

/** A row of a table, if a test names no type for it. */
export type Row = Record<string, unknown>;

/** Runs SQL on the database of the service. @returns the rows. */
export function rowsOf<T = Row>(service: Service, sql: string, values: unknown[] = []): Promise<T[]> {
  return service.dataSource.query(sql, values);
}

/** The beginning of the day in São Paulo (UTC-3) that is a number of days after the day of an instant. */
export function startOfDayAfter(instant: string | null, days: number): string {
  const local = new Date(Date.parse(String(instant)) - 3 * 3_600_000).toISOString().slice(0, 10);
  return new Date(Date.parse(local) + days * 86_400_000 + 3 * 3_600_000).toISOString();
}
