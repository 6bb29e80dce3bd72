// @ts-check
/** @import { Lab, Target } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Goal } from '../parts/events.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { addMerchant, logIn } from '../logins.mjs';
import { median, printTable } from '../report.mjs';
import { openShop } from '../seed.mjs';
import { addEvents } from './seed.mjs';

/** Events that wait for each endpoint. */
const BACKLOG = 20_000;
/** Endpoints of one merchant: at most 20. */
const FEW = 20;

/** @typedef {{ endpointsEach: number[], batch: number, delay: number }} Case endpoints of each merchant; ms to answer */

/** An endpoint of the last one is 50 ms away. */
const CASES = /** @type {Case[]} */ ([
  { endpointsEach: [1], batch: 1, delay: 0 },
  { endpointsEach: [FEW, FEW, 10], batch: 1, delay: 0 },
  { endpointsEach: [1], batch: 100, delay: 50 },
]);

/** Events per second of the last case. */
const GOAL = 1500;

/** Receivers on loopback are allowed only outside production. */
const ENVIRONMENT = { NODE_ENV: 'development', WEBHOOK_ALLOW_PRIVATE: 'true' };

/**
 * Webhooks with a backlog, to a receiver in another process.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureDeliveries(lab, plan) {
  const deliveries = [];
  for (const each of CASES) deliveries.push(await measureCase(lab, each, plan));
  printTable(
    'Webhooks',
    ['endpoints', 'batch', 'answered after', 'events/s', 'per endpoint'],
    deliveries.map(({ endpoints, batch, delay, perSecond }) => [
      ...[String(endpoints), String(batch), `${delay} ms`, perSecond.toFixed(0)],
      (perSecond / endpoints).toFixed(0),
    ]),
  );
  const { perSecond } = /** @type {(typeof deliveries)[number]} */ (deliveries.at(-1));
  const goals = [
    {
      what: 'events/s to one endpoint 50 ms away in batches of 100',
      measured: perSecond.toFixed(0),
      goal: `at least ${GOAL}`,
      isMet: perSecond >= GOAL,
    },
  ];
  return { deliveries, goals: /** @type {Goal[]} */ (goals) };
}

/** @param {Lab} lab @param {Case} each @param {Plan} plan */
async function measureCase(lab, { endpointsEach, batch, delay }, { rounds, seconds }) {
  const endpoints = endpointsEach.reduce((sum, count) => sum + count, 0);
  const shop = await openShop(lab, `bench_webhooks_${endpoints}_${batch}`);
  const receiver = await lab.startReceiver(shop.schema);
  const service = await lab.startService(shop.schema, ENVIRONMENT);
  const start = [];
  for (const [nth, count] of endpointsEach.entries()) {
    const email = `bench-${nth}@example.com`;
    const merchant = { schema: shop.schema, ...(await addMerchant(lab, shop.schema, email)) };
    const token = await logIn(service.url, email);
    await addEvents(lab, merchant, { url: service.url, token, count: BACKLOG, prefix: `0195000${nth}` });
    for (let own = 0; own < count; own += 1) {
      const url = `${receiver.url}/${nth}/${own}?delay=${delay}`;
      const { id } = await call(service.url, token, '/webhook-endpoints', { url, batch });
      start.push(() => call(service.url, token, `/webhook-endpoints/${id}/seek`, { after: 0 }));
    }
  }
  lab.say(`${endpoints} webhook endpoints, batches of ${batch}, answered after ${delay} ms`);
  for (const seek of start) await seek();
  const perSecond = await receivedPerSecond(lab, receiver, rounds, seconds);
  await service.stop();
  await receiver.stop();
  return { endpoints, batch, delay, perSecond };
}

/** @param {Lab} lab @param {Target} receiver @param {number} rounds @param {number} seconds @returns the median of the rounds */
async function receivedPerSecond(lab, { url }, rounds, seconds) {
  const count = async () => /** @type {{ count: number }} */ (await (await fetch(url)).json()).count;
  const deadline = Date.now() + 10_000;
  while ((await count()) === 0) {
    if (Date.now() > deadline) throw new Error('no webhook has arrived in 10 s');
    await sleep(20);
  }
  const rates = [];
  for (let round = 0; round < rounds; round += 1) {
    const [before, startedAt] = [await count(), performance.now()];
    await sleep(seconds * 1000);
    rates.push(((await count()) - before) / ((performance.now() - startedAt) / 1000));
  }
  if (rates.at(-1) === 0) lab.say('All events were delivered before the end of the measurement');
  return median(rates);
}

/** @param {string} url @param {string} token @param {string} path @param {object} body */
async function call(url, token, path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`POST ${path} returned ${response.status}: ${await response.text()}`);
  return /** @type {{ id: string }} */ (await response.json());
}
