import type { Service } from './service.js';
import { rowsOf } from './wallets.js';

/*
 * What the database server counts for a request. The counters belong to a database session, so the service must have
 * only one connection.
 */

/** Counts the statements that the server receives for a request. */
export async function statementsOf(service: Service, request: () => PromiseLike<unknown>): Promise<number> {
  // Reading the counter is a statement too.
  return (await growthOf(service, 'Questions', request)) - 1;
}

/** Counts the rows that the server reads for a request. SHOW STATUS reads a row for each counter that it returns. */
export function rowsReadBy(service: Service, request: () => PromiseLike<unknown>): Promise<number> {
  return growthOf(service, 'Handler_read%', request);
}

async function growthOf(service: Service, counters: string, request: () => PromiseLike<unknown>): Promise<number> {
  const sum = async (): Promise<number> => {
    const rows = await rowsOf(service, `SHOW SESSION STATUS LIKE '${counters}'`);
    return rows.reduce((total, { Value }) => total + Number(Value), 0);
  };
  const before = await sum();
  await request();
  return (await sum()) - before;
}
