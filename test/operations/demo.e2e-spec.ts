import { mkdir, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { createDataSource } from '../../src/schema.js';
import { EMAIL, PASSWORD, seedDemo, welcome } from '../../tools/demo.mjs';
import { startGuarded } from '../../tools/support/guarded-process.mjs';
import { describeInBrowser, loaded, useBrowser } from '../support/browser.js';
import { AdminCommandLine } from '../support/admin.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import type { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { allOf, type Demo, PROMISES, logInAs } from '../support/demo-promises.js';
import { testEnvironment } from '../support/service.js';
import type { Customer, Order, Page } from '../support/shop.js';

/** The customer in light, the closing in dark. */
const README_PICTURES: Record<string, 'light' | 'dark'> = { customer: 'light', closing: 'dark' };

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
    expect(await admin.list('merchants', 'list')).toHaveLength(2);
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
    const text = welcome(3005, database.url, 'secret');
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

    // With PICTURES=true, it makes pictures in dist/pictures, at which a person looks before a change of the page is
    // published. UPDATE_PICTURES=true also replaces those of the README.
    it('fills each view, of which there can be pictures in Portuguese, light and wide, dark and narrow', async () => {
      const owner = await as(EMAIL);
      const first = async <T extends object>(path: string): Promise<T> =>
        (await owner.get<Page<T>>(path)).body.data.at(-1)!;
      const order = await first<Order>('/orders?status=partially_refunded&limit=1');
      const customers = (await owner.get<Page<Customer>>('/customers?limit=100')).body.data;
      // One who has something to use, and something to wait for.
      const { wallet_id } = customers.find(
        ({ available, pending, next_expiry }) => Number(available) > 20 && pending !== '0.00' && next_expiry,
      )!;
      const customer = `customer/${wallet_id}`;
      // The oldest one is over.
      const over = await first<{ id: string }>('/campaigns?limit=100');
      const views = {
        ...{ home: '', customer: `${customer}/credits`, orders: customer, statement: `${customer}/statement` },
        ...{ order: `order/${order.id}`, campaigns: 'campaigns', campaign: `campaigns/${over.id}`, sales: 'sales' },
        ...{ grants: 'grants', closing: 'closing', list: 'list/orders', rules: 'rules', users: 'users' },
        ...{ webhooks: 'webhooks' },
      };
      const page = await enter({ email: EMAIL, password: PASSWORD }, '', { language: 'pt-BR' });
      const makesPictures = [process.env.PICTURES, process.env.UPDATE_PICTURES].includes('true');
      if (makesPictures) await mkdir('dist/pictures', { recursive: true });
      for (const [name, view] of Object.entries(views)) {
        await page.goto(`${service.url}/back-office/#/${view}`);
        await loaded(page);
        const text = await page.locator('main').innerText();
        expect({ name, isEmpty: text.includes('Ainda não há nada') }).toEqual({ name, isEmpty: false });
        if (!makesPictures) continue;
        // What a screen reader says.
        await writeFile(`dist/pictures/${name}.txt`, await page.locator('body').ariaSnapshot());
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const file = process.env.UPDATE_PICTURES === 'true' && README_PICTURES[name] === colorScheme && name;
          if (file) await page.screenshot({ path: `docs/pictures/${file}.png` });
          if (colorScheme === 'dark') await page.setViewportSize({ width: 390, height: 844 });
          await page.screenshot({ path: `dist/pictures/${name}-${colorScheme}.png`, fullPage: true });
        }
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize({ width: 1280, height: 900 });
      }
    });
  });
});
