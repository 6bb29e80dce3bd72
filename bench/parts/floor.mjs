// @ts-check
/** @import { Lab, Target } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Figures, Step } from '../load.mjs' */
import { drive, warmUp } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { creations } from '../operations.mjs';
import { processorMs } from '../processes.mjs';
import { median, medians, printTable } from '../report.mjs';
import { openShop } from '../seed.mjs';

/** @typedef {Figures & { processorMs: number }} Round with the processor time of the server per request */

/**
 * Order creation by the service and by the bare server of `bench/floor/`, in turn, over the same tables.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureFloor(lab, plan) {
  const shop = await openShop(lab, 'bench_floor');
  const servers = { floor: await lab.startFloor(shop.schema), service: await lab.startService(shop.schema) };
  const steps = creations(await logIn(servers.service.url));
  for (const { url } of Object.values(servers)) await warmUp(url, steps);
  const results = [];
  for (const connections of [1, 10, 50, 200]) {
    lab.say(`Service and floor, ${connections} connections`);
    const { floor, service } = await alternate(servers, steps, connections, plan);
    results.push({
      connections,
      service: summaryOf(service),
      floor: summaryOf(floor),
      throughputRatio: medianRatio(service, floor, 'perSecond'),
      p99Ratio: medianRatio(service, floor, 'p99'),
    });
  }
  print(results);
  for (const server of Object.values(servers)) await server.stop();
  return { creation: results };
}

/**
 * Measures both servers in turn, round after round, and in the other direction every second time, so that neither always
 * runs after the other.
 *
 * @param {{ floor: Target, service: Target }} servers
 * @param {Step[]} steps
 * @param {number} connections
 * @param {Plan} plan
 */
async function alternate(servers, steps, connections, { rounds, seconds }) {
  const measured = { floor: /** @type {Round[]} */ ([]), service: /** @type {Round[]} */ ([]) };
  const names = /** @type {const} */ (['floor', 'service']);
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { url, pid } = servers[name];
      const before = processorMs(pid);
      const { operations, broken } = await drive({ url, steps, connections, duration: seconds });
      const [figures] = Object.values(operations);
      if (!figures || figures.requests === 0) throw new Error(`${name}: nothing was answered`);
      const used = (processorMs(pid) - before) / figures.requests;
      measured[name].push({ ...figures, refused: figures.refused + broken, processorMs: used });
    }
  }
  return measured;
}

/** @param {Round[]} rounds */
function summaryOf(rounds) {
  return { ...medians(rounds), processorMs: median(rounds.map((round) => round.processorMs)) };
}

/**
 * Pair by pair: what disturbs the machine for a while disturbs both of a pair.
 *
 * @param {Round[]} service
 * @param {Round[]} floor
 * @param {'perSecond' | 'p99'} figure
 */
function medianRatio(service, floor, figure) {
  return median(service.map((one, round) => one[figure] / (floor[round]?.[figure] ?? NaN)));
}

/** @typedef {ReturnType<typeof summaryOf>} Summary */

/** @param {{ connections: number, service: Summary, floor: Summary, throughputRatio: number, p99Ratio: number }[]} results */
function print(results) {
  const heads = ['connections', 'requests/s', 'of the floor', 'ratio', 'p99 ms', 'of the floor', 'ratio'].concat([
    'CPU ms',
    'of the floor',
    'refused',
  ]);
  const rows = results.map(({ connections, service, floor, throughputRatio, p99Ratio }) => [
    String(connections),
    ...[service.perSecond, floor.perSecond].map((rate) => rate.toFixed(0)),
    throughputRatio.toFixed(2),
    ...[service.p99, floor.p99].map((time) => time.toFixed(1)),
    p99Ratio.toFixed(2),
    ...[service.processorMs, floor.processorMs].map((time) => time.toFixed(2)),
    String(service.refused + floor.refused),
  ]);
  printTable('POST /orders: the service against the bare server ("floor")', heads, rows);
}
