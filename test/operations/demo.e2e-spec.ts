import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf } from '../../src/common/calendar-days.js';
import { createDataSource } from '../../src/schema.js';
import { DOCUMENT, EMAIL, PASSWORD, seedDemo, STAFF, welcome } from '../../tools/demo.mjs';
import { startGuarded } from '../../tools/support/guarded-process.mjs';
import { describeInBrowser, type Language, loaded, useBrowser } from '../support/browser.js';
import { AdminCommandLine } from '../support/admin.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { testEnvironment } from '../support/service.js';
import type {
  Customer,
  CustomerCredit,
  Endpoint,
  Entry,
  EventPage,
  FeedEvent,
  Grant,
  Order,
  Page,
  PolicyRules,
  Quote,
  Refund,
  Tokens,
  Wallet,
} from '../support/shop.js';

const ZONE = 'America/Sao_Paulo';
const today = dayOf(new Date(), ZONE);

interface Report {
  data: Record<string, string | number | boolean | object[]>[];
}

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

  async function as(email: string): Promise<Client> {
    const { status, body } = await new Client(service).post<Tokens>('/auth/login', { email, password: PASSWORD });
    expect(status).toBe(201);
    return new Client(service, body.access_token);
  }

  /** Reads all pages of a list. */
  async function all<T>(client: Client, path: string): Promise<T[]> {
    const found: T[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const answer: Answer<Page<T>> = await client.get(`${path}&limit=100${cursor && `&cursor=${cursor}`}`);
      const { status, body } = answer;
      expect({ path, status }).toEqual({ path, status: 200 });
      found.push(...body.data);
      cursor = body.next_cursor;
    }
    return found;
  }

  it('reconcile finds nothing, also in what an interrupted start left', async () => {
    const admin = new AdminCommandLine({ databaseUrl: database.url });
    expect(await admin.json('reconcile')).toMatchObject({ findings: 0, warnings: [] });
    expect(await admin.list('merchant', 'list')).toHaveLength(2);
    expect(firstLines).toEqual([
      'Creating Loja Demo with a year of orders',
      expect.stringMatching(/^Created Loja Demo with \d{3} orders in \d+ s$/),
    ]);
  });

  it('the customer of README.md has exactly 80.00, and its first order the cashback that the README shows', async () => {
    const owner = await as(EMAIL);
    const { body: wallet } = await owner.post<Wallet>('/wallets/search', { document: DOCUMENT });
    expect(wallet).toMatchObject({ available: '80.00', pending: '0.00', held: '0.00', debt: '0.00' });
    const quote = async (cart: object): Promise<Quote> => (await owner.post<Quote>('/quotes', cart)).body;
    expect(
      await quote({ document: DOCUMENT, total: '150.00', payment_methods: [{ id: 'credit_card', amount: '150.00' }] }),
    ).toMatchObject({
      cashback: {
        to_redeem: { available: '80.00', maximum: '75.00', limited_by: 'order_share' },
        to_receive: { amount: '7.50' },
      },
    });
    // docs/checkout.md pays with Pix.
    const pix = { total: '80.00', eligible_total: '60.00', payment_methods: [{ id: 'pix', amount: '80.00' }] };
    expect(await quote(pix)).toMatchObject({ cashback: { to_receive: { amount: '3.00' } } });
  });

  it('a year of orders has each status, and three stores', async () => {
    const orders = await all<Order>(await as('caixa-3@example.com'), '/orders?');
    expect(new Set(orders.map(({ status }) => status))).toEqual(
      new Set(['pending', 'completed', 'cancelled', 'expired', 'partially_refunded', 'refunded']),
    );
    expect(orders.length).toBeGreaterThan(300);
    expect(orders.length).toBeLessThan(500);
    expect(new Set(orders.map(({ store }) => store))).toEqual(new Set(['SP-014', 'RJ-003', 'MG-021', null]));
    const days = orders.map(({ created_at }) => dayOf(new Date(created_at), ZONE));
    expect(days.at(-1)! < addDays(today, -350)).toBe(true);
    expect(days.filter((day) => day > addDays(today, -30)).length).toBeGreaterThan(80);
    // Nothing is in the future of the service.
    expect(orders.filter(({ created_at }) => Date.parse(created_at) > Date.now())).toEqual([]);
    expect(orders.some(({ total, eligible_total }) => Number(eligible_total) < Number(total))).toBe(true);
  });

  it('one order is open with a hold, and one expired with cashback that lapsed and can be completed by hand', async () => {
    const till = await as('caixa-8@example.com');
    const [open] = await all<Order>(till, '/orders?status=pending');
    expect(Number(open?.cashback.to_redeem.held)).toBeGreaterThan(0);
    expect(Date.parse(open!.expires_at) - Date.now()).toBeGreaterThan(24 * 3_600_000);
    const expired = await all<Order>(till, '/orders?status=expired');
    const late = expired.filter(
      ({
        operations,
        cashback: {
          to_redeem: { lapsed, maximum },
        },
      }) => {
        return operations.includes('complete') && Number(lapsed) > 0 && Number(maximum) >= Number(lapsed);
      },
    );
    expect(late.length).toBeGreaterThan(0);
  });

  it('support finds grants with reasons, one of them voided, refunds with reason and store, and a corrected customer', async () => {
    const support = await as('atendimento@example.com');
    const by = { name: 'Atendimento' };
    const grants = await all<Grant>(support, '/grants?');
    for (const reason of ['Atraso na entrega', 'Aniversário'])
      expect(grants).toContainEqual(expect.objectContaining({ reason, created_by: expect.objectContaining(by) }));
    expect(grants.filter(({ voided }) => voided !== '0.00')).toMatchObject([
      { amount: '250.00', voided: '250.00', void_reason: 'Valor digitado errado', voided_by: by },
    ]);
    const refunds = await all<Refund>(support, '/refunds?');
    expect(refunds.every(({ reason }) => reason !== null)).toBe(true);
    expect(new Set(refunds.map(({ store }) => store))).toContain('SP-014');
    const names = refunds.map(({ created_by }) => created_by?.name);
    expect(names).toEqual(expect.arrayContaining(['Atendimento', 'Caixa 3']));
    const corrected = (await events()).find(({ type }) => type === 'order.customer_changed');
    const { document } = corrected!.data.wallet;
    const { body: wallet } = await support.post<Wallet>('/wallets/search', { document });
    const entries = await all<Entry>(support, `/wallets/${wallet.id}/entries?`);
    expect(entries).toContainEqual(
      expect.objectContaining({ kind: 'move_in', by: expect.objectContaining(by) as object }),
    );
  });

  it('finance finds a debt, pending cashback, what expires within a week, the cashier with one CPF, and twelve months', async () => {
    const finance = await as('financeiro@example.com');
    const customers = await all<Customer>(finance, '/customers?');
    expect(customers.length).toBeGreaterThan(35);
    expect(customers.some(({ debt }) => debt !== '0.00')).toBe(true);
    expect(customers.some(({ pending }) => pending !== '0.00')).toBe(true);
    expect(customers.filter(({ document }) => document.length === 14).length).toBeGreaterThan(0);
    const expiring = await all<CustomerCredit>(
      finance,
      `/credits?expires_from=${today}&expires_to=${addDays(today, 7)}`,
    );
    expect(expiring.filter(({ remaining }) => remaining !== '0.00').length).toBeGreaterThan(1);
    const period = `from=${addDays(today, -30)}&to=${addDays(today, 1)}`;
    const { body: frequent } = await finance.get<Report>(`/reports/frequent?${period}&at_least=5`);
    expect(frequent.data).toMatchObject([{ orders: 7, completed_by: [{ name: 'Caixa 3', orders: 7 }] }]);
    const year = `from=${addDays(today, -364)}&to=${addDays(today, 1)}`;
    const { body: months } = await finance.get<Report>(`/reports/ledger?${year}&by=month`);
    expect(months.data.length).toBeGreaterThanOrEqual(12);
    // The first and the last month can have a day each. What has ended is summed.
    for (const { earned } of months.data.slice(1, -1)) expect(Number(earned)).toBeGreaterThan(0);
    for (const { closed } of months.data.slice(0, -2)) expect(closed).toBe(true);
    const { status } = await finance.post('/grants', { external_id: 'no', document: DOCUMENT, amount: '1.00' });
    expect(status).toBe(403);
  });

  it('the feed has what happened by date, and the webhook endpoints have failed', async () => {
    const types = new Set((await events()).map(({ type }) => type));
    for (const type of ['order.expired', 'cashback.available', 'cashback.expiring', 'cashback.expired'] as const)
      expect(types).toContain(type);
    const { body } = await (await as('marketing@example.com')).get<Page<Endpoint>>('/webhook-endpoints');
    expect(body.data.map(({ status, failures }) => ({ status, failed: failures > 0 }))).toEqual([
      { status: 'disabled', failed: true },
      { status: 'active', failed: true },
    ]);
  });

  it('the rules of the next weekend are to come, and each user has logged in, but not the former one', async () => {
    const owner = await as(EMAIL);
    const { body: policy } = await owner.get<PolicyRules>('/policy');
    expect(policy.upcoming).toMatchObject([{ changes: { earn_rate: '0.10' } }]);
    expect(policy.upcoming[0]!.from > today).toBe(true);
    const users = await all<{ email: string; disabled_at: string | null; last_login_at: string | null }>(
      owner,
      '/users?',
    );
    const [former, ...others] = users;
    expect(users).toHaveLength(STAFF.length + 1);
    expect(former).toMatchObject({ email: 'caixa-1@example.com', last_login_at: null });
    expect(former!.disabled_at).not.toBeNull();
    expect(others.filter(({ last_login_at }) => last_login_at === null)).toEqual([]);
  });

  it('a second start adds nothing and says nothing', async () => {
    const lines: string[] = [];
    const counts = async (): Promise<unknown> => {
      const owner = await as(EMAIL);
      return [await all(owner, '/orders?'), await all(owner, '/grants?'), await all(owner, '/users?')].map(
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
    expect(logins).toHaveLength(5);
    for (const { email, permissions } of logins) {
      await as(email);
      const { body } = await (await as(EMAIL)).get<Page<{ email: string; permissions: string[] }>>('/users?limit=100');
      const stored = body.data.find((user) => user.email === email)!.permissions;
      expect(permissions).toBe(stored.length === 8 ? 'all permissions' : stored.join(', '));
    }
  });

  /** The kept events. */
  async function events(): Promise<FeedEvent[]> {
    const marketing = await as('marketing@example.com');
    const found: FeedEvent[] = [];
    const first = await marketing.get<EventPage & { oldest: number }>('/events?after=0');
    for (let after = first.status === 410 ? first.body.oldest - 1 : 0; ;) {
      const { status, body } = await marketing.get<EventPage>(`/events?after=${after}&limit=100`);
      expect(status).toBe(200);
      found.push(...body.data);
      after = body.next_after;
      if (!body.has_more) return found;
    }
  }

  describeInBrowser('in the back office', () => {
    const { enter } = useBrowser({
      get url() {
        return service.url;
      },
    });

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
