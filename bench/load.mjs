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
 *
 * @typedef {{ times: number[], answered: number, refused: number }} Answers to one step; the times in milliseconds
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
 * @param {string} options.url
 * @param {Step[]} options.steps
 * @param {number} options.connections
 * @param {number} [options.duration] how long, in seconds, unless it is said how many
 * @param {number} [options.amount] the number of requests, however long they take
 * @returns {Promise<{ operations: Record<string, Figures>, broken: number }>} by operation; `broken` are connections that
 *   were lost and requests without an answer in 10 s
 */
export async function drive({ url, steps, connections, ...limit }) {
  /** @type {Map<string, Answers>} */
  const answers = new Map(steps.map(({ name }) => [name, { times: [], answered: 0, refused: 0 }]));
  // autocannon tells the step first, and then, before anything else happens, how long its answer took.
  let current = steps[0]?.name ?? '';
  const requests = steps.map((step) => toRequest(step, (name) => (current = name)));
  const startedAt = performance.now();
  let lastAt = startedAt;
  const broken = await new Promise((resolve, reject) => {
    const options = { url, connections, sampleInt: 100, requests, ...limit };
    const known = new WeakSet();
    const instance = autocannon(options, (error, result) => (error ? reject(error) : resolve(result.errors)));
    instance.on('response', (client, status, _bytes, milliseconds) => {
      lastAt = performance.now();
      const own = answers.get(current);
      if (own === undefined) return;
      own.answered += 1;
      if (status < 200 || status > 299) own.refused += 1;
      if (known.has(client)) own.times.push(milliseconds);
      else known.add(client);
    });
  });
  await sleep(SETTLE_MS);
  const elapsed = (lastAt - startedAt) / 1000;
  const operations = [...answers].map(([name, own]) => [name, toFigures(own, elapsed)]);
  return { operations: Object.fromEntries(operations), broken };
}

/** For each server. The processor time of an order still falls until the compiler has seen some ten thousand of them. */
const WARM_UP_REQUESTS = 10_000;

/**
 * Lets the compiler of JavaScript, the pools and the caches of a server warm up. That takes a number of requests rather
 * than a time: on a busy machine the slower server would otherwise also be the colder one. What requests share when
 * there are several is other code than what a single one takes, so both are warmed up.
 *
 * @param {string} url
 * @param {Step[]} steps
 */
export async function warmUp(url, steps) {
  for (const connections of [10, 1]) await drive({ url, steps, connections, amount: WARM_UP_REQUESTS });
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
 * Computes the figures of a step.
 *
 * @param {Answers} answers
 * @param {number} elapsed in seconds
 * @returns {Figures}
 */
export function toFigures({ times, answered, refused }, elapsed) {
  return { requests: answered, perSecond: answered / elapsed, ...percentiles(times), refused };
}

/**
 * @param {number[]} times
 * @returns {Pick<Figures, 'p50' | 'p95' | 'p99'>}
 */
export function percentiles(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
