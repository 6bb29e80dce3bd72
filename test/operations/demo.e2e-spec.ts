import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { createDataSource } from '../../src/schema.js';
import { EMAIL, PASSWORD, seedDemo, welcome } from '../../tools/demo.mjs';
import { startGuarded } from '../../tools/support/guarded-process.mjs';
import { describeInBrowser, type Language, loaded, useBrowser } from '../support/browser.js';
import { AdminCommandLine } from '../support/admin.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import type { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { allOf, type Demo, PROMISES, logInAs } from '../support/demo-promises.js';
import { testEnvironment } from '../support/service.js';
import type { Customer, Order, Page } from '../support/shop.js';

describe('the demo data of npm start', () => {
  let database: TestDatabase;
  let service: BuiltService;
  let env: Record<string, string>;
  let firstLines: string[];

  beforeAll(async () => {
    database = await createMigratedDatabase();
    env = { ...(process.env as Record<string, string>), ...testEnvironment(database.url) };
    await interruptedStart();
    await seedDemo(env, (line) => (firstLines ??= []).push(line));
    service = await startBuiltService(database.url);
  });
  afterAll(async () => {
    await service?.stop();
    await database?.drop();
  });

  /** Kills a start while it creates orders. */
  async function interruptedStart(): Promise<void> {
    const dataSource = await createDataSource(database.url).initialize();
    const args = ['tools/demo-history.mjs'];
    const seeding = await startGuarded({ command: process.execPath, args, env, output: 'pipe' });
    const count = async (): Promise<number> =>
      Number((await dataSource.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM orders'))[0]?.n);
    while ((await count()) < 5 && !seeding.hasExited()) await sleep(20);
    await seeding.kill();
    await dataSource.destroy();
  }

  const demo: Demo = {
    get url() {
      return service.url;
    },
    now: () => new Date(),
  };
  const as = (email: string): Promise<Client> => logInAs(demo, email);

  it('reconcile finds nothing, also in what an interrupted start left', async () => {
    const admin = new AdminCommandLine({ databaseUrl: database.url });
    // On a slow machine, it also shows its progress.
    const { code, stdout } = await admin.run('reconcile');
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, findings: 0, warnings: [] });
    expect(await admin.list('merchant', 'list')).toHaveLength(2);
    expect(firstLines).toEqual([
      'Creating Loja Demo with a year of orders',
      expect.stringMatching(/^Created Loja Demo with \d{3} orders in \d+ s$/),
    ]);
  });

  it.each(Object.entries(PROMISES))('%s', (_, expectIt) => expectIt(demo));

  it('a second start adds nothing and says nothing', async () => {
    const lines: string[] = [];
    const counts = async (): Promise<unknown> => {
      const owner = await as(EMAIL);
      return [await allOf(owner, '/orders?'), await allOf(owner, '/grants?'), await allOf(owner, '/users?')].map(
        ({ length }) => length,
      );
    };
    const before = await counts();
    await seedDemo(env, (line) => lines.push(line));
    expect(lines).toEqual([]);
    expect(await counts()).toEqual(before);
  });

  it('the welcome names the back office, and each login that it prints works and has these permissions', async () => {
    const text = welcome(3005, database.url);
    expect(text).toContain('http://localhost:3005/back-office\n');
    const logins = [...text.matchAll(/^ {2}(\S+@\S+) +(.+)$/gm)].map(([, email = '', permissions]) => ({
      email,
      permissions,
    }));
    expect(logins).toHaveLength(6);
    for (const { email, permissions } of logins) {
      await as(email);
      const { body } = await (await as(EMAIL)).get<Page<{ email: string; permissions: string[] }>>('/users?limit=100');
      const stored = body.data.find((user) => user.email === email)!.permissions;
      expect(permissions).toBe(stored.length === PERMISSIONS.length ? 'all permissions' : stored.join(', '));
    }
  });

  describeInBrowser('in the back office', () => {
    const { enter } = useBrowser(demo);

    // A person looks at the pictures in dist/pictures before a change of the page is published.
    // UPDATE_PICTURES=true replaces those of the README.
    it.each<Language>(['pt-BR', 'en'])('fills each view, of which there are pictures in %s', async (language) => {
      const owner = await as(EMAIL);
      const { body: orders } = await owner.get<Page<Order>>('/orders?status=partially_refunded&limit=1');
      const { body: customers } = await owner.get<Page<Customer>>('/customers?balance_minimum=40&limit=1');
      const page = await enter({ email: EMAIL, password: PASSWORD }, '', { language });
      const views = { customer: `customer/${customers.data[0]!.wallet_id}`, order: `order/${orders.data[0]!.id}` };
      const others = ['today', 'months', 'rules', 'webhooks', 'people'].map((view) => [view, view] as const);
      for (const [name, view] of [['find', ''] as const, ...Object.entries(views), ...others]) {
        await page.goto(`${service.url}/back-office/#/${view}`);
        await loaded(page);
        expect(await page.locator('main').innerText()).not.toMatch(/Nothing here|Nada aqui/);
        await page.screenshot({ path: `dist/pictures/${language}-${name}.png`, fullPage: true });
        const isInReadme = language === 'pt-BR' && ['customer', 'today'].includes(name);
        if (process.env.UPDATE_PICTURES === 'true' && isInReadme)
          await page.screenshot({ path: `docs/pictures/${name}.png` });
      }
    });
  });
});
