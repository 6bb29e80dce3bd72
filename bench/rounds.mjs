// @ts-check
import { drive } from './load.mjs';
import { processorMs } from './processes.mjs';

/**
 * @typedef {import('./load.mjs').Figures} Figures
 * @typedef {Figures & { processorMs: number }} Round with the processor time of the server for a request
 * @typedef {{ name: string, url: string | string[], pid: number, steps: import('./load.mjs').Step[], connections: number }} Contender
 */

/**
 * Measures contenders in turn, round after round, and in the other direction every second time, so that none always
 * runs after the same one. Each must have one operation only.
 *
 * @param {Contender[]} contenders
 * @param {import('./bench.mjs').Plan} plan
 * @returns {Promise<Record<string, Round[]>>} a list of rounds by name
 */
export async function alternate(contenders, { rounds, seconds }) {
  /** @type {Record<string, Round[]>} */
  const measured = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, pid, url, steps, connections } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const before = processorMs(pid);
      const { operations, broken } = await drive({ url, steps, connections, seconds });
      const [figures] = Object.values(operations);
      if (!figures || figures.requests === 0) throw new Error(`${name}: nothing was answered`);
      const used = (processorMs(pid) - before) / figures.requests;
      measured[name]?.push({ ...figures, refused: figures.refused + broken, processorMs: used });
    }
  }
  return measured;
}

/** For each process. The processor time of an order still falls until the compiler has seen some ten thousand of them. */
const WARM_UP_REQUESTS = 10_000;

/**
 * Lets the compiler of JavaScript, the pools and the caches of servers warm up. That takes a number of requests rather
 * than a time: on a busy machine the slower server would otherwise also be the colder one. What requests share when
 * there are several is other code than what a single one takes, so both are warmed up.
 *
 * @param {Pick<Contender, 'url' | 'steps'>[]} contenders
 */
export async function warmUp(contenders) {
  for (const { url, steps } of contenders)
    for (const connections of [10, 1]) await drive({ url, steps, connections, amount: WARM_UP_REQUESTS });
}
