// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Figures } from '../load.mjs' */
/** @import { Goal } from '../parts/events.mjs' @import { Shop } from '../seed.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { drive } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { creations } from '../operations.mjs';
import { pace } from '../pace.mjs';
import { processorMs } from '../processes.mjs';
import { medians, printTable } from '../report.mjs';
import { openShop } from '../seed.mjs';
import { addDueWallets, addEvents, announceFrom, feedOf } from './seed.mjs';

/**
 * @typedef {object} Work that the service does without a request
 * @property {string} name
 * @property {string} schema
 * @property {number} count of wallets or events
 * @property {(shop: Shop) => Promise<void>} seed makes work for the next start of the service
 * @property {(shop: Shop) => Promise<number>} done how many of them are done
 */

const DAY_MS = 86_400_000;
const ORDERS_PER_SECOND = 200;
const MARGIN = 1.5;
/** Requests that warm up a service beside its work. */
const WARM_UP_REQUESTS = 1000;
const LONGEST_MS = 3_600_000;

/**
 * POST /orders at a steady rate beside what a day brings: cashback of many wallets becomes available or expires, and many
 * events are deleted.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureSweeps(lab, plan) {
  const results = [];
  for (const work of works(lab, plan)) results.push(await measureBeside(lab, work, plan));
  const heads = ['beside orders', 'p99 ms', 'without', 'ratio', 'p50 ms', 'without', 'refused'];
  printTable(
    `POST /orders, ${ORDERS_PER_SECOND}/s`,
    [...heads, 'done/s', 'without orders', 'CPU of the service', 'seconds in all'],
    results.map(({ name, beside, without, ratio, ...rest }) => [
      ...[name, beside.p99.toFixed(1), without.p99.toFixed(1), ratio.toFixed(2)],
      ...[beside.p50.toFixed(1), without.p50.toFixed(1), String(beside.refused + without.refused)],
      ...[rest.perSecond.toFixed(0), rest.alonePerSecond.toFixed(0), `${(rest.processor * 100).toFixed(0)} %`],
      rest.seconds.toFixed(0),
    ]),
  );
  const goals = results.map(({ name, ratio, isWhole }) => ({
    what: `p99 of POST /orders while ${name}, against without`,
    measured: isWhole ? ratio.toFixed(2) : 'ended too early',
    goal: `at most ${MARGIN}`,
    isMet: isWhole && ratio <= MARGIN,
  }));
  return { sweeps: results, goals: /** @type {Goal[]} */ (goals) };
}

/** @param {Lab} lab @param {Plan} plan @returns {Work[]} */
function works(lab, { wallets, events }) {
  // At a full second, as the dates of cashback are.
  const date = new Date(Math.floor(Date.now() / 1000) * 1000 - 3_600_000);
  const later = (/** @type {number} */ days) => new Date(date.getTime() + days * DAY_MS);
  const announced = async (/** @type {Shop} */ shop) => (await feedOf(lab, shop)).last;
  return [
    {
      name: `${wallets} wallets become available`,
      schema: 'bench_available',
      count: wallets,
      seed: async (shop) => {
        const dates = { availableAt: date, expiresAt: later(160), isAvailable: false };
        await addDueWallets(lab, shop, { count: wallets, ...dates });
        await announceFrom(lab, shop, date);
      },
      done: announced,
    },
    {
      name: `${wallets} wallets expire`,
      schema: 'bench_expired',
      count: wallets,
      seed: (shop) => {
        const dates = { availableAt: later(-160), expiresAt: date, isAvailable: true };
        return addDueWallets(lab, shop, { count: wallets, ...dates });
      },
      done: announced,
    },
    {
      name: `${events} events are deleted`,
      schema: 'bench_retention',
      count: events,
      seed: (shop) => addOldEvents(lab, shop, events, later(-91)),
      done: async (shop) => (await feedOf(lab, shop)).first - 1,
    },
  ];
}

/** @param {Lab} lab @param {Shop} shop @param {number} count @param {Date} at */
async function addOldEvents(lab, shop, count, at) {
  const { url, stop } = await lab.startService(shop.schema);
  await addEvents(lab, shop, { url, token: await logIn(url), count, prefix: '01950000', at });
  await stop();
}

/**
 * The service begins the work when it starts. Orders are measured during that and, in the same process, after it.
 *
 * @param {Lab} lab @param {Work} work @param {Plan} plan
 */
async function measureBeside(lab, { name, schema, count, seed, done }, { rounds, seconds }) {
  const shop = await openShop(lab, schema);
  await seed(shop);
  const { url, pid, stop } = await lab.startService(schema);
  const startedAt = performance.now();
  const steps = creations(await logIn(url));
  const orders = () => measureOrders(url, steps, rounds, seconds);
  await drive({ url, steps, connections: 10, amount: WARM_UP_REQUESTS });
  lab.say(`Orders while ${name}`);
  const progress = async () => ({ done: await done(shop), at: performance.now(), processor: processorMs(pid) });
  const before = await progress();
  const beside = await orders();
  const between = await progress();
  const isWhole = between.done < count;
  if (!isWhole) lab.say('That ended before the end of the measurement: more of them are needed');
  while ((await done(shop)) < count) {
    if (performance.now() - startedAt > LONGEST_MS) throw new Error(`${name}: not done after an hour`);
    await sleep(100);
  }
  const end = await progress();
  lab.say('Orders without that');
  const without = await orders();
  await stop();
  const rate = (/** @type {typeof end} */ a, /** @type {typeof end} */ b) => ((b.done - a.done) / (b.at - a.at)) * 1000;
  return {
    ...{ name, isWhole, beside, without, ratio: beside.p99 / without.p99 },
    ...{ perSecond: rate(before, between), alonePerSecond: rate(between, end) },
    processor: (between.processor - before.processor) / (between.at - before.at),
    seconds: (end.at - startedAt) / 1000,
  };
}

/** @param {string} url @param {import('../load.mjs').Step[]} steps @param {number} rounds @param {number} seconds */
async function measureOrders(url, [step], rounds, seconds) {
  if (step === undefined) throw new Error('there is no step');
  /** @type {Figures[]} */
  const all = [];
  for (let round = 0; round < rounds; round += 1)
    all.push(await pace({ url, step, perSecond: ORDERS_PER_SECOND, seconds }));
  return medians(all);
}
