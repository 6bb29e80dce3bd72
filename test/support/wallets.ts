import type { TestMerchant } from './factories.js';
import type { Service } from './service.js';

/** The wallet of a customer as POST /wallets/search returns it. */
export async function walletOf(merchant: TestMerchant, document: string): Promise<any> {
  const { status, body } = await merchant.client.post('/wallets/search', { document });
  if (status !== 200) throw new Error(`the search was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** All entries of a customer, oldest first. */
export async function statementOf(merchant: TestMerchant, document: string): Promise<any[]> {
  const { id } = await walletOf(merchant, document);
  const pages = await merchant.client.pages(`/wallets/${id}/entries?limit=100`);
  return pages.flatMap(({ data }) => data).reverse();
}

/** All entries of a customer in short form, such as `earn 7.50`, oldest first. */
export async function movementsOf(merchant: TestMerchant, document: string): Promise<string[]> {
  return (await statementOf(merchant, document)).map(({ kind, amount }) => `${kind} ${amount}`);
}

/** Runs SQL on the database of the service. @returns the rows. */
export function rowsOf(service: Service, sql: string, values: unknown[] = []): Promise<any[]> {
  return service.dataSource.query(sql, values);
}

/** The instant a number of days after another one, formatted as in a response. */
export function daysAfter(instant: string, days: number): string {
  return new Date(Date.parse(instant) + days * 86_400_000).toISOString();
}

/** The beginning of the day in São Paulo (UTC-3) that is a number of days after the day of an instant. */
export function startOfDayAfter(instant: string, days: number): string {
  const local = new Date(Date.parse(instant) - 3 * 3_600_000).toISOString().slice(0, 10);
  return new Date(Date.parse(local) + days * 86_400_000 + 3 * 3_600_000).toISOString();
}
