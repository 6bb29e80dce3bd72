// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Step } from '../load.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { findGalera, Galera, SMALL } from '../../tools/clusters/galera.mjs';
import { creations } from '../operations.mjs';
import { cells, HEADS, median, medianRatio, medians, printTable } from '../report.mjs';
import { alternate, warmUp } from '../rounds.mjs';
import { logIn, openShop } from '../seed.mjs';

/** Each a multiple of three, so that three instances get the same load. */
const CONNECTIONS = [3, 30];
const SINGLE = 'one server, one instance';
/** Callers while a node dies, and how long they send before and after its death. */
const CALLERS = 12;
const [BEFORE_MS, AFTER_MS] = [2_000, 15_000];

/** @typedef {{ url: string[], steps: Step[] }} Site three instances */

/**
 * Order creation over a Galera cluster of three and over one ordinary server with the same settings, in turn; then what
 * callers see when a node of the cluster dies.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureCluster(lab, plan) {
  const parts = await findGalera();
  if (!parts) return lab.say('NOT MEASURED: GALERA, BECAUSE MARIADBD OR THE PACKAGE GALERA-4 IS MISSING');
  const { url } = await lab.startDatabase(parts.server, SMALL);
  lab.say('Starting a Galera cluster of three, none of which waits for the disk');
  const cluster = await Galera.start(parts.server, parts.provider);
  lab.atEnd(() => cluster.stop());
  const single = await openSite(lab, [url, url, url]);
  const galera = await openSite(lab, cluster.urls);
  const creation = await measureCreation(lab, plan, single, galera);
  return { creation, death: await measureDeath(lab, cluster, galera) };
}

/** @param {Lab} lab @param {string[]} databases one per instance @returns {Promise<Site>} */
async function openSite(lab, databases) {
  const { schema } = await lab.over(databases[0] ?? '', () => openShop(lab, 'bench_cluster'));
  const instances = [];
  for (const database of databases) instances.push(await lab.over(database, () => lab.startService(schema)));
  const url = instances.map((instance) => instance.url);
  return { url, steps: creations(await logIn(url[0] ?? '')) };
}

/** @param {Lab} lab @param {Plan} plan @param {Site} single @param {Site} galera */
async function measureCreation(lab, plan, single, galera) {
  await warmUp([single, galera].flatMap((site) => site.url.map((url) => ({ ...site, url }))));
  const contenders = [
    { name: SINGLE, ...single, url: single.url.slice(0, 1) },
    { name: 'one server, three instances', ...single },
    { name: 'Galera, one writer', ...galera, url: galera.url.slice(0, 1) },
    { name: 'Galera, three writers', ...galera },
  ];
  const results = [];
  for (const connections of CONNECTIONS) {
    lab.say(`One server and Galera, ${connections} connections`);
    const measured = await alternate(
      // Their processor time is that of our whole tree of processes: databases, instances and load generator.
      contenders.map((contender) => ({ ...contender, connections, pid: process.pid })),
      plan,
    );
    const base = measured[SINGLE] ?? [];
    for (const [name, rounds] of Object.entries(measured)) {
      const ratios = [medianRatio(rounds, base, 'perSecond'), medianRatio(rounds, base, 'p50')];
      const processorMs = median(rounds.map((round) => round.processorMs));
      results.push({ name, connections, ...medians(rounds), processorMs, ratios });
    }
  }
  printTable(
    'Order creation over one server and over a Galera cluster, all on this machine',
    ['databases', 'connections', ...HEADS, 'CPU ms', 'requests/single', 'p50/single'],
    results.map((row) => {
      const figures = [row.processorMs, ...row.ratios].map((number) => number.toFixed(2));
      return [row.name, String(row.connections), ...cells(row), ...figures];
    }),
  );
  return results;
}

/** @param {Lab} lab @param {Galera} cluster @param {Site} site */
async function measureDeath(lab, cluster, { url, steps }) {
  lab.say('A node is killed under load');
  let isOver = false;
  const callers = Array.from({ length: CALLERS }, (_, at) => call(url, steps, at, () => isOver));
  await sleep(BEFORE_MS);
  const killedAt = performance.now();
  await cluster.kill(2);
  await sleep(AFTER_MS);
  isOver = true;
  const answers = (await Promise.all(callers)).flat();
  const refusals = answers.filter(({ status }) => status === 503);
  const created = answers.filter(({ status }) => status === 201);
  const lastRefusal = Math.max(0, ...refusals.map(({ at }) => at - killedAt)) / 1000;
  const longest = Math.max(0, ...created.map(({ at, since }) => at - since)) / 1000;
  const others = answers.length - refusals.length - created.length;
  printTable(
    `A node of three is killed; ${CALLERS} callers repeat what failed on the next instance, after a second`,
    ['last 503 after s', 'longest order s', '503', 'other errors'],
    [[lastRefusal.toFixed(1), longest.toFixed(1), String(refusals.length), String(others)]],
  );
  return { lastRefusal, longest, refused: refusals.length, others };
}

/**
 * Creates one order after the other. After a failure, waits a second, as `Retry-After` says, and sends the same order
 * to the next instance.
 *
 * @param {string[]} urls @param {Step[]} steps @param {number} instance the first @param {() => boolean} isOver
 * @returns {Promise<{ status: number, since: number, at: number }[]>} the answers; `since` is when the order was first
 *   sent, and a lost connection has the status 0
 */
async function call(urls, steps, instance, isOver) {
  const answers = [];
  for (let order = steps[0]?.request({}), since = performance.now(); order && !isOver();) {
    const status = await fetch(`${urls[instance % urls.length]}${order.path}`, order)
      .then((answer) => answer.arrayBuffer().then(() => answer.status))
      .catch(() => 0);
    answers.push({ status, since, at: performance.now() });
    if (status === 201) {
      [order, since] = [steps[0]?.request({}), performance.now()];
    } else {
      instance += 1;
      await sleep(1_000);
    }
  }
  return answers;
}
