// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Figures } from '../load.mjs' */
import { drive } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { sales, twoRequestSales } from '../operations.mjs';
import { median, printTable } from '../report.mjs';
import { CUSTOMERS, openShop } from '../seed.mjs';

/** Sales of each kind. */
const WARM_UP_SALES = 5000;

/**
 * Sales in one request, and in two, in turn: a creation and a completion.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureSales(lab, plan) {
  const { schema } = await openShop(lab, 'bench_sales', CUSTOMERS);
  const { url, stop } = await lab.startService(schema);
  const token = await logIn(url);
  const kinds = { one: sales(token), two: twoRequestSales(token) };
  const results = [];
  for (const steps of Object.values(kinds)) await drive({ url, steps, connections: 10, amount: WARM_UP_SALES });
  for (const connections of [1, 10, 50]) {
    lab.say(`sales: in one request and in two, ${connections} connections`);
    const measured = { one: /** @type {Figures[]} */ ([]), two: /** @type {Figures[]} */ ([]) };
    const names = /** @type {const} */ (['one', 'two']);
    for (let round = 0; round < plan.rounds; round += 1)
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        const { operations } = await drive({ url, steps: kinds[name], connections, duration: plan.seconds });
        // The last request of a sale ends it.
        measured[name].push(/** @type {Figures} */ (Object.values(operations).at(-1)));
        await lab.untilDatabaseRests();
      }
    const { one, two } = measured;
    const of = (/** @type {Figures[]} */ rounds) => median(rounds.map(({ perSecond }) => perSecond));
    const ratio = median(one.map(({ perSecond }, round) => perSecond / (two[round]?.perSecond ?? NaN)));
    const refused = [...one, ...two].reduce((sum, figures) => sum + figures.refused, 0);
    results.push({ connections, one: of(one), two: of(two), ratio, p99: median(one.map(({ p99 }) => p99)), refused });
  }
  const rows = results.map(({ connections, one, two, ratio, p99, refused }) => [
    ...[String(connections), one.toFixed(0), two.toFixed(0), ratio.toFixed(2), p99.toFixed(1), String(refused)],
  ]);
  const heads = ['connections', 'sales/s in one request', 'in two', 'ratio', 'p99 ms of one', 'refused'];
  printTable('Sales in one request', heads, rows);
  await stop();
  return { sales: results };
}
