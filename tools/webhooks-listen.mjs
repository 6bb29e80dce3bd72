// @ts-check
//
// npm run webhooks:listen: prints the events of a merchant of `npm start`, sent as webhooks. See USAGE.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { Webhook } from 'standardwebhooks';
import * as demo from './demo.mjs';
import { isPortFree } from './support/ports.mjs';
import { messageOf, onInterrupt, PROJECT } from './support/processes.mjs';

/** The path by which this program recognizes its own endpoints. */
const PATH = '/webhooks-listen';

const USAGE = `Prints the events of the demo merchant of "npm start", sent as webhooks.

npm run webhooks:listen                 one line per event
npm run webhooks:listen -- --json       each event in full
npm run webhooks:listen -- --batch 100  gets up to 100 events per request

The environment says where the service listens: PORT (default: 3000) or BASE, such as http://localhost:3000. For a
merchant of your own in a sandbox, set EMAIL and PASSWORD to those of its API user.`;

const options = readOptions();

/** Exits for `--help`, and for options that do not exist. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: { json: { type: 'boolean' }, batch: { type: 'string', default: '1' }, help: { type: 'boolean' } },
    });
    if (!values.help) return values;
    console.log(USAGE);
    return process.exit(0);
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${USAGE}`);
    return process.exit(1);
  }
}

process.chdir(PROJECT);
if (existsSync('.env')) process.loadEnvFile('.env');
const { EMAIL = demo.EMAIL, PASSWORD = demo.PASSWORD } = process.env;
const BASE = (process.env['BASE'] || `http://localhost:${process.env['PORT'] || 3000}`).replace(/\/$/, '');

/**
 * Returns a function that sends a request and returns the body of the response. It throws if the request fails.
 *
 * @typedef {(method: string, path: string, body?: object) => Promise<any>} Call
 * @param {string} token
 * @returns {Call}
 */
const callWith = (token) => async (method, path, body) => {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
  const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(`${BASE}${path}`, request).catch(() => {
    throw new Error(`Nothing answers at ${BASE}. Start the service in another terminal: npm start
If it listens elsewhere, set PORT or BASE to what it prints.`);
  });
  if (response.status === 204) return undefined;
  const answer = /** @type {any} */ (await response.json().catch(() => null));
  if (answer === null)
    throw new Error(`What answers at ${BASE} is not this service. Set PORT or BASE to what \`npm start\` prints.`);
  if (response.ok) return answer;
  if (answer.code === 'invalid_credentials')
    throw new Error(`The service at ${BASE} has no such login as ${EMAIL}. \`npm start\` creates a demo merchant.`);
  throw new Error(`${method} ${path} returned ${response.status} ${answer.code}: ${answer.detail ?? answer.title}`);
};

/** Logs in again each time, because a token expires after an hour. */
const logIn = async () =>
  callWith((await callWith('')('POST', '/auth/login', { email: EMAIL, password: PASSWORD })).access_token);

/** Deletes the endpoints of earlier runs that were killed. One that still listens keeps its own. @param {Call} call */
async function deleteLeftovers(call) {
  for (const { id, url } of (await call('GET', '/webhook-endpoints')).data) {
    const { hostname, port, pathname } = new URL(url);
    if (hostname === '127.0.0.1' && pathname === PATH && (await isPortFree(Number(port), hostname)))
      await call('DELETE', `/webhook-endpoints/${id}`);
  }
}

/** Names the amounts that are not zero. @param {Record<string, string | undefined>} members */
const amounts = (members) =>
  Object.entries(members).flatMap(([name, amount]) => (amount && amount !== '0.00' ? [`${name} ${amount}`] : []));

/** @param {any} event */
function summaryOf({ timestamp, sequence = '', type, data: { order, refund, grant, amount, change, wallet } = {} }) {
  const { to_redeem, to_receive } = order?.cashback ?? {};
  const parts = [
    ...(order ? [order.external_id, order.status, `version ${order.version}`] : []),
    ...(grant ? [grant.external_id] : []),
    ...amounts({ amount, change, total: order?.total, held: to_redeem?.held, redeemed: to_redeem?.redeemed }),
    ...amounts({ 'to receive': to_receive?.amount, refunded: refund?.amount }),
    ...(wallet ? [`| available ${wallet.available}`] : []),
    ...amounts({ pending: wallet?.pending, debt: wallet?.debt }),
  ];
  // The day too, because the clock of a sandbox can move by months.
  const at = new Date(timestamp);
  const time = `${at.toLocaleDateString('sv-SE')} ${at.toTimeString().slice(0, 8)}`;
  return `${time} ${String(sequence).padStart(6)}  ${type.padEnd(25)} ${parts.join(' ')}`.trimEnd();
}

/** Prints the event of a request, or those of a batch. @param {any} body */
function print(body) {
  const isBatch = Array.isArray(body.data);
  if (isBatch) console.error(`A batch of ${body.data.length}:`);
  for (const event of isBatch ? body.data : [body])
    console.log(options.json ? JSON.stringify(event, null, 2) : summaryOf(event));
}

/** Registers this program as an endpoint, and prints what arrives. Returns a function that deletes the endpoint. */
async function listen() {
  const call = await logIn();
  await deleteLeftovers(call);
  let webhook = /** @type {Webhook | undefined} */ (undefined);
  const server = createServer(async (request, response) => {
    try {
      const body = Buffer.concat(await request.toArray());
      if (webhook === undefined) throw new Error('the secret is not known yet');
      print(webhook.verify(body, /** @type {Record<string, string>} */ (request.headers)));
      response.writeHead(204).end();
    } catch (error) {
      console.error(`Refused ${request.method} ${request.url}: ${messageOf(error)}`);
      response.writeHead(400).end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const url = `http://127.0.0.1:${port}${PATH}`;
  const endpoint = await call('POST', '/webhook-endpoints', { url, batch: Number(options.batch) });
  webhook = new Webhook(endpoint.secret);
  console.error(`Waiting for the events of ${EMAIL} at ${BASE}. Ctrl-C ends, and deletes the endpoint.`);
  return async () => (await logIn())('DELETE', `/webhook-endpoints/${endpoint.id}`);
}

/** @param {() => unknown} work the process exits if it fails */
async function orExit(work) {
  try {
    await work();
  } catch (error) {
    console.error(messageOf(error));
    process.exit(1);
  }
}

let ending = false;
await orExit(async () => {
  const remove = await listen();
  onInterrupt(() => {
    if (!ending) void orExit(remove).then(() => process.exit(0));
    ending = true;
  });
});
