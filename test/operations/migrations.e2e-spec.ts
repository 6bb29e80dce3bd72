import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type DataSourceOptions, type MigrationInterface, type QueryRunner } from 'typeorm';
import {
  applyMigrations,
  hasColumn,
  hasConstraint,
  hasIndex,
  revertMigration,
} from '../../src/platform/database/migrations.js';
import { createDataSource, SCHEMA } from '../../src/schema.js';
import { AdminCommandLine } from '../support/admin.js';
import { runNode } from '../support/build.js';
import { Client } from '../support/client.js';
import { createDatabase, createMigratedDatabase, migrate, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { describeSchema, tableNames, tablesWithoutKey } from '../support/schema.js';
import { type Service, startService, testEnvironment } from '../support/service.js';

let database: TestDatabase;
let dataSource: DataSource;

beforeAll(async () => {
  database = await createDatabase();
  dataSource = await createDataSource(database.url).initialize();
});
afterAll(async () => {
  await dataSource.destroy();
  await database.drop();
});

/** A migration as later releases add them. */
class AddRefundColor9000000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'refunds', 'color')))
      await runner.query('ALTER TABLE refunds ADD COLUMN color VARCHAR(100) NULL, ALGORITHM = INSTANT');
    if (!(await hasIndex(runner, 'refunds', 'ix_refunds_color')))
      await runner.query('ALTER TABLE refunds ADD INDEX ix_refunds_color (color), ALGORITHM = INPLACE, LOCK = NONE');
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasIndex(runner, 'refunds', 'ix_refunds_color'))
      await runner.query('ALTER TABLE refunds DROP INDEX ix_refunds_color, ALGORITHM = INPLACE, LOCK = NONE');
    if (await hasColumn(runner, 'refunds', 'color'))
      await runner.query('ALTER TABLE refunds DROP COLUMN color, ALGORITHM = INSTANT');
  }
}

/** Connects to a database whose next migration is the example. */
function connectWithLaterMigration(url: string): Promise<DataSource> {
  const later = createDataSource(url);
  later.setOptions({ migrations: [...SCHEMA.migrations, AddRefundColor9000000000000] });
  return later.initialize();
}

