// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { creations } from '../operations.mjs';
import { cells, HEADS, medianRatio, medians, printTable } from '../report.mjs';
import { alternate, warmUp } from '../rounds.mjs';
import { addOrders, logIn, openShop } from '../seed.mjs';

const SMALL = 1000;
const CONNECTIONS = 10;

/**
 * Order creation with few and with many orders in the table. Each table has its own schema and its own process, on one
 * database server, so that they can be measured in turn.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureSize(lab, plan) {
  /** @type {(import('../rounds.mjs').Contender & { bytes: number, stop: () => Promise<void> })[]} */
  const contenders = [];
  for (const orders of plan.orders > SMALL ? [SMALL, plan.orders] : [SMALL]) {
    const shop = await openShop(lab, `bench_size_${orders}`);
    const startedAt = performance.now();
    await addOrders(lab, shop, orders);
    lab.say(`${orders} orders in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
    const bytes = await bytesPerOrder(lab, shop.schema, orders);
    lab.say(`${bytes} bytes on disk for each, indexes included`);
    const { url, pid, stop } = await lab.startService(shop.schema);
    contenders.push({
      name: `${orders} orders`,
      url,
      pid,
      stop,
      bytes,
      steps: creations(await logIn(url)),
      connections: CONNECTIONS,
    });
  }
  await warmUp(contenders);
  lab.say('Order creation against the number of orders');
  const measured = await alternate(contenders, plan);
  const small = measured[`${SMALL} orders`] ?? [];
  const results = Object.entries(measured).map(([name, rounds]) => ({
    name,
    bytesPerOrder: contenders.find((contender) => contender.name === name)?.bytes,
    ...medians(rounds),
    // Time for the same work, so that more than 1 is worse.
    cost: medianRatio(small, rounds, 'perSecond'),
    p99ToSmall: medianRatio(rounds, small, 'p99'),
  }));
  printTable(
    `Order creation at ${CONNECTIONS} connections against the size of the table`,
    ['in the table', ...HEADS, 'time/small', 'p99/small'],
    results.map((row) => [row.name, ...cells(row), row.cost.toFixed(2), row.p99ToSmall.toFixed(2)]),
  );
  for (const { stop } of contenders) await stop();
  return results;
}

/**
 * @param {Lab} lab
 * @param {string} schema
 * @param {number} orders
 * @returns {Promise<number>} as the database estimates it
 */
async function bytesPerOrder(lab, schema, orders) {
  const [row] = await lab.sql(
    schema,
    'ANALYZE TABLE orders',
    "SELECT data_length + index_length AS bytes FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'orders'",
  );
  return Math.round(Number(row?.['bytes']) / orders);
}
