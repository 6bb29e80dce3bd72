// @ts-check
/**
 * A process that generates load, because a load generator inside the test process would measure itself. It reads a
 * `Plan` from stdin and writes `Record<string, Outcome>`, by stream, to stdout.
 *
 * @typedef {object} Stream connections with the same behavior
 * @property {string} name
 * @property {number} connections
 * @property {'requests' | 'idle-upload' | 'slow-reader'} kind `requests` sends requests one after another;
 *   `idle-upload` sends all but the last byte and waits; `slow-reader` sends many requests and never reads
 * @property {string[]} [from] the clients' own addresses, which the connections use in turn
 * @property {number} [everyMs] the minimum time between two requests of a connection
 * @property {{ method: string, path: string, token?: string, body?: string }[]} requests sent in turn; `%n` becomes a new
 *   number each time
 *
 * @typedef {{ url: string, seconds: number, streams: Stream[] }} Plan
 * @typedef {object} Outcome
 * @property {Record<string, number>} statuses the number of responses by status or error
 * @property {number} goodput 2xx responses per second, without those that arrived after the time was up
 * @property {number} p50 of the response time, in milliseconds
 * @property {number} p99
 */
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpConnection } from './http-connection.mjs';

const { url, seconds, streams } = /** @type {Plan} */ (await json(process.stdin));
const deadline = performance.now() + seconds * 1000;
const { host, hostname, port } = new URL(url);
/** The number of requests that a slow reader pipelines. */
const PIPELINED = 16;
/** Makes numbers differ between load processes. */
let number = process.pid * 1_000_000;

/** @param {Stream['requests'][number]} request */
function bytesOf({ method, path, token, body = '' }) {
  const text = body.replace('%n', () => String(++number));
  return [
    `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`,
    token === undefined ? '' : `authorization: Bearer ${token}\r\n`,
    text === '' ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`,
    `\r\n${text}`,
  ].join('');
}

/**
 * @param {Stream} stream
 * @param {number} index of the connection
 * @param {(status: string, ms: number) => void} count
 */
async function sendRequests({ connections, requests, everyMs = 0, from = [] }, index, count) {
  const connection = new HttpConnection(url, from[index % from.length]);
  // Spread the start of the connections over the period, or over one second.
  await sleep(((everyMs || 1000) * index) / connections);
  for (let turn = index; performance.now() < deadline; turn++) {
    const startedAt = performance.now();
    const status = await connection.send(bytesOf(/** @type {any} */ (requests[turn % requests.length])));
    const ms = performance.now() - startedAt;
    count(status, ms);
    // Wait after a refused connection, which would otherwise be retried within the same millisecond.
    await sleep(/^\d/.test(status) ? Math.max(0, everyMs - ms) : Math.max(100, everyMs - ms));
  }
  connection.close();
}

/**
 * Opens a connection that occupies the service, and opens it again when the service closes it.
 *
 * @param {string} bytes
 * @param {boolean} reads whether it reads responses
 * @param {string | undefined} from
 * @param {(status: string) => void} count
 */
async function occupy(bytes, reads, from, count) {
  while (performance.now() < deadline) {
    const address = { port: Number(port), host: hostname, ...(from && { localAddress: from }) };
    const socket = connect(address, () => socket.write(bytes));
    if (reads) socket.resume();
    else socket.pause();
    socket.on('error', () => undefined);
    const timer = setTimeout(() => socket.destroy(), deadline - performance.now());
    await new Promise((resolve) => socket.once('close', resolve));
    clearTimeout(timer);
    count('closed');
    await sleep(500);
  }
}

/** @param {Stream} stream */
async function run(stream) {
  /** @type {Record<string, number>} */
  const statuses = {};
  /** @type {number[]} */
  const times = [];
  let good = 0;
  const count = (/** @type {string} */ status, ms = 0) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    times.push(ms);
    if (status.startsWith('2') && performance.now() < deadline) good++;
  };
  const bytes = stream.requests.map(bytesOf);
  const work = Array.from({ length: stream.connections }, (_, index) => {
    const from = stream.from?.[index % stream.from.length];
    if (stream.kind === 'idle-upload') return occupy((bytes[0] ?? '').slice(0, -1), true, from, count);
    if (stream.kind === 'slow-reader') return occupy((bytes[0] ?? '').repeat(PIPELINED), false, from, count);
    return sendRequests(stream, index, count);
  });
  await Promise.all(work);
  times.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => Math.round(times[Math.floor(times.length * share)] ?? NaN);
  return [stream.name, { statuses, goodput: good / seconds, p50: at(0.5), p99: at(0.99) }];
}

console.log(JSON.stringify(Object.fromEntries(await Promise.all(streams.map(run)))));
process.exit();
