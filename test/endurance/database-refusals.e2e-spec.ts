import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, anOrder, logIn, type TestMerchant } from '../support/factories.js';
import { expectCreation, expectProblem } from '../support/expectations.js';
import { aRequest, parseAnswer } from '../support/raw.js';
import { lockOrder } from '../support/locked-order.js';
import { type Service, startService } from '../support/service.js';
import type { Row } from '../support/wallets.js';

let database: TestDatabase;
let service: Service;
let merchant: TestMerchant;
/** A separate connection to the same database. */
let operator: mysql.Connection;

beforeAll(async () => {
  database = await createMigratedDatabase();
  // The lists of one merchant can use a quarter of the pool, so the pool needs more than one connection.
  service = await startService({ databaseUrl: database.url, env: { DATABASE_POOL_SIZE: '10' } });
  merchant = await aMerchant(service);
  operator = await mysql.createConnection(database.url.replace(/^mariadb:/, 'mysql:'));
});
afterAll(async () => {
  await operator.end();
  await service.stop();
  await database.drop();
});

/** Makes the server return the error for each new order, on the connections that the condition selects. */
const refuse = (errno: number, condition = 'TRUE', sqlState = 'HY000'): Promise<unknown> =>
  operator.query(`
    CREATE TRIGGER tr_refuse BEFORE INSERT ON orders FOR EACH ROW
    BEGIN
      IF ${condition} THEN SIGNAL SQLSTATE '${sqlState}' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'refused'; END IF;
    END`);

/** The number of statements that run on the database's other connections. */
const running = async (): Promise<number> => {
  const [rows] = await operator.query<mysql.RowDataPacket[]>(
    "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND command <> 'Sleep' AND id <> CONNECTION_ID()",
  );
  return rows.length;
};

describe('a database that rejects writes', () => {
  afterEach(() => operator.query('DROP TRIGGER IF EXISTS tr_refuse'));

  it.each([
    ['a file that it cannot write', 3],
    ['a file that it cannot open', 23],
    ['a full disk', 1021],
    ['a binary log that it cannot write', 1026],
    ['a full table', 1114],
    ['a full disk for temporary files', 1878],
    ['a storage engine that failed', 1030],
    ['a storage engine that is read-only', 1036],
    ['too little memory', 1041],
    ['too many connections', 1040],
    ['a table that the user may not write any more', 1142],
    ['a commit that failed', 1180],
    ['an InnoDB that only reads', 1874],
    ['a commit that failed with an earlier one', 1964],
    ['a connection that must use TLS', 3159],
    ['a database that the user may not use', 1044],
    ['a password that has changed', 1045],
    ['a Galera node without a quorum', 1047],
    ['a blocked host', 1129],
    ['a limit of connections per user', 1226],
    ['read_only', 1290],
    ['a read-only transaction', 1792],
    ['read-only mode', 1836],
    ["MariaDB's statement timeout", 1969],
    ["MySQL's statement timeout", 3024],
    ['a server that left its group', 3032],
    ['Group Replication that cannot commit', 3100],
    ['a new primary that does not have all changes yet', 3781],
    ['a statement that ended while a new primary caught up', 3782],
    ['a server that left its group while it caught up', 3783],
    ['changes of others that it could not wait for', 3797],
    ['offline mode with a reason', 6400],
    ['a connection that others ended', 1158, '08S01'],
  ] as [string, number, string?][])(
    'POST /orders returns a retryable 503 when the database reports %s (%i)',
    async (_, errno, sqlState = 'HY000') => {
      await refuse(errno, 'TRUE', sqlState);
      const order = anOrder();
      const refused = await merchant.client.once.post('/orders', order);
      expectProblem(refused, 503, 'unavailable');
      expect({ retryable: refused.body.retryable, after: refused.headers.get('retry-after') }).toEqual({
        retryable: true,
        after: '1',
      });

      await operator.query('DROP TRIGGER tr_refuse');
      expectCreation(await merchant.create(order).answer);
    },
  );

  it('GET /health/ready returns 503 while the disk is full and 200 after it has space again', async () => {
    await refuse(1114);
    await merchant.client.once.post('/orders', anOrder());
    const client = new Client(service).once;
    while ((await client.get('/health/ready')).status === 200) await sleep(50);
    expectProblem(await client.get('/health/ready'), 503, 'unavailable');
    await operator.query('DROP TRIGGER tr_refuse');
    while ((await client.get('/health/ready')).status !== 200) await sleep(200);
    await merchant.create();
  });
});

