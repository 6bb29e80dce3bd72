import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import mysql from 'mysql2/promise';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { type Service, startService } from '../support/service.js';
import type { Order } from '../support/shop.js';

const DEADLOCK = 1213;
const LOCK_WAIT_TIMEOUT = 1205;

describe('lock conflicts in the database', () => {
  let database: TestDatabase;
  let service: Service;
  let merchant: TestMerchant;
  /** A separate connection that takes the same locks in another order. */
  let other: mysql.Connection;
  /** A separate connection that checks for locks and releases its own at once. */
  let observer: mysql.Connection;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startService({ databaseUrl: database.url });
    merchant = await aMerchant(service);
    [other, observer] = await Promise.all([connect(database), connect(database)]);
    await other.query('CREATE TABLE ballast (n INT PRIMARY KEY) ENGINE = InnoDB');
  });
  afterAll(async () => {
    await Promise.all([other.end(), observer.end()]);
    await service.stop();
    await database.drop();
  });

  /** Whether the service holds the lock of the order. */
  async function isLocked(orderId: string): Promise<boolean> {
    try {
      await observer.query('SELECT id FROM orders WHERE id = ? FOR UPDATE NOWAIT', [orderId]);
      return false;
    } catch {
      return true;
    }
  }

  it('a transaction that the database rolls back in a deadlock is retried and its caller gets a 200', async () => {
    const order = await merchant.orderWith('50.00', { total: '100.00' });

    await other.beginTransaction();
    // The server rolls back the transaction that wrote less, so this one writes more.
    await other.query(`INSERT INTO ballast VALUES ${Array.from({ length: 500 }, (_, n) => `(${n})`).join(',')}`);
    await other.query('SELECT id FROM wallets WHERE document = ? FOR UPDATE', [order.document]);
    const completion = merchant.complete(order, { redeem: '50.00' });
    for (let attempt = 0; attempt < 100 && !(await isLocked(order.id)); attempt++) await sleep(20);
    expect(await isLocked(order.id)).toBe(true);
    // The service holds the order and waits for the wallet. Locking the order here causes a deadlock.
    await other.query('SELECT id FROM orders WHERE id = ? FOR UPDATE', [order.id]);
    await other.rollback();

    expect((await completion).cashback.to_redeem.redeemed).toBe('50.00');
    await expectInvariants(service);
  });

  it('a lock wait timeout returns 503, changes nothing, and the retried request succeeds', async () => {
    const order = await merchant.orderWith('50.00', { total: '100.00' });
    const { document } = order;

    await other.beginTransaction();
    await other.query('SELECT id FROM wallets WHERE document = ? FOR UPDATE', [document]);
    const printed = jest.spyOn(console, 'log');
    const answer = await merchant.client.once.post(`/orders/${order.id}/complete`, { redeem: '50.00' });
    await other.rollback();
    // A timed-out query must not be logged with its parameters, because they contain the document.
    expect(JSON.stringify([printed.mock.calls, service.logged])).not.toContain(document);
    printed.mockRestore();
    expectProblem(answer, 503, 'unavailable');
    expect(answer.headers.get('retry-after')).toBe('1');

    const again = await merchant.complete(order, { redeem: '50.00' });
    expect(again.cashback.to_redeem.redeemed).toBe('50.00');
    await expectInvariants(service);
  });

  describe.each([
    ['deadlocks', DEADLOCK],
    ['lock wait timeouts', LOCK_WAIT_TIMEOUT],
  ])('repeated %s', (_, errno) => {
    let order: Order;
    beforeEach(async () => {
      // Auto-increment values are not rolled back, so they count the attempts.
      await other.query('CREATE TABLE attempts (n INT AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB');
      order = await merchant.completed({ total: '100.00' });
    });
    afterEach(async () => {
      await other.query('DROP TRIGGER tr_conflict');
      await other.query('DROP TABLE attempts');
    });

    /** Makes the server return the error for the first `times` refunds. */
    async function conflict(times: number): Promise<void> {
      await other.query(`
        CREATE TRIGGER tr_conflict BEFORE INSERT ON refunds FOR EACH ROW
        BEGIN
          INSERT INTO attempts VALUES ();
          IF LAST_INSERT_ID() <= ${times} THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'a conflict of locks';
          END IF;
        END`);
    }

    async function attempts(): Promise<number> {
      const [{ insertId }] = await other.query<mysql.ResultSetHeader>('INSERT INTO attempts VALUES ()');
      return insertId - 1;
    }

    it('a request succeeds when the database reports a few lock conflicts in a row', async () => {
      await conflict(3);
      const { amount } = await merchant.refund(order, '10.00');
      expect({ amount, attempts: await attempts() }).toEqual({ amount: '10.00', attempts: 4 });
      await expectInvariants(service);
    });

    it('a request returns 503 with Retry-After after six attempts that end in lock conflicts', async () => {
      await conflict(1_000_000);
      const answer = await merchant.client.once.post(`/orders/${order.id}/refunds`, {
        external_id: 'DEV-1',
        amount: '10.00',
      });
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(await attempts()).toBe(6);
      expect(await merchant.order(order)).toMatchObject({ status: 'completed', refunded: { amount: '0.00' } });
      await expectInvariants(service);
    });
  });
});

function connect({ url }: TestDatabase): Promise<mysql.Connection> {
  return mysql.createConnection(url.replace(/^mariadb:/, 'mysql:'));
}
