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

/** Endpoints of each merchant. */
const CASES = [[1], [FEW, FEW, 10]];

/** Receivers on loopback are allowed only outside production. */
const ENVIRONMENT = { NODE_ENV: 'development', WEBHOOK_ALLOW_PRIVATE: 'true' };

/**
 * Webhooks with a backlog, to a receiver in another process that answers at once.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureDeliveries(lab, plan) {
  const deliveries = [];
  for (const endpoints of CASES) deliveries.push(await measureCase(lab, endpoints, plan));
  printTable(
    'Webhooks to a receiver that answers at once',
    ['endpoints', 'events/s', 'per endpoint'],
    deliveries.map(({ endpoints, perSecond }) => [
      ...[String(endpoints), perSecond.toFixed(0)],
      (perSecond / endpoints).toFixed(0),
    ]),
  );
  return { deliveries, goals: /** @type {Goal[]} */ ([]) };
}

/** @param {Lab} lab @param {number[]} endpointsEach @param {Plan} plan */
async function measureCase(lab, endpointsEach, { rounds, seconds }) {
  const endpoints = endpointsEach.reduce((sum, count) => sum + count, 0);
  const shop = await openShop(lab, `bench_webhooks_${endpoints}`);
  const receiver = await lab.startReceiver(shop.schema);
  const service = await lab.startService(shop.schema, ENVIRONMENT);
  const start = [];
  for (const [nth, count] of endpointsEach.entries()) {
    const email = `bench-${nth}@example.com`;
    const merchant = { schema: shop.schema, ...(await addMerchant(lab, shop.schema, email)) };
    const token = await logIn(service.url, email);
    await addEvents(lab, merchant, { url: service.url, token, count: BACKLOG, prefix: `0195000${nth}` });
    for (let own = 0; own < count; own += 1) {
      const url = `${receiver.url}/${nth}/${own}`;
      const { id } = await call(service.url, token, '/webhook-endpoints', { url });
      start.push(() => call(service.url, token, `/webhook-endpoints/${id}/seek`, { after: 0 }));
    }
  }
  lab.say(`${endpoints} webhook endpoints`);
  for (const seek of start) await seek();
  const perSecond = await receivedPerSecond(lab, receiver, rounds, seconds);
  await service.stop();
  await receiver.stop();
  return { endpoints, perSecond };
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
