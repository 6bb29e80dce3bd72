// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { creations } from '../operations.mjs';
import { memoryMiB } from '../processes.mjs';
import { median, medianRatio, medians, printTable } from '../report.mjs';
import { alternate, warmUp } from '../rounds.mjs';
import { logIn, openShop } from '../seed.mjs';

/**
 * Order creation by the service and by the bare server of `bench/floor/`, in turn, over the same tables.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureFloor(lab, plan) {
  const shop = await openShop(lab, 'bench_floor');
  const servers = { floor: await lab.startFloor(shop.schema), service: await lab.startService(shop.schema) };
  const steps = creations(await logIn(servers.service.url));
  const contenders = Object.entries(servers).map(([name, { url, pid }]) => ({ name, url, pid, steps }));
  await warmUp(contenders);
  const results = [];
  for (const connections of [1, 10, 50, 200]) {
    lab.say(`Service and floor, ${connections} connections`);
    const measured = await alternate(
      contenders.map((contender) => ({ ...contender, connections })),
      plan,
    );
    const [floor = [], service = []] = [measured['floor'], measured['service']];
    results.push({
      connections,
      service: summaryOf(service),
      floor: summaryOf(floor),
      throughputRatio: medianRatio(service, floor, 'perSecond'),
      p99Ratio: medianRatio(service, floor, 'p99'),
    });
  }
  print(results);
  const { resident, peak } = memoryMiB(servers.service.pid);
  lab.say(
    `The service: ready after ${servers.service.readyMs.toFixed(0)} ms; ${resident} MiB at the end, peak ${peak}`,
  );
  for (const server of Object.values(servers)) await server.stop();
  return { creation: results, readyMs: servers.service.readyMs, residentMiB: resident, peakMiB: peak };
}

/** @param {import('../rounds.mjs').Round[]} rounds */
function summaryOf(rounds) {
  return { ...medians(rounds), processorMs: median(rounds.map((round) => round.processorMs)) };
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
