import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { runNode } from '../support/build.js';
import { Client } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { OwnServer, servers } from '../support/private-server.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService, TEST_SECRET, testEnvironment } from '../support/service.js';

/** Defaults that an operator or a provider may have set. Each broke something or could. */
const HOSTILE = [
  "lc_messages = 'pt_BR'",
  'autocommit = 0',
  "completion_type = 'CHAIN'",
  "sql_mode = ''",
  "time_zone = '-03:00'",
  'foreign_key_checks = 0',
  'unique_checks = 0',
  'sql_safe_updates = 1',
  'sql_auto_is_null = 1',
  'sql_select_limit = 1',
  'max_join_size = 1',
  'innodb_lock_wait_timeout = 100',
  'group_concat_max_len = 4',
];

const mariadb = servers.find(({ flavour }) => flavour === 'mariadb');
describeIf(mariadb !== undefined, 'A server that ignores row locks, because MariaDB is missing')('TiDB', () => {
  it('the migrations, the service and the command line refuse TiDB by name', async () => {
    const server = new OwnServer();
    await server.start({ durable: false, options: ['--version=8.0.11-TiDB-v8.5.6'], server: mariadb! });
    try {
      const env = { DATABASE_URL: server.url, JWT_SECRET: TEST_SECRET };
      for (const [file, ...args] of [['migrate.js', 'run'], ['main.js'], ['admin.js', 'merchants', 'list']]) {
        const { code, stdout, stderr } = await runNode(`dist/src/${file}`, args, env);
        expect({ file, code }).toEqual({ file, code: 1 });
        expect(stdout + stderr).toContain('the database is TiDB, which ignores the row locks of the service');
      }
    } finally {
      await server.stop();
    }
  });
});

