// @ts-check
/** @import { Lab, Target } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Step } from '../load.mjs' */
/** @import { Name } from '../comparison.mjs' @import { LifecycleShop } from '../lifecycle/seed.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { compare, printComparison } from '../comparison.mjs';
import { comparable, requireSame, requireSameRows } from '../lifecycle/rows.mjs';
import { addCompleted, addHot, addPending, copyShop, LIFECYCLE_CUSTOMERS, withModel } from '../lifecycle/seed.mjs';
import { drive } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { completions, createSome, creations, holds, refunds } from '../operations.mjs';
import { openShop } from '../seed.mjs';

/** Requests of each operation to each server. As in `warmUp`, but most at 10 connections, where they take less time. */
const WARM_UP = [
  { connections: 10, amount: 10_000 },
  { connections: 1, amount: 1000 },
];
const WARM_UP_REQUESTS = 11_000;

/** More than a server can do: the number of orders that are seeded for each second. */
const MOST_PER_SECOND = 8000;

/** These need no order of their own for each request. */
const ENDLESS = ['create', 'change hold'];

/** Orders whose hold changes again and again. */
const HOLDERS = 2 * LIFECYCLE_CUSTOMERS;

/**
 * @typedef {{ lab: Lab, shop: LifecycleShop, target: Target, token: string }} Side a server with its schema
 * @typedef {(side: Side, count: number) => Promise<Step[]>} Load seeds the orders of that number of requests
 */

/** @type {Record<string, Load>} */
const LOADS = {
  create: async ({ token }) => creations(token),
  hold: async ({ lab, shop, token }, count) => holds(token, await addPending(lab, shop, count)),
  'change hold': async ({ lab, shop, target, token }) => {
    const ids = await addPending(lab, shop, HOLDERS);
    await drive({ url: target.url, steps: holds(token, ids), connections: 10, amount: ids.length });
    return holds(token, ids, ['2.00', '1.00']);
  },
  complete: async ({ lab, shop, token }, count) => completions(token, await addPending(lab, shop, count)),
  refund: async ({ lab, shop, token }, count) => refunds(token, await addCompleted(lab, shop, count)),
  'hot wallet': async ({ lab, shop, token }, count) => completions(token, await addHot(lab, shop, count)),
};

/**
 * What happens to orders, by the service and by the bare server of `bench/floor/`, in turn, each with a schema of its own.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureLifecycle(lab, plan) {
  const wanted = plan.only.length > 0 ? plan.only : Object.keys(LOADS);
  const unknown = wanted.filter((name) => !(name in LOADS));
  if (unknown.length > 0) throw new Error(`--only ${unknown.join()}: the operations are ${Object.keys(LOADS).join()}`);
  const sides = await openSides(lab);
  const settle = async (/** @type {Name} */ name) => {
    // Nothing reads what the floor adds to its outbox.
    if (name === 'service') await untilNumbered(sides.service);
    await lab.untilDatabaseRests();
  };
  await requireSameEffects(lab, sides);
  const results = [];
  for (const operation of wanted) {
    const load = /** @type {Load} */ (LOADS[operation]);
    lab.say(`${operation}: warming up`);
    for (const side of Object.values(sides)) {
      const steps = await load(side, WARM_UP_REQUESTS);
      for (const requests of WARM_UP) await drive({ url: side.target.url, steps, ...requests });
    }
    for (const connections of operation === 'hot wallet' ? [50] : [1, 10, 50]) {
      const count = plan.seconds * plan.rounds * MOST_PER_SECOND;
      const steps = { floor: await load(sides.floor, count), service: await load(sides.service, count) };
      await settle('service');
      const servers = { floor: sides.floor.target, service: sides.service.target };
      const result = await compare(operation, { lab, servers, steps, connections, plan, settle });
      const isEndless = ENDLESS.includes(operation);
      if (!isEndless && Math.max(result.floor.requests, result.service.requests) + connections * plan.rounds > count)
        throw new Error(`${operation}: there were too few orders`);
      results.push(result);
    }
  }
  printComparison('The lifecycle of orders: the service against the bare server ("floor")', results);
  for (const { target } of Object.values(sides)) await target.stop();
  return { operations: results };
}

/** Two schemas with the same rows, and their servers. @param {Lab} lab @returns {Promise<Record<Name, Side>>} */
async function openSides(lab) {
  const opened = await openShop(lab, 'bench_lifecycle', LIFECYCLE_CUSTOMERS);
  const service = await lab.startService(opened.schema);
  const token = await logIn(service.url);
  const [model] = await createSome(service.url, token, 1);
  const shop = await withModel(lab, opened, String(model?.id));
  const copy = await copyShop(lab, shop, 'bench_lifecycle_floor');
  const floor = await lab.startFloor(copy.schema);
  return { floor: { lab, shop: copy, target: floor, token }, service: { lab, shop, target: service, token } };
}

/** Waits until the service has numbered all events, which it does after its answers. @param {Side} side */
async function untilNumbered({ lab, shop }) {
  while ((await lab.sql(shop.schema, 'SELECT id FROM event_outbox LIMIT 1')).length > 0) await sleep(100);
}

/**
 * Fails unless one operation of each kind has the same answer and leaves the same rows.
 *
 * @param {Lab} lab @param {Record<Name, Side>} sides
 */
async function requireSameEffects(lab, { service, floor }) {
  lab.say('One operation of each kind, whose rows are compared');
  const [ours, theirs] = [await performEach(service), await performEach(floor)];
  await untilNumbered(service);
  requireSame('answers', comparable(ours.answers), comparable(theirs.answers));
  await requireSameRows(lab, [service.shop.schema, floor.shop.schema], ours.ids);
}

/** @param {Side} side */
async function performEach({ lab, shop, target, token }) {
  const [held = '', sold = ''] = await addPending(lab, shop, 2);
  const [refunded = ''] = await addCompleted(lab, shop, 1);
  const holding = holds(token, [held], ['1.00', '2.00']);
  const answers = [];
  for (const step of [...holding, ...holding, ...completions(token, [sold]), ...refunds(token, [refunded])]) {
    const { path = '', ...request } = step.request({}) ?? {};
    const answer = await fetch(target.url + path, request);
    if (!answer.ok) throw new Error(`${step.name} was answered with ${answer.status}: ${await answer.text()}`);
    answers.push(await answer.json());
  }
  return { ids: [held, sold, refunded], answers };
}
