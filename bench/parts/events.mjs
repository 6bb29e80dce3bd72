// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' */
import { measureChanges } from '../events/changes.mjs';
import { measureDeliveries } from '../events/deliveries.mjs';
import { measurePages } from '../events/pages.mjs';
import { measureSweeps } from '../events/sweeps.mjs';
import { printTable } from '../report.mjs';

/** @typedef {{ what: string, measured: string, goal: string, isMet: boolean }} Goal */

/**
 * The feed of events: what it costs, how late it is, how fast it is read and sent, and what happens by date beside orders.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measureEvents(lab, plan) {
  const { goals: lag, ...changes } = await measureChanges(lab, plan);
  const { goals: sent, ...deliveries } = await measureDeliveries(lab, plan);
  const { goals: middle, ...pages } = await measurePages(lab, plan);
  const { goals: beside, ...sweeps } = await measureSweeps(lab, plan);
  const goals = [...lag, ...sent, ...middle, ...beside];
  printTable(
    'Against the goals',
    ['', 'measured', 'goal', 'met'],
    goals.map(({ what, measured, goal, isMet }) => [what, measured, goal, isMet ? 'yes' : 'NO']),
  );
  return { ...changes, ...deliveries, ...pages, ...sweeps, goals };
}
