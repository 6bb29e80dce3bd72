import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, afterAll, expect, it } from '@jest/globals';
import { type Edge, startEdge } from '../../tools/clusters/haproxy.mjs';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import {
  BEHIND_EDGE,
  describeWithEdge,
  expectEdgeProblem,
  RawConnection,
  startStub,
  type Stub,
} from '../support/edge.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { aRequest } from '../support/raw.js';
import { startService } from '../support/service.js';
import type { Tokens } from '../support/shop.js';

const answerWith = (status: number) => (_request: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(status).end();

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:1';

describeWithEdge('two instances behind the edge', () => {
  let database: TestDatabase;
  let instances: BuiltService[] = [];
  let edge: Edge;
  let client: Client;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    const service = await startService({ databaseUrl: database.url });
    const { tokens } = await aMerchant(service);
    await service.stop();
    const env = { ...BEHIND_EDGE, SHUTDOWN_DELAY_SECONDS: '1', LOG_LEVEL: 'warn' };
    instances = await Promise.all([1, 2].map(() => startBuiltService(database.url, env)));
    edge = await startEdge(instances.map(({ url }) => url));
    client = new Client(edge, tokens.access_token).once;
  });
  afterAll(async () => {
    await edge?.stop();
    await Promise.all(instances.map((instance) => instance.kill()));
    await database?.drop();
  });

  /** Creates orders from four clients until the change is over, and a second longer. @returns all statuses */
  async function duringOrders(change: () => Promise<unknown>): Promise<Set<number>> {
    const statuses = new Set<number>();
    let isOver = false;
    const orders = atOnce(4, async () => {
      while (!isOver) statuses.add((await client.post('/orders', anOrder())).status);
    });
    await sleep(500);
    await change().finally(async () => {
      await sleep(1000);
      isOver = true;
      await orders;
    });
    return statuses;
  }

  /** Whether that is the last that the edge said of an instance. */
  const isDown = (instance: string): boolean =>
    edge.log().lastIndexOf(`Server ${instance} is DOWN`) > edge.log().lastIndexOf(`Server ${instance} is UP`);

  it('no order fails while an instance shuts down, nor while another one that has started since is killed', async () => {
    expect(await duringOrders(() => instances[0]!.stop())).toEqual(new Set([201]));
    const { port } = new URL(instances[0]!.url);
    instances[0] = await startBuiltService(database.url, { ...BEHIND_EDGE, LOG_LEVEL: 'warn', PORT: port });
    while (isDown('service/instance1') || isDown('logins/instance1')) await sleep(100);
    expect(await duringOrders(() => instances[1]!.kill())).toEqual(new Set([201]));
  });
});

describeWithEdge('instances that do not answer', () => {
  const running: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of running.splice(0).reverse()) await each.stop();
  });

  async function edgeOf(urls: string[]): Promise<{ edge: Edge; client: Client }> {
    const edge = await startEdge(urls);
    running.push(edge);
    return { edge, client: new Client(edge).once };
  }

  /** Two instances that do the same with each request. @returns the targets of the requests that arrived */
  async function behind(
    answer: (response: ServerResponse) => void,
  ): Promise<{ edge: Edge; client: Client; arrived: string[] }> {
    const arrived: string[] = [];
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      arrived.push(`${request.method} ${request.url}`);
      request.resume().once('end', () => answer(response));
    };
    const stubs: Stub[] = await Promise.all([startStub(handle), startStub(handle)]);
    running.push(...stubs);
    return { ...(await edgeOf(stubs.map(({ url }) => url))), arrived };
  }

  it('without an instance the edge returns 503 with Retry-After, and says in its log which requests had no answer', async () => {
    const { edge, client } = await edgeOf([NOWHERE]);
    const answer = await client.get('/orders');
    expectEdgeProblem(answer, 'unavailable', '/orders');
    expect(answer.headers.get('retry-after')).toBe('1');
    expectEdgeProblem(await client.post<Tokens>('/auth/login', {}), 'unavailable', '/auth/login');
    while (!edge.log().includes(answer.body.request_id)) await sleep(50);
  });

  it('an instance that is not ready gets no requests, and the only one gets all', async () => {
    const [first, second] = [await startStub(answerWith(500)), await startStub(answerWith(501))];
    running.push(first, second);
    const { edge, client } = await edgeOf([first.url, second.url]);
    const statuses = async (): Promise<Set<number>> =>
      new Set((await atOnce(10, () => client.get('/nowhere'))).map(({ status }) => status));
    expect(await statuses()).toEqual(new Set([500, 501]));
    first.isReady = false;
    while (!edge.log().includes('Server service/instance1 is DOWN')) await sleep(50);
    expect(await statuses()).toEqual(new Set([501]));
    second.isReady = false;
    while (!edge.log().includes('backend service has no server available')) await sleep(50);
    expectEdgeProblem(await client.get('/orders'), 'unavailable', '/orders');
    first.isReady = true;
    while (!edge.log().includes('Server service/instance1 is UP')) await sleep(50);
    expect(await statuses()).toEqual(new Set([500]));
    first.isReady = false;
    expect((await (await edgeOf([first.url])).client.get('/nowhere')).status).toBe(500);
  });

  it('a request that was not answered is repeated, except where the repeat would be answered differently', async () => {
    const { edge, arrived } = await behind((response) => response.destroy());
    // Each on a connection of its own: on one that was used before, HAProxy 2.6 closes it instead of a 503.
    const problemOf = async (line: string, headers = {}): Promise<Answer> =>
      new RawConnection(edge, aRequest(line, headers)).answer();
    expectEdgeProblem(await problemOf('POST /quotes'), 'unavailable', '/quotes');
    expectEdgeProblem(await problemOf('POST /auth/logout'), 'unavailable', '/auth/logout');
    expectEdgeProblem(await problemOf('PUT /orders/1', { 'if-match': '"3"' }), 'unavailable', '/orders/1');
    expect(arrived).toEqual([...Array<string>(3).fill('POST /quotes'), 'POST /auth/logout', 'PUT /orders/1']);
  });

  it.each([500, 503])('a response with status %i is not repeated', async (status) => {
    const { client, arrived } = await behind((response) => void response.writeHead(status).end());
    expect((await client.post('/quotes', {})).status).toBe(status);
    expect(arrived).toEqual(['POST /quotes']);
  });

  it('an instance that starts to answer and breaks off is not asked again', async () => {
    const { client, arrived } = await behind((response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{', () => setTimeout(() => response.destroy(), 200));
    });
    await expect(client.post('/quotes', {})).rejects.toThrow();
    expect(arrived).toEqual(['POST /quotes']);
  });
});
