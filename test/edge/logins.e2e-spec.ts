import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Edge, startEdge } from '../../tools/clusters/haproxy.mjs';
import { atOnce, Client } from '../support/client.js';
import { describeWithEdge, expectEdgeProblem, RawConnection, startStub, type Stub, useEdge } from '../support/edge.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { aRequest, parseAnswer } from '../support/raw.js';
import type { Tokens } from '../support/shop.js';

const ATTACKERS = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];
/** How many logins of one address may be in progress, and how many an instance gets at once. */
const [PER_ADDRESS, AT_ONCE] = [50, 4];

const aLogin = (email: string): Buffer =>
  aRequest('POST /auth/login', { 'content-type': 'application/json' }, JSON.stringify({ email, password: PASSWORD }));

const credentialsOf = ({ email, password }: TestMerchant): object => ({ email, password });

describeWithEdge('logins through the edge', () => {
  // The defaults.
  const { service, edge, merchant } = useEdge({ env: { BCRYPT_COST: '10', BCRYPT_CONCURRENCY: '1' } });

  it('twenty workers of one user behind one address log in at once, and all get a token set', async () => {
    const logins = await atOnce(20, () =>
      new Client(edge).post<Tokens>('/auth/login', { email: merchant.email, password: PASSWORD }),
    );
    expect(logins.map(({ status }) => status)).toEqual(Array(20).fill(201));
  });

  it('twenty users behind one address log in at once, and all get a token set', async () => {
    const users = await Promise.all(Array.from({ length: 20 }, () => aMerchant(service)));
    const logins = await atOnce(20, (index) =>
      new Client(edge).post<Tokens>('/auth/login', credentialsOf(users[index]!)),
    );
    expect(logins.map(({ status }) => status)).toEqual(Array(20).fill(201));
  });

  it('logins and orders of others succeed during a storm of logins', async () => {
    let isOver = false;
    const storm = ATTACKERS.flatMap((from) =>
      Array.from({ length: PER_ADDRESS }, async (_, at) => {
        while (!isOver) await new RawConnection(edge, aLogin(`nobody-${from}-${at}@shop.example`), from).answers(1);
      }),
    );
    await sleep(1000);
    const body = { email: merchant.email, password: PASSWORD };
    for (let count = 0; count < 4; count++) {
      expect((await new Client(edge).post<Tokens>('/auth/login', body)).status).toBe(201);
      await merchant.orders();
    }
    isOver = true;
    await Promise.all(storm);
  });
});

describeWithEdge('logins that wait at the edge', () => {
  let stub: Stub;
  let edge: Edge;
  /** The addresses of the logins that the instance works on, in the order of their arrival, and how to end them. */
  let arrived: { address: string; end: () => void }[];
  let connections: RawConnection[];

  beforeEach(async () => {
    [arrived, connections] = [[], []];
    stub = await startStub((request: IncomingMessage, response: ServerResponse) => {
      const end = (): void => void response.writeHead(201).end();
      if (request.url === '/auth/login') arrived.push({ address: String(request.headers['x-forwarded-for']), end });
      else end();
    });
    edge = await startEdge([stub.url]);
  });
  afterEach(async () => {
    for (const { socket } of connections) socket.destroy();
    await edge.stop();
    await stub.stop();
  });

  /** Starts logins, and waits until the edge has them. */
  async function start(count: number, from: string): Promise<RawConnection[]> {
    const started = Array.from({ length: count }, () => new RawConnection(edge, aLogin('a@shop.example'), from));
    connections.push(...started);
    await sleep(500);
    return started;
  }

  it('an instance gets four at once, and the next one is of the address that has the fewest', async () => {
    await start(30, ATTACKERS[0]!);
    await start(30, ATTACKERS[1]!);
    await start(2, '127.0.0.9');
    expect(arrived.map(({ address }) => address)).toEqual(Array(AT_ONCE).fill(ATTACKERS[0]));
    // The first of the second attacker and the first of the other client precede the second of each.
    for (const next of [4, 5, 6, 7]) {
      arrived[next - 4]!.end();
      while (arrived.length <= next) await sleep(20);
    }
    const turns = arrived.slice(AT_ONCE).map(({ address }) => address);
    expect(turns).toEqual([ATTACKERS[1], '127.0.0.9', ATTACKERS[1], '127.0.0.9']);
    expect((await new Client(edge).get('/orders')).status).toBe(201);
  });

  it('the fifty-first login of an address returns 429 with Retry-After, and another address is not affected', async () => {
    const logins = await start(PER_ADDRESS + 5, ATTACKERS[0]!);
    await sleep(1500);
    const refused = logins.filter(({ received }) => received !== '').map(({ received }) => parseAnswer(received));
    expect(refused).toHaveLength(5);
    expectEdgeProblem(refused[0]!, 'too_many_requests', '/auth/login');
    expect(refused[0]!.headers.get('retry-after')).toBe('1');
    const [other] = await start(1, '127.0.0.9');
    arrived[0]!.end();
    while (!arrived.some(({ address }) => address === '127.0.0.9')) await sleep(20);
    arrived.find(({ address }) => address === '127.0.0.9')!.end();
    expect((await other!.answer()).status).toBe(201);
  });

  it('a login whose client is gone does not take a turn', async () => {
    await start(AT_ONCE, ATTACKERS[0]!);
    for (const { socket } of await start(10, ATTACKERS[1]!)) socket.destroy();
    await start(1, ATTACKERS[2]!);
    arrived[0]!.end();
    while (arrived.length === AT_ONCE) await sleep(20);
    expect(arrived[AT_ONCE]!.address).toBe(ATTACKERS[2]);
  });
});
