// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
/** @import { Step } from '../load.mjs' @import { Goal } from '../parts/events.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { drive, percentiles } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { completions, creations } from '../operations.mjs';
import { pace } from '../pace.mjs';
import { medians, printTable } from '../report.mjs';
import { openShop } from '../seed.mjs';
import { feedOf } from './seed.mjs';

const WARM_UP_REQUESTS = 5000;
const ORDERS_PER_SECOND = 1000;
/** The last events get their numbers. */
const SETTLE_MS = 2000;
const READER_PAUSE_MS = 50;

/**
 * Orders that are created, and the same orders completed; then the time from a change to the feed.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureChanges(lab, plan) {
  const shop = await openShop(lab, 'bench_changes');
  const { url, stop } = await lab.startService(shop.schema);
  const token = await logIn(url);
  await drive({ url, steps: creations(token), connections: 10, amount: WARM_UP_REQUESTS });
  await createAndComplete(lab, url, token, 10, plan.seconds);
  const throughput = [];
  for (const connections of [10, 50]) {
    lab.say(`Orders created and completed, ${connections} connections`);
    throughput.push(...(await measureThroughput(lab, url, token, connections, plan)));
  }
  printTable(
    'Changes with their events (compare them with those of a build without events)',
    ['operation', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'refused', 'statements'],
    throughput.map(({ operation, connections, perSecond, p50, p99, refused, statements }) => [
      ...[operation, String(connections), perSecond.toFixed(0), p50.toFixed(1), p99.toFixed(1), String(refused)],
      statements.toFixed(1),
    ]),
  );
  lab.say(`${ORDERS_PER_SECOND} orders per second, and a reader of the feed`);
  const [step] = creations(token);
  if (step === undefined) throw new Error('there is no step');
  await pace({ url, step, perSecond: ORDERS_PER_SECOND, seconds: plan.seconds });
  await sleep(SETTLE_MS);
  const lag = await measureLag(url, token, step, (await feedOf(lab, shop)).last, plan.seconds * plan.rounds);
  await stop();
  const { perSecond, p50, p99, seen } = lag;
  /** @type {Goal[]} */
  const goals = [
    {
      what: `from the creation to the feed, ${perSecond.toFixed(0)} orders/s: p50 ${p50.toFixed(0)} ms, p99`,
      measured: `${p99.toFixed(0)} ms of ${seen} events`,
      goal: `1000 ms at ${ORDERS_PER_SECOND}/s`,
      isMet: p99 <= 1000 && perSecond > 0.95 * ORDERS_PER_SECOND,
    },
  ];
  return { throughput, lag, goals };
}

/**
 * @param {Lab} lab
 * @param {string} url
 * @param {string} token
 * @param {number} connections
 * @param {Plan} plan
 */
async function measureThroughput(lab, url, token, connections, { rounds, seconds }) {
  /** @type {Awaited<ReturnType<typeof createAndComplete>>[]} */
  const measured = [];
  for (let round = 0; round < rounds; round += 1)
    measured.push(await createAndComplete(lab, url, token, connections, seconds));
  return /** @type {const} */ (['create', 'complete']).map((operation) => {
    const all = measured.map((round) => round[operation]);
    const figures = medians(all);
    const statements = all.reduce((sum, one) => sum + one.statements, 0) / figures.requests;
    return { operation, connections, ...figures, statements };
  });
}

/**
 * Creates orders for some time, and then completes each of them.
 *
 * @param {Lab} lab
 * @param {string} url
 * @param {string} token
 * @param {number} connections
 * @param {number} seconds
 */
async function createAndComplete(lab, url, token, connections, seconds) {
  /** @type {string[]} */
  const ids = [];
  const creating = creations(token).map((step) => ({
    ...step,
    onSuccess: (/** @type {string} */ body) => ids.push(JSON.parse(body).id),
  }));
  const create = await counted(lab, { url, steps: creating, connections, duration: seconds });
  const complete = await counted(lab, { url, steps: completions(token, ids), connections, amount: ids.length });
  return { create, complete };
}

/** @param {Lab} lab @param {Parameters<typeof drive>[0]} load of one operation */
async function counted(lab, load) {
  const before = await lab.statements();
  const { operations, broken } = await drive(load);
  const [figures] = Object.values(operations);
  if (!figures || figures.requests === 0) throw new Error('nothing was answered');
  return { ...figures, refused: figures.refused + broken, statements: (await lab.statements()) - before };
}

/**
 * Amends orders at a steady rate while a client reads the feed. The times count from the `timestamp` of an event, which is
 * before the commit, until a client has read it.
 *
 * @param {string} url
 * @param {string} token
 * @param {Step} step
 * @param {number} after the end of the feed
 * @param {number} seconds
 */
async function measureLag(url, token, step, after, seconds) {
  /** @type {number[]} */
  const times = [];
  const done = new AbortController();
  const reading = readFeed(url, token, after, done.signal, (timestamp) => times.push(Date.now() - timestamp));
  const figures = await pace({ url, step, perSecond: ORDERS_PER_SECOND, seconds });
  await sleep(SETTLE_MS);
  done.abort();
  await reading;
  return { perSecond: figures.perSecond, refused: figures.refused, seen: times.length, ...percentiles(times) };
}

/**
 * Reads a feed as a client does: page after page, with a pause where it ends.
 *
 * @param {string} url
 * @param {string} token
 * @param {number} after
 * @param {AbortSignal} signal
 * @param {(timestamp: number) => void} onEvent
 */
async function readFeed(url, token, after, signal, onEvent) {
  const headers = { authorization: `Bearer ${token}` };
  for (let position = after; !signal.aborted;) {
    const response = await fetch(`${url}/events?limit=100&after=${position}`, { headers });
    if (!response.ok) throw new Error(`GET /events returned ${response.status}: ${await response.text()}`);
    const page = /** @type {{ data: { timestamp: string }[], next_after: number, has_more: boolean }} */ (
      await response.json()
    );
    for (const { timestamp } of page.data) onEvent(Date.parse(timestamp));
    position = page.next_after;
    if (!page.has_more) await sleep(READER_PAUSE_MS);
  }
}