const rows = (sql: string, values: unknown[] = []): Promise<Record<string, string>[]> => dataSource.query(sql, values);
describe('migrations', () => {
  it('the migrations can be applied, reverted completely, and applied again with the same schema', async () => {
    const done = await applyMigrations(dataSource, () => undefined);
    expect(done).toHaveLength(dataSource.migrations.length);
    const first = await describeSchema(dataSource);
    expect(await tableNames(dataSource)).toEqual(
      expect.arrayContaining(['cashback_entries', 'migrations', 'orders', 'token_sets']),
    );
    for (const _migration of done) await dataSource.undoLastMigration({ transaction: 'each' });
    // These two tables belong to TypeORM.
    expect(await tableNames(dataSource)).toEqual(['migrations', 'typeorm_metadata']);
    await applyMigrations(dataSource, () => undefined);
    expect(await describeSchema(dataSource)).toEqual(first);
  });

  it('a later migration can be applied, reverted, and applied again, each also after an interruption', async () => {
    const fresh = await createMigratedDatabase();
    const later = await connectWithLaterMigration(fresh.url);
    const before = await describeSchema(later);
    expect(await applyMigrations(later, () => undefined)).toEqual(['AddRefundColor9000000000000']);
    const after = await describeSchema(later);
    expect(after).not.toEqual(before);
    await revertMigration(later, () => undefined);
    expect(await describeSchema(later)).toEqual(before);
    // As if the process had been killed after its first statement.
    await later.query('ALTER TABLE refunds ADD COLUMN color VARCHAR(100) NULL');
    await applyMigrations(later, () => undefined);
    expect(await describeSchema(later)).toEqual(after);
    await later.query('ALTER TABLE refunds DROP INDEX ix_refunds_color');
    await revertMigration(later, () => undefined);
    expect(await describeSchema(later)).toEqual(before);
    await later.destroy();
    await fresh.drop();
  });

  it('a text that is compared cannot end in a blank, and a database that has some is not migrated and keeps them', async () => {
    const service = await startService();
    const migrating = await createDataSource(service.databaseUrl).initialize();
    /** Reverts the migration, and those after it. */
    const revertBefore = async (): Promise<void> => {
      const runner = migrating.createQueryRunner();
      while (await hasConstraint(runner, 'ck_orders_store')) await revertMigration(migrating, () => undefined);
      await runner.release();
    };
    try {
      const merchant = await aMerchant(service);
      const order = await merchant.create({ store: 'SP-014' });
      const query = (sql: string): Promise<Record<string, string>[]> => migrating.query(sql);
      const set = (store: string): Promise<unknown> =>
        query(`UPDATE orders SET store = '${store}' WHERE id = '${order.id}'`);
      for (const store of ['SP-014 ', ' ']) await expect(set(store)).rejects.toThrow('ck_orders_store');
      for (const store of ['', 'SP-014', ' SP']) await set(store);
      await revertBefore();
      const reverted = await describeSchema(migrating);
      await set('SP-014 ');
      await expect(applyMigrations(migrating, () => undefined)).rejects.toThrow(
        'rows of orders with a store that ends in a blank: 1. Remove the blanks, then migrate.',
      );
      expect(await query(`SELECT HEX(store) AS hex FROM orders WHERE id = '${order.id}'`)).toEqual([
        { hex: '53502D30313420' },
      ]);
      expect(await describeSchema(migrating)).toEqual(reverted);
      await set('SP-014');
      // As if the process had been killed after its first statement.
      await query("ALTER TABLE orders ADD CONSTRAINT ck_orders_store CHECK (store NOT LIKE '% ')");
      const done = await applyMigrations(migrating, () => undefined);
      expect(done).toContain('CheckEndsOfTexts1764288000002');
      await query('ALTER TABLE orders DROP CONSTRAINT ck_orders_store');
      for (const _migration of done) await revertMigration(migrating, () => undefined);
      expect(await describeSchema(migrating)).toEqual(reverted);
    } finally {
      await migrating.destroy();
      await service.stop();
    }
  });

  it('a migration waits for a transaction that uses its table, lets other requests pass, and says so', async () => {
    const fresh = await createMigratedDatabase();
    const service = await createDataSource(fresh.url).initialize();
    const transaction = service.createQueryRunner();
    await transaction.startTransaction();
    await transaction.query('SELECT COUNT(*) FROM refunds');

    const said: string[] = [];
    let told = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (told = resolve));
    const migrating = await connectWithLaterMigration(fresh.url);
    const done = applyMigrations(migrating, (line) => {
      said.push(line);
      told();
    });
    await waiting;
    await service.query('SELECT COUNT(*) FROM refunds');
    await transaction.commitTransaction();
    await transaction.release();

    expect(await done).toEqual(['AddRefundColor9000000000000']);
    expect(said[0]).toBe('A migration met another transaction (lock wait timeout). It is repeated in a second.');
    expect(await applyMigrations(migrating, () => undefined)).toEqual([]);
    await migrating.destroy();
    await service.destroy();
    await fresh.drop();
  });

  it('the migrations run in the order of their file names, each of which has the name of its class', () => {
    const files = readdirSync('migrations').sort();
    expect(SCHEMA.migrations.map(({ name }) => name)).toEqual(
      files.map((file) => file.replace(/^(\d+)-(\w+)\.ts$/, '$2$1')),
    );
  });

  it('no migration was edited: each file has the digest that was listed when it was added', () => {
    // Where it was applied already, the schema would stay what it is. A new migration is a new line of the list. The
    // paths of imports are not counted: they follow the files of `src`.
    const digests = readdirSync('migrations').map((file) => {
      const digest = createHash('sha256')
        .update(readFileSync(`migrations/${file}`, 'utf8').replace(/ from '[^']+';/g, ''))
        .digest('hex');
      return `${digest}  ${file}`;
    });
    const listed = readFileSync('test/operations/migrations.sha256', 'utf8').trimEnd().split('\n');
    expect(digests.sort()).toEqual(listed.sort());
  });

  it('the migrations do nothing the second time', async () => {
    expect(await dataSource.showMigrations()).toBe(false);
    expect(await applyMigrations(dataSource, () => undefined)).toEqual([]);
  });

  it('the migrations create exactly the schema of the entities', async () => {
    // TypeORM's comparison, which the service never makes, has to know the server.
    const type = database.url.startsWith('mariadb:') ? 'mariadb' : 'mysql';
    const compared = await new DataSource({ ...dataSource.options, type } as DataSourceOptions).initialize();
    const { upQueries, downQueries } = await compared.driver.createSchemaBuilder().log();
    await compared.destroy();
    expect([...upQueries, ...downQueries].map(({ query }) => query)).toEqual([]);
  });

  it('`migration:show` lists the migrations and only reads, also for a user that may not change the schema', async () => {
    const fresh = await createDatabase();
    const name = new URL(fresh.url).pathname.slice(1);
    const user = name.replace('cashback_test', 'u');
    const operator = await mysql.createConnection(fresh.url.replace(/^mariadb:/, 'mysql:'));
    try {
      await operator.query(`CREATE USER ${user} IDENTIFIED BY 'secret'`);
      await operator.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${name}.* TO ${user}`);
      const url = fresh.url.replace(/\/\/[^@]*@/, `//${user}:secret@`);
      const show = (): Promise<unknown> => runNode('dist/src/migrate.js', ['show'], { DATABASE_URL: url });
      const listed = (mark: string): object => ({
        code: 0,
        stdout: SCHEMA.migrations.map((migration) => `[${mark}] ${migration.name}\n`).join(''),
        stderr: '',
      });
      expect(await show()).toEqual(listed(' '));
      expect((await operator.query('SHOW TABLES'))[0]).toEqual([]);
      await migrate(fresh.url);
      expect(await show()).toEqual(listed('X'));
    } finally {
      await operator.query(`DROP USER ${user}`);
      await operator.end();
      await fresh.drop();
    }
  });

  it('a database without the migrations, or without the last one, is 503 and not 500', async () => {
    const service = await startService();
    try {
      const merchant = await aMerchant(service);
      await service.dataSource.query('RENAME TABLE merchants TO merchants_away');
      const anyone = new Client(service).once;
      expectProblem(await merchant.client.once.get('/policy'), 503, 'unavailable');
      await service.dataSource.query('RENAME TABLE merchants_away TO merchants');
      await service.dataSource.query('ALTER TABLE orders RENAME COLUMN policy TO policy_away');
      expectProblem(await merchant.client.once.post('/orders', anOrder()), 503, 'unavailable');
      await service.dataSource.query('ALTER TABLE orders RENAME COLUMN policy_away TO policy');
      await service.dataSource.query('RENAME TABLE migrations TO migrations_away');
      while ((await anyone.get('/health/ready')).status === 200) await sleep(100);
      expect(service.logged.join('')).toContain(`${SCHEMA.migrations.length} migrations have not been applied`);
      await service.dataSource.query('RENAME TABLE migrations_away TO migrations');
    } finally {
      await service.stop();
    }
  });

  it('no row of deployment can be changed or deleted', async () => {
    const service = await startService();
    try {
      const read = (): Promise<unknown[]> => service.dataSource.query('SELECT * FROM deployment');
      for (const change of ["UPDATE deployment SET kind = 'sandbox'", 'DELETE FROM deployment'])
        await expect(service.dataSource.query(change)).rejects.toThrow('a database is a sandbox or live for good');
      expect(await read()).toEqual([{ id: 1, kind: 'live' }]);
    } finally {
      await service.stop();
    }
  });

  it.each(['audit_log', 'cashback_entries'])('no row of %s can be changed or deleted', async (table) => {
    const service = await startService();
    try {
      const admin = new AdminCommandLine(service);
      const { id } = await admin.json('merchants', 'create', '--name', 'Shop');
      await admin.json(
        ...['grants', 'create', '--merchant', id, '--external-id', 'G-1'],
        ...['--document', aDocument(), '--amount', '1.00'],
      );
      const read = (): Promise<unknown[]> => service.dataSource.query(`SELECT * FROM ${table}`);
      const before = await read();
      expect(before).not.toEqual([]);
      for (const change of [`UPDATE ${table} SET merchant_id = 'x'`, `DELETE FROM ${table}`])
        await expect(
          service.dataSource.query(change.replace('merchant_id', table === 'audit_log' ? 'operator' : 'merchant_id')),
        ).rejects.toThrow(`${table} is append-only`);
      expect(await read()).toEqual(before);
    } finally {
      await service.stop();
    }
  });

  it('the built migrations run up and down with only DATABASE_URL', async () => {
    const fresh = await createDatabase();
    const migrate = (command: string) => runNode('dist/src/migrate.js', [command], { DATABASE_URL: fresh.url });
    try {
      const up = await migrate('run');
      expect({ code: up.code, stderr: up.stderr }).toEqual({ code: 0, stderr: '' });
      const down = await migrate('revert');
      expect({ code: down.code, stderr: down.stderr }).toEqual({ code: 0, stderr: '' });
      const shown = await migrate('show');
      expect(shown.stdout.match(/\[X\]/g)).toHaveLength(dataSource.migrations.length - 1);
      const missing = await runNode('dist/src/migrate.js', ['run']);
      expect(missing.code).not.toBe(0);
      expect(missing.stdout + missing.stderr).toContain('DATABASE_URL is missing');
    } finally {
      await fresh.drop();
    }
  });
});

