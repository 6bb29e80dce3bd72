import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Cashback } from '../../clients/typescript/src/index.js';
import type * as Example from '../../clients/typescript/examples/shop.js';

export type { Shop } from '../../clients/typescript/examples/shop.js';

/** The example of a shop, in one file of JavaScript with its client. */
export interface ShopExample {
  /** Where it is, and where tests can put the databases of shops. */
  folder: string;
  bundle: string;
  module: typeof Example;
  remove(): void;
}

export async function shopExample(): Promise<ShopExample> {
  mkdirSync('dist', { recursive: true });
  const folder = mkdtempSync(path.resolve('dist/shop-'));
  const bundle = path.join(folder, 'shop.mjs');
  const options = ['--bundle', '--platform=node', '--format=esm', '--log-level=warning', `--outfile=${bundle}`];
  execFileSync('node_modules/.bin/esbuild', ['clients/typescript/examples/shop.ts', ...options]);
  const module = (await import(bundle)) as typeof Example;
  return { folder, bundle, module, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** What a shop's payments of an order add up to, in centavos. */
export const paidFor = ({ data }: Example.Shop, order: string): number =>
  Object.values(data.payments)
    .filter((payment) => payment.order === order)
    .reduce((sum, { amount }) => sum + Math.round(Number(amount) * 100), 0);

/** What an order costs after its refunds, in centavos; nothing if it is not completed. */
export async function costOf({ orders }: Cashback, externalId: string): Promise<number> {
  const { status, amount_to_pay, refunded } = await orders.byExternalId(externalId);
  const isSold = ['completed', 'partially_refunded', 'refunded'].includes(status);
  return isSold ? Math.round((Number(amount_to_pay) - Number(refunded.amount_to_pay_back)) * 100) : 0;
}