describe('slow lists of one merchant', () => {
  let other: TestMerchant;
  let walletId: string;

  beforeAll(async () => {
    other = await aMerchant(service);
    const { document } = anOrder();
    await merchant.grant({ document });
    walletId = (await merchant.wallet(document)).id;
    // From here on, each grant that a statement reads takes one minute: those of the lines of a statement, for example.
    await operator.query('RENAME TABLE cashback_grants TO real_grants');
    await operator.query('CREATE VIEW cashback_grants AS SELECT * FROM real_grants WHERE SLEEP(60) = 0');
  });
  afterAll(async () => {
    await operator.query('DROP VIEW cashback_grants');
    await operator.query('RENAME TABLE real_grants TO cashback_grants');
  });

  it('slow lists of one merchant do not block other merchants or /health/ready, and their statements are stopped', async () => {
    const slow = Array.from({ length: 24 }, () => merchant.client.once.get(`/wallets/${walletId}/entries`));
    while ((await running()) === 0) await sleep(20);
    for (let n = 0; n < 5; n++) {
      await other.create();
      expect((await new Client(service).get('/health/ready')).status).toBe(200);
    }
    for (const answer of await Promise.all(slow)) expectProblem(answer, 503, 'unavailable');
    // The service must stop statements that still run after the last response, although they would take a minute.
    for (const deadline = Date.now() + 40_000; (await running()) > 0 && Date.now() < deadline;) await sleep(100);
    expect(await running()).toBe(0);
  });
});

