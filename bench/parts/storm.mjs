// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { drive } from '../load.mjs';
import { creations, wrongLogins } from '../operations.mjs';
import { cells, HEADS, medianRatio, medians, printTable } from '../report.mjs';
import { warmUp } from '../rounds.mjs';
import { logIn, openShop } from '../seed.mjs';

/** @typedef {import('../load.mjs').Figures} Figures */

const CONNECTIONS = 10;
const STORM_CONNECTIONS = 20;

/**
 * The storms: none; as many wrong logins per second as some attackers send; or as many as 20 connections can send, which is
 * a flood of requests on top of the bcrypt comparisons.
 *
 * @type {Record<string, number | null | undefined>}
 */
const STORMS = { quiet: null, 'storm of 50/s': 50, 'storm without limit': undefined };

/**
 * Order creation while logins with wrong passwords come in, and while none do.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureStorm(lab, plan) {
  const shop = await openShop(lab, 'bench_storm');
  const { url, stop } = await lab.startService(shop.schema);
  const steps = creations(await logIn(url));
  await warmUp([{ url, steps }]);
  /** @type {Record<string, { orders: Figures[], logins: Record<string, number>[] }>} */
  const measured = Object.fromEntries(Object.keys(STORMS).map((name) => [name, { orders: [], logins: [] }]));
  for (let round = 0; round < plan.rounds; round += 1) {
    lab.say(`Login storm, round ${round + 1}`);
    for (const [name, rate] of Object.entries(STORMS)) {
      const { orders, logins } = await measureOne(url, steps, rate, plan.seconds);
      measured[name]?.orders.push(orders);
      measured[name]?.logins.push(logins);
    }
  }
  const quiet = measured['quiet']?.orders ?? [];
  const results = Object.entries(measured).map(([name, { orders, logins }]) => ({
    name,
    ...medians(orders),
    p99ToQuiet: medianRatio(orders, quiet, 'p99'),
    perSecondToQuiet: medianRatio(orders, quiet, 'perSecond'),
    logins: added(logins),
  }));
  printTable(
    `Order creation at ${CONNECTIONS} connections during a storm of wrong logins (bcrypt cost 12)`,
    ['storm', ...HEADS, 'requests/quiet', 'p99/quiet', 'logins by status'],
    results.map((row) => [
      row.name,
      ...cells(row),
      row.perSecondToQuiet.toFixed(2),
      row.p99ToQuiet.toFixed(2),
      shown(row.logins),
    ]),
  );
  await stop();
  return results;
}

/**
 * @param {string} url
 * @param {import('../load.mjs').Step[]} steps
 * @param {number | null | undefined} rate of logins per second; null for none, undefined for no limit
 * @param {number} seconds
 */
async function measureOne(url, steps, rate, seconds) {
  const orders = drive({ url, steps, connections: CONNECTIONS, seconds });
  const storm = { url, steps: wrongLogins(), connections: STORM_CONNECTIONS, seconds };
  const logins = rate === null ? undefined : await drive({ ...storm, ...(rate !== undefined && { rate }) });
  const { operations, broken } = await orders;
  await untilCalm(url);
  const created = operations['create'];
  if (!created) throw new Error('no order was created');
  return { orders: { ...created, refused: created.refused + broken }, logins: logins?.statuses ?? {} };
}

/**
 * Waits until no comparison of a password is left over: those of a storm outlive its connections, and would spoil the
 * quiet that follows.
 *
 * @param {string} url
 */
async function untilCalm(url) {
  for (let attempt = 0; attempt < 150; attempt += 1) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const left = [...metrics.matchAll(/^bcrypt_comparisons\{[^}]*\} (\d+)/gm)];
    if (left.every(([, count]) => count === '0')) return;
    await sleep(200);
  }
  throw new Error('comparisons of passwords are still under way 30 s after the storm');
}

/** @param {Record<string, number>[]} rounds */
function added(rounds) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const [status, count] of rounds.flatMap((round) => Object.entries(round)))
    sums[status] = (sums[status] ?? 0) + count;
  return sums;
}

/** @param {Record<string, number>} statuses */
function shown(statuses) {
  return Object.entries(statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ');
}
