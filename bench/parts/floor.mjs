// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { compare, printComparison } from '../comparison.mjs';
import { warmUp } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { creations } from '../operations.mjs';
import { openShop } from '../seed.mjs';

/**
 * Order creation by the service and by the bare server of `bench/floor/`, in turn, over the same tables.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureFloor(lab, plan) {
  const shop = await openShop(lab, 'bench_floor');
  const servers = { floor: await lab.startFloor(shop.schema), service: await lab.startService(shop.schema) };
  const creating = creations(await logIn(servers.service.url));
  for (const { url } of Object.values(servers)) await warmUp(url, creating);
  const steps = { floor: creating, service: creating };
  const results = [];
  for (const connections of [1, 10, 50, 200])
    results.push(await compare('create', { lab, servers, steps, connections, plan }));
  printComparison('POST /orders: the service against the bare server ("floor")', results);
  for (const server of Object.values(servers)) await server.stop();
  return { creation: results };
}