describe('contended wallets', () => {
  const completeAtOnce = async ({ client }: TestMerchant, id: string): Promise<number> =>
    (await client.post(`/orders/${id}/complete`)).status;

  /** Sends the last byte of a body late, so that the request gives its turn back meanwhile. */
  async function completeInPieces(owner: TestMerchant, id: string): Promise<number> {
    const { tokens } = owner;
    const headers = { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' };
    const bytes = aRequest(`POST /orders/${id}/complete`, headers, '{}');
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write(bytes.subarray(0, -1));
    await sleep(300);
    socket.write(bytes.subarray(-1));
    await once(socket, 'close');
    const { status } = parseAnswer(received);
    return status === 503 ? completeInPieces(owner, id) : status;
  }

  /** Locks a wallet of the merchant, and returns an order that waits for it. */
  async function anOrderWithLockedWallet(owner: TestMerchant): Promise<string> {
    const { document } = await owner.completed();
    const order = await owner.create({ document });
    const wallet = 'SELECT id FROM wallets WHERE merchant_id = ? AND document = ? FOR UPDATE';
    await operator.query(wallet, [owner.id, document]);
    return order.id;
  }

  it.each([
    ['whole by one merchant', 1, completeAtOnce],
    ['in pieces by one merchant', 1, completeInPieces],
    ['whole by three merchants', 3, completeAtOnce],
  ])('requests sent %s that wait for locks leave connections for those of others', async (_, count, complete) => {
    const other = await aMerchant(service);
    const owners = await Promise.all(Array.from({ length: count }, () => aMerchant(service)));
    // Otherwise the locks would keep others from adding wallets beside the locked ones.
    await operator.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
    await operator.query('START TRANSACTION');
    const waiting: Promise<number>[] = [];
    for (const owner of owners) {
      const id = await anOrderWithLockedWallet(owner);
      waiting.push(...Array.from({ length: 60 }, () => complete(owner, id)));
    }
    // One merchant gets half of the connections that changes may take.
    while ((await running()) < 4) await sleep(20);
    await sleep(500);
    for (let n = 0; n < 10; n++) await other.completed();
    await operator.query('ROLLBACK');
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
  });
});

describe('conflicts that are retried', () => {
  afterEach(async () => {
    await operator.query('DROP TRIGGER IF EXISTS tr_conflict');
    await operator.query('DROP TABLE IF EXISTS attempts');
  });

  it('retried conflicts are counted by reason and logged with the attempt', async () => {
    await operator.query('CREATE TABLE attempts (n INT AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB');
    await operator.query(`
      CREATE TRIGGER tr_conflict BEFORE INSERT ON orders FOR EACH ROW
      BEGIN
        INSERT INTO attempts VALUES ();
        IF LAST_INSERT_ID() <= 2 THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'a deadlock'; END IF;
      END`);
    await merchant.create();
    const metrics = await fetch(new URL('/metrics', service.url)).then((answer) => answer.text());
    expect(metrics).toContain('database_retries_total{reason="deadlock"} 2');
    const lines = service.logged.map((line) => JSON.parse(line) as Row).filter(({ reason }) => reason === 'deadlock');
    expect(lines).toMatchObject([
      { event: 'database_conflict_retried', reason: 'deadlock', attempt: 1 },
      { event: 'database_conflict_retried', reason: 'deadlock', attempt: 2 },
    ]);
  });
});

describe('a database server that is replaced by another one', () => {
  let other: Service;
  /** The newest connection from before the start of this service. */
  let older: number;

  beforeAll(async () => {
    older = (await connections(0)).at(-1)!;
    // Nothing asks for its readiness, so all of its connections are in its pool.
    other = await startService({ databaseUrl: database.url, env: { DATABASE_POOL_SIZE: '10', BATCH: 'false' } });
  });
  afterEach(() => operator.query('DROP TRIGGER IF EXISTS tr_refuse'));
  afterAll(() => other.stop());

  /** Returns the IDs of the connections that were opened after another one. */
  const connections = async (first: number): Promise<number[]> => {
    const [rows] = await operator.query<(mysql.RowDataPacket & { id: number })[]>(
      `SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id > ${first} ORDER BY id`,
    );
    return rows.map(({ id }) => id);
  };

  it.each([
    ['turned read-only', 1290],
    ['lost its quorum in Galera', 1047],
    ['left its group', 3100],
  ])('after a server %s, each of its connections refuses at most one write', async (_, errno) => {
    const client = new Client(other, merchant.tokens.access_token);
    const create = async (): Promise<number> => (await client.once.post('/orders', anOrder())).status;
    const { body: order } = await client.post('/orders', anOrder());
    while ((await connections(older)).length < 5) await Promise.all(Array.from({ length: 20 }, create));

    // All connections that are open now belong to the former server.
    const former = await connections(older);
    await refuse(errno, `CONNECTION_ID() <= ${former.at(-1)}`);
    const lock = await lockOrder(database.url, order.id);
    const completion = client.post(`/orders/${order.id}/complete`, {});
    await lock.untilWaiting();
    expect(await create()).toBe(503);
    await lock.release();
    // The transaction that had begun is not interrupted.
    expect((await completion).status).toBe(200);
    let refused = 1;
    for (let inARow = 0; inARow < 30; inARow++) {
      if ((await create()) === 201) continue;
      refused += 1;
      inARow = -1;
    }
    expect(refused).toBeLessThanOrEqual(former.length);
  });
});

// A second service in this process takes over the log, so this comes last.
describe('tokens that a process has not seen', () => {
  it('fresh tokens of one merchant from many networks do not delay another merchant', async () => {
    const env = { DATABASE_POOL_SIZE: '1', TRUST_PROXY: '1' };
    const small = await startService({ databaseUrl: database.url, env });
    const tokens = await Promise.all(Array.from({ length: 40 }, () => logIn(service, merchant.email)));
    const other = await aMerchant(service);
    const known = new Client(small, other.tokens.access_token);
    expect((await known.get('/policy')).status).toBe(200);

    const answered: string[] = [];
    const ask = async (name: string, client: Client, network: string): Promise<void> => {
      const headers = { 'x-forwarded-for': network };
      expect((await client.get(`/wallets/${randomUUID()}`, { headers })).status).toBe(404);
      answered.push(name);
    };
    await operator.query('LOCK TABLES wallets WRITE');
    const requests = tokens.map(({ access_token: token }, at) => ask('one', new Client(small, token), `10.${at}.0.1`));
    while ((await running()) < 1) await sleep(20);
    await sleep(200);
    requests.push(ask('other', known, '192.0.2.1'));
    await sleep(200);
    await operator.query('UNLOCK TABLES');
    await Promise.all(requests);
    await small.stop();
    // It waits for the requests in progress, five per connection, but not for those that wait.
    expect(answered.indexOf('other')).toBeLessThan(20);
  });
});
