// @ts-check
/** @import { Lab, Target } from './lab.mjs' @import { Plan } from './bench.mjs' @import { Figures, Step } from './load.mjs' */
import { drive } from './load.mjs';
import { processorMs } from './processes.mjs';
import { median, medians, printTable } from './report.mjs';

/**
 * @typedef {'floor' | 'service'} Name of the servers that are compared
 * @typedef {Figures & { processorMs: number, databaseMs: number }} Round with the processor time per request, of the server
 *   and of the database
 * @typedef {object} Comparison
 * @property {Lab} lab
 * @property {Record<Name, Target>} servers
 * @property {Record<Name, Step[]>} steps of one operation
 * @property {number} connections
 * @property {Plan} plan
 * @property {(name: Name) => Promise<void>} [settle] waits for what the server still does after its answers
 */

/**
 * Measures one operation of the service and of the bare server in turn.
 *
 * @param {string} operation
 * @param {Comparison} comparison
 */
export async function compare(operation, comparison) {
  const { connections, lab } = comparison;
  lab.say(`${operation}: service and floor, ${connections} connection${connections === 1 ? '' : 's'}`);
  const { floor, service } = await alternate(comparison);
  return {
    operation,
    connections,
    service: summaryOf(service),
    floor: summaryOf(floor),
    throughputRatio: medianRatio(service, floor, 'perSecond'),
    p99Ratio: medianRatio(service, floor, 'p99'),
  };
}

/**
 * Measures both servers in turn, round after round, and in the other direction every second time, so that neither always
 * runs after the other.
 *
 * @param {Comparison} comparison
 */
async function alternate({ lab, servers, steps, connections, plan, settle }) {
  const measured = { floor: /** @type {Round[]} */ ([]), service: /** @type {Round[]} */ ([]) };
  const names = /** @type {const} */ (['floor', 'service']);
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { url, pid } = servers[name];
      const before = [pid, lab.databasePid].map(processorMs);
      const { operations, broken } = await drive({ url, steps: steps[name], connections, duration: plan.seconds });
      await settle?.(name);
      const [figures] = Object.values(operations);
      if (!figures || figures.requests === 0) throw new Error(`${name}: nothing was answered`);
      const used = (/** @type {number} */ process, /** @type {number} */ at) =>
        (processorMs(process) - (before[at] ?? NaN)) / figures.requests;
      measured[name].push({
        ...figures,
        refused: figures.refused + broken,
        processorMs: used(pid, 0),
        databaseMs: used(lab.databasePid, 1),
      });
    }
  }
  return measured;
}

/** @param {Round[]} rounds */
function summaryOf(rounds) {
  const of = (/** @type {'processorMs' | 'databaseMs'} */ name) => median(rounds.map((round) => round[name]));
  return { ...medians(rounds), processorMs: of('processorMs'), databaseMs: of('databaseMs') };
}

/**
 * Pair by pair: what disturbs the machine for a while disturbs both of a pair.
 *
 * @param {Round[]} service
 * @param {Round[]} floor
 * @param {'perSecond' | 'p99'} figure
 */
function medianRatio(service, floor, figure) {
  return median(service.map((one, round) => one[figure] / (floor[round]?.[figure] ?? NaN)));
}

const HEADS = ['operation', 'connections']
  .concat(['requests/s', 'of the floor', 'ratio', 'p99 ms', 'of the floor', 'ratio'])
  .concat(['CPU ms', 'of the floor', 'database CPU ms', 'of the floor', 'refused']);

/** @param {string} title @param {Awaited<ReturnType<typeof compare>>[]} results */
export function printComparison(title, results) {
  const rows = results.map(({ operation, connections, service, floor, throughputRatio, p99Ratio }) => [
    ...[operation, String(connections)],
    ...[service.perSecond, floor.perSecond].map((rate) => rate.toFixed(0)),
    throughputRatio.toFixed(2),
    ...[service.p99, floor.p99].map((time) => time.toFixed(1)),
    p99Ratio.toFixed(2),
    ...[service.processorMs, floor.processorMs, service.databaseMs, floor.databaseMs].map((time) => time.toFixed(2)),
    String(service.refused + floor.refused),
  ]);
  printTable(title, HEADS, rows);
}
