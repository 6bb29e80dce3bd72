// @ts-check
import autocannon from 'autocannon';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @typedef {object} Step a request of a sequence; each connection walks through its sequence again and again
 * @property {string} name of the operation
 * @property {(context: any) => { method: 'GET' | 'POST' | 'PUT', path: string, headers: Record<string, string>, body?: string } | null} request
 *   null where an earlier step failed: the connection starts its sequence again
 * @property {(body: string, context: any) => void} [onSuccess] what a later step needs to know of the answer
 *
 * @typedef {object} Figures
 * @property {number} requests answered
 * @property {number} perSecond
 * @property {number} p50 of the time to the whole answer, in milliseconds; refusals are among them
 * @property {number} p95
 * @property {number} p99
 * @property {number} refused answers that were no 2xx
 */

/** Requests in progress when the time is up continue in the server. They must not disturb the next measurement. */
const SETTLE_MS = 300;

/**
 * Puts a server under load: as many connections as said, each with one request after the other.
 *
 * The percentiles are computed from every single answer: autocannon's own histogram counts whole milliseconds. Only the
 * first answer of each connection does not count: Node accepts one connection per turn of its event loop, so when hundreds
 * are opened at once, the last ones wait for that and not for their orders.
 *
 * @param {object} options
 * @param {string | string[]} options.url the connections take several in turn
 * @param {Step[]} options.steps
 * @param {number} options.connections
 * @param {number} [options.seconds] how long, unless it is said how many
 * @param {number} [options.amount] the number of requests, however long they take
 * @param {number} [options.rate] requests per second over all connections, at most
 * @returns {Promise<{ operations: Record<string, Figures>, broken: number, statuses: Record<string, number> }>} by operation;
 *   `broken` are connections that were lost and requests without an answer in 10 s
 */
export async function drive({ url, steps, connections, seconds, rate, amount }) {
  const times = new Map(steps.map(({ name }) => [name, /** @type {number[]} */ ([])]));
  const answered = new Map(steps.map(({ name }) => [name, 0]));
  const refused = new Map(steps.map(({ name }) => [name, 0]));
  /** @type {Record<string, number>} */
  const statuses = {};
  // autocannon tells the step first, and then, before anything else happens, how long its answer took.
  let current = steps[0]?.name ?? '';
  const requests = steps.map((step) => toRequest(step, (name) => (current = name)));
  const startedAt = performance.now();
  let lastAt = startedAt;
  const broken = await new Promise((resolve, reject) => {
    const limits = {
      ...(seconds !== undefined && { duration: seconds }),
      ...(amount !== undefined && { amount }),
      ...(rate !== undefined && { overallRate: rate }),
    };
    // autocannon takes several URLs, which its types do not know.
    const options = { url: /** @type {string} */ (url), connections, sampleInt: 100, requests, ...limits };
    const known = new WeakSet();
    const instance = autocannon(options, (error, result) => (error ? reject(error) : resolve(result.errors)));
    instance.on('response', (client, status, _bytes, milliseconds) => {
      lastAt = performance.now();
      if (known.has(client)) times.get(current)?.push(milliseconds);
      else known.add(client);
      answered.set(current, (answered.get(current) ?? 0) + 1);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status < 200 || status > 299) refused.set(current, (refused.get(current) ?? 0) + 1);
    });
  });
  await sleep(SETTLE_MS);
  const elapsed = (lastAt - startedAt) / 1000;
  const operations = [...times].map(([name, all]) => [
    name,
    toFigures(all, answered.get(name) ?? 0, elapsed, refused.get(name) ?? 0),
  ]);
  return { operations: Object.fromEntries(operations), broken, statuses };
}

/** @param {Step} step @param {(name: string) => void} onAnswer @returns {autocannon.Request} */
function toRequest(step, onAnswer) {
  return {
    // autocannon takes null for "start the sequence again", which its types do not know.
    setupRequest: (request, context) => {
      const own = step.request(context);
      if (own === null) return /** @type {any} */ (null);
      // It also writes the length of a body into the headers it is given, where the next request would find it.
      return { ...request, ...own, headers: { ...own.headers } };
    },
    onResponse: (status, body, context) => {
      onAnswer(step.name);
      if (status >= 200 && status <= 299) step.onSuccess?.(body, context);
    },
  };
}

/**
 * @param {number[]} times in milliseconds
 * @param {number} requests
 * @param {number} elapsed in seconds
 * @param {number} refused
 * @returns {Figures}
 */
function toFigures(times, requests, elapsed, refused) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN;
  return {
    requests,
    perSecond: requests / elapsed,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    refused,
  };
}
