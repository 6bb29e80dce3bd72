// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { drive } from '../load.mjs';
import { createSome, creations, lifecycles, refreshes, repeats } from '../operations.mjs';
import { memoryMiB } from '../processes.mjs';
import { cells, HEADS, medians, printTable } from '../report.mjs';
import { warmUp } from '../rounds.mjs';
import { addSessions, logIn, openShop } from '../seed.mjs';

/** @typedef {import('../load.mjs').Figures} Figures */

const CONNECTIONS = [1, 10, 50];

/**
 * Every operation of the service at 1, 10 and 50 connections. With one connection nothing else happens, so the
 * statements that the database counts meanwhile are the operation's.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureOperations(lab, plan) {
  const shop = await openShop(lab, 'bench_operations');
  const service = await lab.startService(shop.schema);
  const token = await logIn(service.url);
  const sessions = await addSessions(lab, shop, 20_000);
  const orders = await createSome(service.url, token, 200);
  const loads = {
    create: creations(token),
    ...repeats(token, orders),
    refresh: refreshes(sessions),
    lifecycle: lifecycles(token),
  };
  await warmUp(Object.values(loads).map((steps) => ({ steps, url: service.url })));
  /** @type {Record<string, Figures & { statements?: number }>} */
  const measured = {};
  for (const connections of CONNECTIONS) {
    for (const steps of Object.values(loads)) {
      lab.say(`${steps[0]?.name}, ${connections} connections`);
      Object.assign(measured, await measureOne(lab, service.url, steps, connections, plan));
    }
  }
  const heads = ['operation', 'connections', ...HEADS, 'statements'];
  const rows = Object.entries(measured).map(([name, figures]) => [
    ...name.split(' × '),
    ...cells(figures),
    figures.statements?.toFixed(1) ?? '',
  ]);
  printTable('The service, one process', heads, rows);
  const memory = memoryMiB(service.pid).resident;
  lab.say(`Ready ${service.readyMs.toFixed(0)} ms after its start; ${memory ?? '?'} MiB resident at the end`);
  await service.stop();
  return { measured, readyMs: service.readyMs, residentMiB: memory };
}

/**
 * @param {Lab} lab
 * @param {string} url
 * @param {import('../load.mjs').Step[]} steps
 * @param {number} connections
 * @param {Plan} plan
 * @returns {Promise<Record<string, Figures & { statements?: number }>>} by operation and connections
 */
async function measureOne(lab, url, steps, connections, { rounds, seconds }) {
  /** @type {Record<string, Figures[]>} */
  const byName = {};
  const before = await lab.statements();
  for (let round = 0; round < rounds; round += 1) {
    const { operations, broken } = await drive({ url, steps, connections, seconds });
    for (const [name, figures] of Object.entries(operations))
      (byName[name] ??= []).push({ ...figures, refused: figures.refused + broken });
  }
  const asked = (await lab.statements()) - before;
  return Object.fromEntries(
    Object.entries(byName).map(([name, all]) => {
      const figures = medians(all);
      const statements = connections === 1 && steps.length === 1 ? { statements: asked / figures.requests } : {};
      return [`${name} × ${connections}`, { ...figures, ...statements }];
    }),
  );
}
