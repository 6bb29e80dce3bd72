// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { drive } from '../load.mjs';
import { creations } from '../operations.mjs';
import { memoryMiB } from '../processes.mjs';
import { cells, HEADS, median, printTable } from '../report.mjs';
import { logIn, openShop } from '../seed.mjs';

const STARTS = 7;
const CONNECTIONS = 10;
/** Every 10th request sends an order again, as callers do. */
const REPEAT_EVERY = 10;
/** Where memory is looked at, as shares of all orders. */
const MARKS = [1 / 8, 1 / 4, 1 / 2, 3 / 4, 1];

/**
 * How long a production process takes from its start until it is ready, and how much memory a process needs that
 * creates many orders.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureEndurance(lab, plan) {
  const shop = await openShop(lab, 'bench_endurance');
  const starts = await measureStarts(lab, shop.schema);
  const memory = plan.created === 0 ? [] : await measureMemory(lab, shop.schema, plan.created);
  return { starts, readyMs: median(starts), memory };
}

/** @param {Lab} lab @param {string} schema with its migrations @returns {Promise<number[]>} milliseconds */
async function measureStarts(lab, schema) {
  const starts = [];
  for (let start = 0; start < STARTS; start += 1) {
    const { readyMs, stop } = await lab.startService(schema);
    starts.push(readyMs);
    await stop();
  }
  lab.say(
    `Ready ${median(starts).toFixed(0)} ms after its start (median of ${STARTS}: ${starts.map((ms) => ms.toFixed(0)).join(', ')})`,
  );
  return starts;
}

/** @param {Lab} lab @param {string} schema @param {number} orders */
async function measureMemory(lab, schema, orders) {
  const service = await lab.startService(schema);
  const results = [{ orders: 0, ...memoryMiB(service.pid), heapMiB: await heapMiB(service.url), figures: nothing() }];
  for (const mark of MARKS) {
    const wanted = Math.round(orders * mark);
    lab.say(`Memory: ${wanted} orders by one process`);
    // A token is good for an hour, which a slow machine may need.
    const steps = creationsAndRepeats(await logIn(service.url));
    const missing = wanted - (await countOrders(lab, schema));
    const amount = Math.ceil((missing * REPEAT_EVERY) / (REPEAT_EVERY - 1));
    const { operations, broken } = await drive({ url: service.url, steps, connections: CONNECTIONS, amount });
    const figures = operations['create'] ?? nothing();
    const memory = { ...memoryMiB(service.pid), heapMiB: await heapMiB(service.url) };
    results.push({
      orders: await countOrders(lab, schema),
      ...memory,
      figures: { ...figures, refused: figures.refused + broken },
    });
  }
  await service.stop();
  printTable(
    `Memory of one process, creating orders at ${CONNECTIONS} connections (every ${REPEAT_EVERY}th sent again)`,
    ['orders created', 'resident MiB', 'peak MiB', 'heap MiB', ...HEADS],
    results.map(({ figures, ...row }) => [
      String(row.orders),
      ...[row.resident, row.peak, row.heapMiB].map((size) => size?.toFixed(0) ?? '?'),
      ...(figures.requests === 0 ? HEADS.map(() => '') : cells(figures)),
    ]),
  );
  return results;
}

/** @param {string} token @returns {import('../load.mjs').Step[]} */
function creationsAndRepeats(token) {
  let count = 0;
  /** @type {ReturnType<import('../load.mjs').Step['request']>} */
  let last = null;
  return creations(token).map((step) => ({
    ...step,
    request: (context) => {
      count += 1;
      if (count % REPEAT_EVERY !== 0 || last === null) last = step.request(context);
      return last;
    },
  }));
}

/** @param {Lab} lab @param {string} schema */
async function countOrders(lab, schema) {
  const [row] = await lab.sql(schema, 'SELECT COUNT(*) AS orders FROM orders');
  return Number(row?.['orders']);
}

/**
 * What the objects of JavaScript take, those that nobody needs any more included.
 *
 * @param {string} url
 */
async function heapMiB(url) {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics)?.[1]) / 1024 ** 2;
}

/** @returns {import('../load.mjs').Figures} */
function nothing() {
  return { requests: 0, perSecond: 0, p50: 0, p95: 0, p99: 0, refused: 0 };
}
