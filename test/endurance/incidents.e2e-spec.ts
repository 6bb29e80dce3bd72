import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql, { type Connection } from 'mysql2/promise';
import { sqlOf } from '../support/sql-blocks.js';
import { useService } from '../support/use-service.js';
import { anEndpoint } from '../support/webhooks.js';

const PAGE = 'docs/incidents.md';

/** The rows, with names of columns as MariaDB returns them. MySQL has some in capitals. */
async function rowsOf(connection: Connection, sql: string): Promise<Record<string, unknown>[]> {
  const [rows] = await connection.query<mysql.RowDataPacket[]>(sql);
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value as unknown])),
  );
}

describe('the queries of docs/incidents.md', () => {
  const { service, merchant } = useService();
  let administrator: Connection;
  beforeAll(async () => {
    administrator = await mysql.createConnection(service.databaseUrl);
  });
  afterAll(() => administrator?.end());

  it('the query for a lock that stays names the idle session that holds it, and KILL lets the waiting request through', async () => {
    const order = await merchant.create();
    const person = await mysql.createConnection(service.databaseUrl);
    // The server says so when it ends the session.
    person.on('error', () => undefined);
    await person.query('START TRANSACTION');
    await person.query('SELECT id FROM orders WHERE id = ? FOR UPDATE', [order.id]);

    await merchant.complete(order).refused(503, 'unavailable');
    const query = sqlOf(PAGE, 'the sessions with an open transaction');
    const database = new URL(service.databaseUrl).pathname.slice(1);
    let found: Record<string, unknown>[] = [];
    for (let attempt = 0; attempt < 60 && found.length === 0; attempt++) {
      await sleep(500);
      // Tests at the same time have transactions in other databases.
      found = (await rowsOf(administrator, query)).filter(({ db }) => db === database);
    }
    expect(found).toEqual([expect.objectContaining({ id: person.threadId, command: 'Sleep', info: null })]);

    const waiting = merchant.complete(order);
    const waits = `SELECT 1 FROM information_schema.processlist WHERE db = '${database}' AND info LIKE '%FOR UPDATE'`;
    for (let attempt = 0; attempt < 100 && (await rowsOf(administrator, waits)).length === 0; attempt++)
      await sleep(10);
    const kill = /^KILL <id>;$/m.exec(readFileSync(PAGE, 'utf8'))?.[0] ?? '';
    await administrator.query(kill.replace('<id>', String(found[0]?.['id'])));
    expect((await waiting).status).toBe('completed');
    person.destroy();
  });

  it('the query for webhooks names the endpoints by how far they are behind', async () => {
    const { id } = await anEndpoint(merchant, { url: 'https://shop.example/hook' });
    const [endpoint] = await rowsOf(administrator, sqlOf(PAGE, 'the webhook endpoints'));
    expect(endpoint).toMatchObject({ id, merchant_id: merchant.id, status: 'active' });
  });
});