describe('the schema', () => {
  it('every table has a primary key, which Group Replication requires', async () => {
    expect(await tablesWithoutKey(dataSource)).toEqual([]);
  });

  it('every index name follows the naming convention', async () => {
    const names = await rows(
      'SELECT DISTINCT table_name AS tbl, index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE()',
    );
    expect(
      names.filter(
        ({ tbl, name }) => name !== 'PRIMARY' && !new RegExp(`^(uq|ix)_${tbl}_[a-z_]+$`).test(name as string),
      ),
    ).toEqual([]);
  });

  it('every constraint name follows the naming convention', async () => {
    // In MariaDB, a JSON column is a text column with a check constraint of the same name.
    const names = await rows(`
      SELECT t.table_name AS tbl, t.constraint_name AS name FROM information_schema.table_constraints t
       WHERE t.table_schema = DATABASE() AND NOT EXISTS (
         SELECT 1 FROM information_schema.check_constraints c
          WHERE c.constraint_schema = t.constraint_schema AND c.constraint_name = t.constraint_name AND c.check_clause LIKE 'json_valid(%')`);
    expect(names.length).toBeGreaterThan(30);
    expect(
      names.filter(
        ({ tbl, name }) => name !== 'PRIMARY' && !new RegExp(`^(uq|fk|ck)_${tbl}_[a-z_]+$`).test(name as string),
      ),
    ).toEqual([]);
  });

  it('every money column is an integer and every timestamp keeps milliseconds', async () => {
    const columns = await rows(
      'SELECT column_name AS name, data_type AS type, datetime_precision AS digits FROM information_schema.columns WHERE table_schema = DATABASE()',
    );
    const money = columns.filter(({ name }) => name!.endsWith('_cents'));
    const instants = columns.filter(({ name }) => name!.endsWith('_at'));
    expect(new Set(money.map(({ type }) => type))).toEqual(new Set(['bigint']));
    expect(new Set(instants.map(({ type, digits }) => `${type}(${digits})`))).toEqual(new Set(['datetime(3)']));
  });
});

