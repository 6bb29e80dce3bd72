// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Figures, Step } from '../load.mjs' */
import { drive, warmUp } from '../load.mjs';
import { addSessions, logIn } from '../logins.mjs';
import { createSome, creations, lifecycles, refreshes, repeats } from '../operations.mjs';
import { memoryMiB } from '../processes.mjs';
import { medians, printTable } from '../report.mjs';
import { openShop } from '../seed.mjs';

const HEADS = ['operation', 'connections', 'requests/s', 'p50 ms', 'p95 ms', 'p99 ms', 'refused', 'statements'];

/**
 * Every operation of the service at 1, 10 and 50 connections.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureOperations(lab, plan) {
  const shop = await openShop(lab, 'bench_operations');
  const { url, pid, readyMs, stop } = await lab.startService(shop.schema);
  const token = await logIn(url);
  const sessions = await addSessions(lab, shop, 20_000);
  const orders = await createSome(url, token, 200);
  const { replay, read } = repeats(token, orders);
  const loads = [creations(token), replay, read, refreshes(sessions), lifecycles(token)];
  for (const steps of loads) await warmUp(url, steps);
  const measured = [];
  for (const connections of [1, 10, 50]) {
    for (const steps of loads) {
      lab.say(`${steps[0]?.name}, ${connections} connections`);
      measured.push(...(await measureOne(lab, url, steps, connections, plan)));
    }
  }
  const rows = measured.map(({ operation, connections, requests, perSecond, p50, p95, p99, refused, statements }) => [
    ...[operation, String(connections), perSecond.toFixed(0)],
    ...[p50, p95, p99].map((time) => time.toFixed(1)),
    refused === 0 ? '0' : `${refused} of ${requests}`,
    statements?.toFixed(1) ?? '',
  ]);
  printTable('The service, one process', HEADS, rows);
  const memory = memoryMiB(pid);
  lab.say(`Ready ${readyMs.toFixed(0)} ms after its start; ${memory.resident} MiB at the end, peak ${memory.peak}`);
  await stop();
  return { measured, readyMs, residentMiB: memory.resident, peakMiB: memory.peak };
}

/**
 * With one connection nothing else happens, so the statements that the database counts meanwhile are the operation's.
 *
 * @param {Lab} lab
 * @param {string} url
 * @param {Step[]} steps
 * @param {number} connections
 * @param {Plan} plan
 */
async function measureOne(lab, url, steps, connections, { rounds, seconds }) {
  /** @type {Record<string, Figures[]>} */
  const byOperation = {};
  const before = await lab.statements();
  for (let round = 0; round < rounds; round += 1) {
    const { operations, broken } = await drive({ url, steps, connections, duration: seconds });
    for (const [operation, figures] of Object.entries(operations))
      (byOperation[operation] ??= []).push({ ...figures, refused: figures.refused + broken });
  }
  const asked = (await lab.statements()) - before;
  return Object.entries(byOperation).map(([operation, all]) => {
    const figures = medians(all);
    const statements = connections === 1 && steps.length === 1 ? asked / figures.requests : undefined;
    return { operation, connections, ...figures, statements };
  });
}
