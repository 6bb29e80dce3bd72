import type { Service } from './service.js';
import type { Entry, Shop, Wallet } from './shop.js';

/** The wallet of a customer as POST /wallets/search returns it. */
export const walletOf = (merchant: Shop, document: string): PromiseLike<Wallet> => merchant.wallet(document);

/** All entries of a customer, oldest first. */
export const statementOf = (merchant: Shop, document: string): Promise<Entry[]> => merchant.statement(document);

/** All entries of a customer in short form, such as `earn 7.50`, oldest first. */
export const movementsOf = (merchant: Shop, document: string): Promise<string[]> => merchant.movements(document);

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