describe('rows written by the service', () => {
  let service: Service;
  beforeAll(async () => {
    // With one connection, a session setting applies to every query.
    service = await startService({
      databaseUrl: database.url,
      env: { ...testEnvironment(database.url), DATABASE_POOL_SIZE: '1' },
    });
  });
  afterAll(() => service.stop());

  it('timestamps are stored in UTC with milliseconds, whatever the session time zone', async () => {
    for (const zone of ['-03:00', '+12:45']) {
      await service.dataSource.query('SET SESSION time_zone = ?', [zone]);
      const merchant = await aMerchant(service);
      const order = await merchant.completed();
      expect(await merchant.order(order)).toEqual(order);
      const [row] = await rows(
        'SELECT CAST(created_at AS CHAR) AS created, CAST(expires_at AS CHAR) AS expires, CAST(completed_at AS CHAR) AS completed FROM orders WHERE id = ?',
        [order.id],
      );
      const stored = (instant: string): string => instant.replace('T', ' ').replace('Z', '');
      expect(row).toEqual({
        created: stored(order.created_at),
        expires: stored(order.expires_at),
        completed: stored(order.completed_at!),
      });
      const listed = await merchant.orders(`created_from=${order.created_at}`).answer;
      expect(listed.body.data).toHaveLength(1);
    }
  });

  it('ledger entries cannot be updated or deleted', async () => {
    await (await aMerchant(service)).completed();
    for (const sql of [
      'UPDATE cashback_entries SET amount_cents = amount_cents',
      'DELETE FROM cashback_entries',
      'DELETE FROM cashback_entries WHERE seq = 1',
    ]) {
      await expect(service.dataSource.query(sql)).rejects.toThrow('append-only');
    }
    const [row] = await rows('SELECT COUNT(*) AS number FROM cashback_entries');
    expect(Number(row!.number)).toBeGreaterThan(0);
  });

  /** Adds an entry of a kind with an amount, and the ID of a refund or a debit. */
  const anEntry = (kind: string, cents: number, refund = 'NULL', debit = 'NULL'): string =>
    `INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, refund_id, debit_id, effective_at, created_at, made_by, store)
     SELECT wallet_id, merchant_id, seq + 1000, '${kind}', ${cents}, 0, 0, credit_id, ${refund}, ${debit}, created_at, created_at, made_by, store
       FROM cashback_entries WHERE credit_id IS NOT NULL LIMIT 1`;
  const DEBIT_COLUMNS =
    'merchant_id, wallet_id, external_id, requested_cents, takes_available, amount_cents, restored_cents, first_seq, last_seq, content_digest, created_at, created_by';

  it.each([
    ['tr_cashback_entries_sign', anEntry('earn', -1)],
    // Only what a void undoes has the opposite sign, and a debit either one.
    ['tr_cashback_entries_sign', anEntry('return', -1)],
    ['tr_cashback_entries_sign', anEntry('take_back', 1)],
    ['tr_cashback_entries_sign', anEntry('take_back', 1, 'NULL', 'UUID()')],
    ['tr_cashback_entries_sign', anEntry('debt', -1)],
    ['tr_cashback_entries_sign', anEntry('return', 0, 'UUID()')],
    ['tr_cashback_entries_sign', anEntry('redeem', 1, 'UUID()', 'UUID()')],
    ['tr_cashback_entries_sign', anEntry('repay', 1, 'UUID()')],
    ['tr_cashback_entries_sign', anEntry('debit', -1)],
    ['tr_cashback_entries_sign', anEntry('debit', 1, 'UUID()')],
    ['tr_cashback_entries_sign', anEntry('debit', 0, 'NULL', 'UUID()')],
    ['ck_cashback_entries_credit', anEntry('debt', 1)],
    // What the trigger lets pass, the credit refuses.
    ['ck_cashback_entries_credit', anEntry('debt', -1, 'UUID()')],
    // It breaks both, and servers differ in which one they name.
    [/ck_cashback_credits_(remaining|held)/, 'UPDATE cashback_credits SET remaining_cents = -1'],
    ['ck_cashback_credits_remaining', 'UPDATE cashback_credits SET remaining_cents = amount_cents + 1'],
    ['ck_cashback_credits_held', 'UPDATE cashback_credits SET held_cents = -1'],
    ['ck_cashback_credits_held', 'UPDATE cashback_credits SET held_cents = remaining_cents + 1'],
    ['ck_wallets_parts', 'UPDATE wallets SET held_cents = -1'],
    ['ck_wallets_debt', 'UPDATE wallets SET debt_cents = -1'],
    // With another amount below zero, it breaks others, too.
    [/ck_orders_(total|refunded|redeemed|held|lapsed)/, 'UPDATE orders SET total_cents = -1'],
    // Amounts of no debit at all, and more than was asked for.
    ['ck_debits_amount', 'UPDATE debits SET amount_cents = 0, restored_cents = 0'],
    ['ck_debits_amount', 'UPDATE debits SET requested_cents = amount_cents - 1'],
    ['ck_debits_restored', 'UPDATE debits SET restored_cents = -1'],
    ['ck_debits_restored', 'UPDATE debits SET restored_cents = amount_cents + 1'],
    ['ck_debits_store', "UPDATE debits SET store = 'SP-014 '"],
    [
      'uq_debits_external_id',
      `INSERT INTO debits (id, ${DEBIT_COLUMNS}) SELECT UUID(), ${DEBIT_COLUMNS} FROM debits LIMIT 1`,
    ],
    ['ck_orders_refunded', 'UPDATE orders SET refunded_cents = total_cents + 1'],
    ['ck_orders_held', 'UPDATE orders SET held_cents = 1'],
    ['ck_orders_redeemed', 'UPDATE orders SET redeemed_cents = total_cents + 1'],
    ['ck_orders_lapsed', 'UPDATE orders SET lapsed_cents = 1'],
    ['ck_orders_status', "UPDATE orders SET status = 'lapsed'"],
    [
      'uq_orders_merchant_external_id',
      'INSERT INTO orders (id, merchant_id, external_id, status, document, total_cents, items, payment_methods, final_payment_methods, policy, held_cents, redeemed_cents, lapsed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, kept_cents, lost_cents, content_digest, version, created_at, updated_at, expires_at, completed_at, cancelled_at, created_by) SELECT UUID(), merchant_id, external_id, status, document, total_cents, items, payment_methods, final_payment_methods, policy, held_cents, redeemed_cents, lapsed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, kept_cents, lost_cents, content_digest, version, created_at, updated_at, expires_at, completed_at, cancelled_at, created_by FROM orders LIMIT 1',
    ],
  ])('the constraint %s rejects an invalid row', async (constraint, sql) => {
    const merchant = await aMerchant(service, { releaseDays: 0 });
    const { document } = await merchant.completed();
    await merchant.debit({ document, amount: '1.00' });
    await expect(service.dataSource.query(sql)).rejects.toThrow(constraint);
  });
});