describeIf(servers.length > 0, 'Other defaults of a server, because mysqld or mariadbd is missing')(
  'a database server with other defaults',
  () => {
    const server = new OwnServer();
    let operator: mysql.Connection;
    let service: Service;
    let merchant: TestMerchant;
    /** The service connects as a user without privileges on the server. */
    let url: string;

    beforeAll(async () => {
      const binaryLog = ['--log-bin=binlog', '--server-id=1', '--sync-binlog=0', '--log-bin-trust-function-creators=1'];
      await server.start({ durable: false, options: binaryLog });
      operator = await mysql.createConnection(server.url.replace(/^mariadb:/, 'mysql:'));
      await operator.query("CREATE USER 'app'@'127.0.0.1' IDENTIFIED BY 'secret'");
      await operator.query("GRANT ALL ON cashback.* TO 'app'@'127.0.0.1'");
      const isolation = server.url.startsWith('mariadb:') ? 'tx' : 'transaction';
      const globals = [...HOSTILE, `${isolation}_isolation = 'SERIALIZABLE'`, `${isolation}_read_only = 1`];
      for (const setting of globals) await operator.query(`SET GLOBAL ${setting}`);
      url = server.url.replace('root@', 'app:secret@');
      const migrated = await runNode('dist/src/migrate.js', ['run'], { DATABASE_URL: url });
      if (migrated.code !== 0) throw new Error(migrated.stderr);
      service = await startService({ databaseUrl: url });
      merchant = await aMerchant(service);
    });
    afterAll(async () => {
      await service?.stop();
      await operator?.end();
      await server.stop();
    });

    it('with other server defaults, an order that was answered with 201 is stored and replayed', async () => {
      const order = anOrder();
      await expectRow((await merchant.create(order)).id);
      await merchant.create(order).replayed();
      await merchant.create({ ...order, document: aDocument() }).refused(409, 'external_id_conflict');
    });

    it('with other server defaults, orders can be redeemed, completed, refunded, and listed', async () => {
      const order = await merchant.orderWith('50.00', { total: '100.00' });
      await merchant.complete(order, { redeem: '50.00' });
      for (const _ of ['first', 'repeated']) await merchant.refund(order, '10.00', { external_id: 'DEV-1' });
      expect((await merchant.orders()).data.length).toBeGreaterThan(1);
      await expectInvariants(service);
    });

    it('with other server defaults, the CLI reports that an email is taken', async () => {
      const env = testEnvironment(url);
      const args = [
        ...['users', 'create', '--merchant', merchant.id, '--name', 'Caixa 1'],
        ...['--email', merchant.email, '--permissions', 'sell'],
      ];
      const { code, stderr } = await runNode('dist/src/admin.js', args, env);
      const taken = `the API user ${merchant.userId} has this email`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(taken) });
    });

    it('settings with which a crash loses what was answered are named at the start, when it is ready, and by reconcile', async () => {
      const losses = ['innodb_flush_log_at_trx_commit', 'sync_binlog'].map(
        (setting) => `${setting} is 0 and not 1: a crash of the database loses answered requests`,
      );
      const ready = async (on: Service): Promise<object> => (await new Client(on).get<object>('/health/ready')).body;
      const live = await startService({
        databaseUrl: url,
        env: { NODE_ENV: 'production', WEBHOOK_ALLOW_PRIVATE: 'false' },
      });
      try {
        for (const loss of losses) expect(live.logged.join('')).toContain(loss);
        expect(await ready(live)).toEqual({ status: 'ok', warnings: losses });
        const { code, stderr } = await runNode('dist/src/admin.js', ['reconcile'], testEnvironment(url));
        expect({ code, stderr }).toEqual({ code: 0, stderr: losses.map((loss) => `warning: ${loss}\n`).join('') });
        // The databases of tests lose nothing that anybody needs.
        expect(service.logged.join('')).not.toContain('a crash of the database');
        expect(await ready(service)).toEqual({ status: 'ok' });
        await operator.query('SET GLOBAL innodb_flush_log_at_trx_commit = 1, GLOBAL sync_binlog = 1');
        while ('warnings' in (await ready(live))) await sleep(100);
        expect(await ready(live)).toEqual({ status: 'ok' });
      } finally {
        await live.stop();
      }
    });

    it('a read-only database returns 503 and is not ready, and the service recovers afterwards', async () => {
      const client = new Client(service).once;
      await operator.query('SET GLOBAL read_only = 1');
      while ((await client.get('/health/ready')).status === 200) await sleep(100);
      expectProblem(await client.get('/health/ready'), 503, 'unavailable');
      for (let n = 0; n < 12; n++)
        expectProblem(await merchant.client.once.post('/orders', anOrder()), 503, 'unavailable');
      await merchant.orders();

      await operator.query('SET GLOBAL read_only = 0');
      while ((await client.get('/health/ready')).status !== 200) await sleep(100);
      await merchant.create();
    });

    it('the service returns 503, not 500, while the database refuses connections', async () => {
      await operator.query("ALTER USER 'app'@'127.0.0.1' WITH MAX_USER_CONNECTIONS 1");
      const one = await mysql.createConnection(url.replace(/^mariadb:/, 'mysql:'));
      const [pool] = await operator.query<mysql.RowDataPacket[]>(
        "SELECT id FROM information_schema.processlist WHERE user = 'app' AND id <> ?",
        [one.threadId],
      );
      for (const { id } of pool) await operator.query(`KILL ${id}`);
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => merchant.client.once.post('/orders', anOrder())),
      );
      expect(answers.map(({ status }) => status).filter((status) => status !== 201)).toEqual(
        expect.arrayContaining([503]),
      );
      expect(answers.filter(({ status }) => status === 500)).toEqual([]);
      await operator.query("ALTER USER 'app'@'127.0.0.1' WITH MAX_USER_CONNECTIONS 0");
      await one.end();
    });

    async function expectRow(id: string): Promise<void> {
      const [rows] = await operator.query<mysql.RowDataPacket[]>('SELECT id FROM cashback.orders WHERE id = ?', [id]);
      await operator.query('COMMIT');
      expect(rows).toHaveLength(1);
    }
  },
);
