import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql, { type Connection } from 'mysql2/promise';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { findingsOf } from '../support/expectations.js';
import { aDocument, aMerchant, aUser } from '../support/factories.js';
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
    administrator = await mysql.createConnection({ uri: service.databaseUrl, multipleStatements: true });
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

  it('a day that was closed too early, and wallets of the future, are right again after what the page says', async () => {
    const hours = 26;
    const shop = await aMerchant(service, { releaseDays: 1, timeZone: 'America/Sao_Paulo' });
    const documents = [aDocument(), aDocument(), aDocument()];
    for (const document of documents) await shop.completed({ document, total: '100.00' });
    await shop.grant({ document: documents[0]!, amount: '5.00', available_on: null });
    // The clock of an instance that nobody compares with the database's.
    await service.clock.advance({ hours });
    const later = await aUser(service, shop.id, PERMISSIONS);
    await later.hold(await later.create({ document: documents[0]! }), '5.00');
    await later.completed({ document: documents[1]!, total: '10.00' });
    service.clock.skip(-hours * 3_600_000);
    await shop.completed({ document: documents[2]!, total: '50.00' });
    const findings = await findingsOf(service);
    const rules = [
      'the sums of a day are those of its ledger entries',
      'a wallet is as old as its ID, and not younger than its sums, which are not of the future, and its first entry',
      'the ledger of each merchant is summed up to an instant that is past, and the next day when it is over',
      'no date of credits is announced earlier than a week before it',
    ];
    expect(new Set(findings.map(({ invariant }) => invariant))).toEqual(new Set(rules));

    const ids = new Set(findings.flatMap(({ merchant_id: id }) => (typeof id === 'string' ? [id] : [])));
    await administrator.query(sqlOf(PAGE, 'the days of merchants').replaceAll('<id>', [...ids].join("', '")));
    await administrator.query(sqlOf(PAGE, 'wallets of the future'));
    await service.clock.sweep();
    const [from, to] = [-3, 3].map((days) => service.clock.inDays(days).toISOString().slice(0, 10));
    const { total } = await shop.get<{ total: { closing: string } }>(`/reports/ledger?from=${from}&to=${to}&by=day`);
    const { total: outstanding } = await shop.get<{ total: Record<string, string> }>('/reports/outstanding');
    expect(outstanding.balance).toBe(total.closing);
    // The wallet with an entry of the future, which cannot be changed, and what was announced.
    const found = async (): Promise<Set<unknown>> =>
      new Set((await findingsOf(service)).map(({ invariant }) => invariant));
    expect(await found()).toEqual(new Set([rules[1], rules[3]]));
    await service.clock.advance({ hours: hours - 24 });
    // It is compared with the clock of the database, which no test moves.
    expect(await found()).toEqual(new Set([rules[3]]));
  });
});
