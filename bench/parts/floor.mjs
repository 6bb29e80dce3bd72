// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { creations } from '../operations.mjs';
import { cells, HEADS, median, medianRatio, medians, printTable } from '../report.mjs';
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
    for (const [name, rounds] of Object.entries(measured)) {
      const floor = measured['floor'] ?? [];
      const ratios = { perSecond: medianRatio(rounds, floor, 'perSecond'), p99: medianRatio(rounds, floor, 'p99') };
      results.push({
        name,
        connections,
        ...medians(rounds),
        processorMs: median(rounds.map((round) => round.processorMs)),
        ratios,
        rounds,
      });
    }
  }
  print(results);
  for (const server of Object.values(servers)) await server.stop();
  return results;
}

/** @param {(import('../load.mjs').Figures & { name: string, connections: number, processorMs: number, ratios: { perSecond: number, p99: number } })[]} results */
function print(results) {
  const heads = ['server', 'connections', ...HEADS, 'CPU ms', 'requests/floor', 'p99/floor'];
  const rows = results.map((row) => {
    const shares = [row.processorMs, row.ratios.perSecond, row.ratios.p99].map((number) => number.toFixed(2));
    return [row.name, String(row.connections), ...cells(row), ...shares];
  });
  printTable('Order creation: the service and the floor', heads, rows);
}
