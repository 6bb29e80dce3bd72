// @ts-check
import { creations } from '../operations.mjs';
import { cells, HEADS, medianRatio, medians, printTable } from '../report.mjs';
import { alternate, warmUp } from '../rounds.mjs';
import { addWallets, logIn, openShop } from '../seed.mjs';

const CONNECTIONS = 10;

/** @typedef {{ name: string, creditsEach: number, kind: 'live' | 'spent' | 'expired' }} Customer */

/** Live credits have to be added up one by one; those that were spent, or that lapsed, should cost next to nothing. @type {Customer[]} */
const CUSTOMERS = [
  { name: '1 credit', creditsEach: 1, kind: 'live' },
  { name: '100 credits', creditsEach: 100, kind: 'live' },
  { name: '10000 credits', creditsEach: 10_000, kind: 'live' },
  { name: '10000 expired credits', creditsEach: 10_000, kind: 'expired' },
  { name: '10000 spent credits', creditsEach: 10_000, kind: 'spent' },
];

/**
 * Order creation for customers with few and with many credits.
 *
 * @param {import('../lab.mjs').Lab} lab
 * @param {import('../bench.mjs').Plan} plan
 */
export async function measureCredits(lab, plan) {
  const shop = await openShop(lab, 'bench_credits');
  const { url, pid, stop } = await lab.startService(shop.schema);
  const token = await logIn(url);
  const contenders = [];
  for (const [index, { name, ...credits }] of CUSTOMERS.entries()) {
    const firstDocument = 20_000_000_000 + index;
    await addWallets(lab, shop, { count: 1, firstDocument, prefix: `0193100${index}`, ...credits });
    contenders.push({ name, url, pid, steps: creations(token, String(firstDocument)), connections: CONNECTIONS });
  }
  await lab.sql(shop.schema, 'ANALYZE TABLE wallets, cashback_credits');
  await warmUp(contenders.slice(0, 1));
  lab.say('Order creation against the number of credits');
  const measured = await alternate(contenders, plan);
  const one = measured['1 credit'] ?? [];
  const results = Object.entries(measured).map(([name, rounds]) => ({
    name,
    ...medians(rounds),
    timeToOne: medianRatio(one, rounds, 'perSecond'),
  }));
  printTable(
    `Order creation at ${CONNECTIONS} connections against the credits of the customer`,
    ['customer with', ...HEADS, 'time/one'],
    results.map((row) => [row.name, ...cells(row), row.timeToOne.toFixed(2)]),
  );
  await stop();
  return results;
}
