import { openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { AdminCommandLine } from '../support/admin.js';
import { freePort, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { makeOfEachSum, SUM_TABLES } from '../support/day-sums.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { aSandboxMerchant, SANDBOX } from '../support/sandbox.js';
import { startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const HOUR_MS = 3_600_000;
const wrongClock = `--import=${pathToFileURL(path.resolve('test/support/wrong-clock.mjs')).href}`;

describe('a machine whose clock is not that of the database', () => {
  const { service, merchant } = useService({ merchant: (on) => aMerchant(on, { orderTtlMinutes: 30 }) });

  it('26 hours ahead, an instance is not ready, expires nothing and closes no day; two minutes behind, it is not ready', async () => {
    const folder = makeTempFolder('cashback-clock');
    const [clock, log] = [path.join(folder, 'clock'), path.join(folder, 'log')];
    const set = (aheadMs: number): void => writeFileSync(clock, String(aheadMs));
    set(26 * HOUR_MS);
    await makeOfEachSum(merchant);
    const due = await merchant.create();
    const port = await freePort();
    const starting = startBuiltService(
      service.databaseUrl,
      {
        PORT: String(port),
        NODE_OPTIONS: wrongClock,
        WRONG_CLOCK: clock,
      },
      openSync(log, 'w'),
    );
    starting.catch(() => undefined);
    const client = new Client({ url: `http://127.0.0.1:${port}` }).once;
    const sweeps = ['orders', 'credits', 'available', 'expiring', 'retention', 'events', 'webhooks', 'ledger_sums'];
    for (const sweep of sweeps) while (!readFileSync(log, 'utf8').includes(`"sweep":"${sweep}"`)) await sleep(100);
    const refused = expectProblem(await client.get('/health/ready'), 503, 'unavailable');
    expect(refused.detail).toMatch(/^this machine's clock says 20\S+Z, and the database's 20\S+Z$/);
    const [here, there] = refused.detail.match(/20\S+Z/g)!.map((at) => Date.parse(at));
    expect(Math.round((here! - there!) / HOUR_MS)).toBe(26);
    const metrics = (await client.get<string>('/metrics')).body;
    expect(Number(/^database_clock_difference_seconds ([\d.]+)$/m.exec(metrics)?.[1])).toBeGreaterThan(93_000);

    expect((await merchant.order(due)).status).toBe('pending');
    for (const table of SUM_TABLES) expect(await rowsOf(service, `SELECT day FROM ${table}`)).toEqual([]);
    expect(await rowsOf(service, 'SELECT 1 FROM sum_positions WHERE summed_until > UTC_TIMESTAMP()')).toEqual([]);
    await expectInvariants(service);

    set(0);
    const instance = await starting;
    while ((await rowsOf(service, 'SELECT 1 FROM event_outbox')).length > 0) await sleep(100);
    set(-120_000);
    while ((await client.get('/health/ready')).status === 200) await sleep(100);
    const shop = new Client({ url: `http://127.0.0.1:${port}` }, merchant.tokens.access_token).once;
    const login = { email: merchant.email, password: merchant.password };
    for (const answer of [
      await shop.post('/orders', anOrder()),
      await shop.post(`/orders/${due.id}/complete`),
      await shop.post('/grants', { external_id: 'G-1', document: aDocument(), amount: '1.00' }),
      await shop.post<object>('/auth/login', login),
    ])
      expect(expectProblem(answer, 503, 'unavailable').detail).toMatch(/^this machine's clock says 20/);
    expect((await shop.get(`/orders/${due.id}`)).status).toBe(200);
    set(0);
    while ((await client.get('/health/ready')).status === 503) await sleep(100);
    expect((await shop.post('/orders', anOrder())).status).toBe(201);
    await instance.stop();
  });

  it.each([-24 * HOUR_MS, -61_000, 62_000, 24 * HOUR_MS])(
    'the command line does nothing with a clock that is %d ms ahead',
    async (aheadMs) => {
      const clock = path.join(makeTempFolder('cashback-clock'), 'clock');
      writeFileSync(clock, String(aheadMs));
      const document = aDocument();
      const of = ['--merchant', merchant.id, '--document', document, '--external-id', 'OP-1'];
      const grant = ['grants', 'create', ...of, '--amount', '1.00'];
      const wrong = { NODE_OPTIONS: wrongClock, WRONG_CLOCK: clock };
      const { code, stderr } = await new AdminCommandLine(service).built(grant, '', wrong);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining("error: this machine's clock says 20"),
      });
      expect((await merchant.wallet(document)).id).toBeNull();
    },
  );
});

describe.each(['mysql', 'mariadb'])('a URL that begins with %s://, whatever the server is', (scheme) => {
  let database: TestDatabase;
  let url: string;
  beforeAll(async () => {
    database = await createMigratedDatabase();
    url = database.url.replace(/^\w+/, scheme);
  });
  afterAll(() => database.drop());

  it('a sandbox, its clocks and the command line work', async () => {
    const service = await startService({ databaseUrl: url, env: SANDBOX });
    try {
      const shop = await aSandboxMerchant(service, { release_days: 0 });
      const document = aDocument();
      await shop.completed({ document });
      await shop.move({ now: new Date(Date.now() + 48 * HOUR_MS).toISOString() });
      await shop.refund(await shop.completed({ document }), '10.00');
      const admin = new AdminCommandLine(service);
      const of = ['--merchant', shop.id, '--document', document, '--external-id', 'OP-1'];
      await admin.json('grants', 'create', ...of, '--amount', '1.00');
      expect(await admin.json('reconcile')).toMatchObject({ wallets: 1, orders: 2, findings: 0 });
    } finally {
      await service.stop();
    }
  });
});
