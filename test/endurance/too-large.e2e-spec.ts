import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';

const MONTH = 'from=2026-10-01&to=2026-11-01';
const ofCustomersOfADay = (sql: string): boolean => sql.includes('GROUP_CONCAT(completed_by');

describe('a report that takes longer than a request may', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    proxy = await DatabaseProxy.start(database.url);
    service = await startService({ databaseUrl: proxy.url });
    merchant = await aMerchant(service, { releaseDays: 0 });
    await merchant.credit(aDocument(), '5.00');
  });
  afterAll(async () => {
    await service.stop();
    await proxy.stop();
    await database.drop();
  });

  const refused = async (path: string): Promise<void> => {
    const { retryable, next_action, detail } = await merchant.get(path).refused(422, 'report_too_large');
    expect({ retryable, next_action }).toEqual({ retryable: false, next_action: 'fix_request' });
    expect(detail).toContain('npm run admin -- reports');
  };

  it('is 422 `report_too_large` where the database stops a statement, and is read on the command line', async () => {
    // Reading one wallet takes longer than a statement of a request may.
    await rowsOf(service, 'RENAME TABLE wallets TO kept_wallets');
    await rowsOf(service, 'CREATE VIEW wallets AS SELECT * FROM kept_wallets WHERE SLEEP(3.4) = 0');
    try {
      for (const path of ['/reports/outstanding', '/reports/outstanding?by=store&csv=pt-BR', '/reports/expiring'])
        await refused(path);
      const [row] = await new AdminCommandLine(service).list<{ expiring: string }>('report', 'expiring');
      expect(row).toBeDefined();
    } finally {
      await rowsOf(service, 'DROP VIEW wallets');
      await rowsOf(service, 'RENAME TABLE kept_wallets TO wallets');
    }
    expect(await merchant.get('/reports/outstanding')).toMatchObject({ total: { balance: '5.00' } });
  });

  it('GET /reports/frequent has pages where all days together take too long, and the command line reads them all', async () => {
    proxy.slow(ofCustomersOfADay, 160);
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const path: string = `/reports/frequent?${MONTH}${cursor && `&cursor=${cursor}`}`;
      const page = await merchant.get<{ data: object[]; next_cursor: string | null }>(path);
      expect(page.data).toEqual([]);
      cursor = page.next_cursor;
    }
    expect(pages).toBeGreaterThan(1);
    expect(pages).toBeLessThan(31);
    const period = ['--from', '2026-10-01', '--to', '2026-11-01'];
    expect(await new AdminCommandLine(service).list('report', 'frequent', ...period)).toEqual([]);
    proxy.slow(() => false, 0);
    expect((await merchant.get<{ data: object[] }>(`/reports/frequent?${MONTH}`)).data).toEqual([]);
  });

  it('is 503 `unavailable`, which is sent again, where the database does not answer', async () => {
    const withheld = proxy.withhold(ofCustomersOfADay);
    // The client of the tests would send it again.
    const headers = { authorization: `Bearer ${merchant.tokens.access_token}` };
    const answer = await fetch(`${service.url}/reports/frequent?${MONTH}`, { headers });
    (await withheld).release();
    expect(await answer.json()).toMatchObject({ status: 503, code: 'unavailable', retryable: true });
  });
});
