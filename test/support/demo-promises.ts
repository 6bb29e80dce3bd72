import { expect } from '@jest/globals';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { ZONE } from '../../tools/demo-plan.mjs';
import { DOCUMENT, EMAIL, PASSWORD, STAFF } from '../../tools/demo.mjs';
import { type Answer, Client } from './client.js';
import type {
  CampaignOfShop,
  Customer,
  CustomerCredit,
  Debit,
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
} from './shop.js';

/** A service with the data of the demo, and its clock. */
export interface Demo {
  readonly url: string;
  now(): Date;
}

interface Report {
  data: Record<string, string | number | boolean | object[]>[];
}

/** Logs in as a user of the demo. */
export async function logInAs(demo: Demo, email: string): Promise<Client> {
  const { status, body } = await new Client(demo).post<Tokens>('/auth/login', { email, password: PASSWORD });
  expect(status).toBe(201);
  return new Client(demo, body.access_token);
}

/** Reads all pages of a list. */
export async function allOf<T>(client: Client, path: string): Promise<T[]> {
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

/** Expects the amounts of the first order of README.md, and those of docs/checkout.md, which pays with Pix. */
export async function expectFirstOrder(demo: Demo): Promise<void> {
  const owner = await logInAs(demo, EMAIL);
  const quote = async (cart: object): Promise<Quote> => (await owner.post<Quote>('/quotes', cart)).body;
  expect(
    await quote({ document: DOCUMENT, total: '150.00', payment_methods: [{ id: 'credit_card', amount: '150.00' }] }),
  ).toMatchObject({
    cashback: {
      to_redeem: { available: '80.00', maximum: '75.00', limited_by: 'order_share' },
      to_receive: { amount: '7.50' },
    },
  });
  const pix = { total: '80.00', eligible_total: '60.00', payment_methods: [{ id: 'pix', amount: '80.00' }] };
  expect(await quote(pix)).toMatchObject({ cashback: { to_receive: { amount: '3.00' } } });
}

const todayOf = (demo: Demo): string => dayOf(demo.now(), ZONE);

/** Tests of what README, the documents and `npm start` promise, by their titles. */
export const PROMISES: Record<string, (demo: Demo) => Promise<void>> = {
  'the customer of README.md has exactly 80.00, and its first order the cashback that the README shows': async (
    demo,
  ) => {
    const owner = await logInAs(demo, EMAIL);
    const { body: wallet } = await owner.post<Wallet>('/wallets/search', { document: DOCUMENT });
    expect(wallet).toMatchObject({ available: '80.00', pending: '0.00', held: '0.00', debt: '0.00' });
    await expectFirstOrder(demo);
  },

  'a year of orders has each status, and three stores': async (demo) => {
    const orders = await allOf<Order>(await logInAs(demo, 'caixa-3@example.com'), '/orders?');
    expect(new Set(orders.map(({ status }) => status))).toEqual(
      new Set(['pending', 'completed', 'cancelled', 'expired', 'partially_refunded', 'refunded']),
    );
    expect(orders.length).toBeGreaterThan(300);
    expect(orders.length).toBeLessThan(500);
    expect(new Set(orders.map(({ store }) => store))).toEqual(new Set(['SP-014', 'RJ-003', 'MG-021', null]));
    const days = orders.map(({ created_at }) => dayOf(new Date(created_at), ZONE));
    expect(days.at(-1)! < addDays(todayOf(demo), -350)).toBe(true);
    expect(days.filter((day) => day > addDays(todayOf(demo), -30)).length).toBeGreaterThan(80);
    // Nothing is in the future of the service.
    expect(orders.filter(({ created_at }) => new Date(created_at) > demo.now())).toEqual([]);
    expect(orders.some(({ total, eligible_total }) => Number(eligible_total) < Number(total))).toBe(true);
  },

  'one order is open with a hold, and one expired with cashback that lapsed and can be completed by hand': async (
    demo,
  ) => {
    const till = await logInAs(demo, 'caixa-8@example.com');
    const [open] = await allOf<Order>(till, '/orders?status=pending');
    expect(Number(open?.cashback.to_redeem.held)).toBeGreaterThan(0);
    expect(Date.parse(open!.expires_at) - +demo.now()).toBeGreaterThan(24 * 3_600_000);
    const expired = await allOf<Order>(till, '/orders?status=expired');
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
  },

  'support finds grants with reasons, one of them voided, refunds with reason and store, and a corrected customer':
    async (demo) => {
      const support = await logInAs(demo, 'atendimento@example.com');
      const by = { name: 'Atendimento' };
      const grants = await allOf<Grant>(support, '/grants?');
      for (const reason of ['Atraso na entrega', 'Aniversário'])
        expect(grants).toContainEqual(expect.objectContaining({ reason, created_by: expect.objectContaining(by) }));
      expect(grants.filter(({ voided }) => voided !== '0.00')).toMatchObject([
        { amount: '250.00', voided: '250.00', void_reason: 'Valor digitado errado', voided_by: by },
      ]);
      const refunds = await allOf<Refund>(support, '/refunds?');
      expect(refunds.every(({ reason }) => reason !== null)).toBe(true);
      expect(new Set(refunds.map(({ store }) => store))).toContain('SP-014');
      const names = refunds.map(({ created_by }) => created_by?.name);
      expect(names).toEqual(expect.arrayContaining(['Atendimento', 'Caixa 3']));
      const corrected = (await eventsOf(demo)).find(({ type }) => type === 'order.customer_changed');
      const { document } = corrected!.data.wallet;
      const { body: wallet } = await support.post<Wallet>('/wallets/search', { document });
      const entries = await allOf<Entry>(support, `/wallets/${wallet.id}/entries?`);
      expect(entries).toContainEqual(
        expect.objectContaining({ kind: 'move_in', by: expect.objectContaining(by) as object }),
      );
    },

  'finance finds a debt, pending cashback, what expires within a week, the cashier with one CPF, and twelve months':
    async (demo) => {
      const finance = await logInAs(demo, 'financeiro@example.com');
      const customers = await allOf<Customer>(finance, '/customers?');
      expect(customers.length).toBeGreaterThan(35);
      expect(customers.some(({ debt }) => debt !== '0.00')).toBe(true);
      expect(customers.some(({ pending }) => pending !== '0.00')).toBe(true);
      expect(customers.filter(({ document }) => document.length === 14).length).toBeGreaterThan(0);
      const expiring = await allOf<CustomerCredit>(
        finance,
        `/credits?expires_from=${todayOf(demo)}&expires_to=${addDays(todayOf(demo), 7)}`,
      );
      expect(expiring.filter(({ remaining }) => remaining !== '0.00').length).toBeGreaterThan(1);
      const period = `from=${addDays(todayOf(demo), -30)}&to=${addDays(todayOf(demo), 1)}`;
      const { body: frequent } = await finance.get<Report>(`/reports/frequent?${period}&at_least=5`);
      expect(frequent.data).toMatchObject([{ orders: 7, completed_by: [{ name: 'Caixa 3', orders: 7 }] }]);
      const year = `from=${addDays(todayOf(demo), -364)}&to=${addDays(todayOf(demo), 1)}`;
      const { body: months } = await finance.get<Report>(`/reports/ledger?${year}&by=month`);
      expect(months.data.length).toBeGreaterThanOrEqual(12);
      // The first and the last month can have a day each. What has ended is summed.
      for (const { earned } of months.data.slice(1, -1)) expect(Number(earned)).toBeGreaterThan(0);
      for (const { closed } of months.data.slice(0, -2)) expect(closed).toBe(true);
      const { status } = await finance.post('/grants', { external_id: 'no', document: DOCUMENT, amount: '1.00' });
      expect(status).toBe(403);
    },

  'the feed has what happened by date, and the webhook endpoints have failed': async (demo) => {
    const types = new Set((await eventsOf(demo)).map(({ type }) => type));
    for (const type of ['order.expired', 'cashback.available', 'cashback.expiring', 'cashback.expired'] as const)
      expect(types).toContain(type);
    const { body } = await (await logInAs(demo, 'marketing@example.com')).get<Page<Endpoint>>('/webhook-endpoints');
    expect(body.data.map(({ status, failures }) => ({ status, failed: failures > 0 }))).toEqual([
      { status: 'disabled', failed: true },
      { status: 'active', failed: true },
    ]);
  },

  'a campaign is over, one runs and one is to come, each with a name by marketing, which also changed the rules':
    async (demo) => {
      const owner = await logInAs(demo, EMAIL);
      const campaigns = await allOf<CampaignOfShop>(owner, '/campaigns?');
      const by = { name: 'Marketing' };
      expect(campaigns).toMatchObject([
        { name: 'Aniversário da loja', status: 'upcoming', created_by: by },
        { name: 'Débito em dobro', status: 'running', created_by: by },
        { name: 'Semana do café', status: 'over', created_by: by },
      ]);
      const { body: policy } = await owner.get<PolicyRules>('/policy');
      const rates = { cash: '0.03', debit_card: '0.10' };
      expect(policy.campaign).toMatchObject({ name: 'Débito em dobro' });
      expect(policy.upcoming).toMatchObject([{ rules: { earn_rates_by_payment_method: rates } }]);
      expect(policy.upcoming[0]!.from > addDays(todayOf(demo), 14)).toBe(true);
      const [change] = await allOf<{ reason: string; by: object }>(owner, '/policy/history?');
      expect(change).toMatchObject({ reason: 'Pix volta à taxa dos outros meios', by });
    },

  'the campaign that is over and the one that runs sold more with their method than as many days before them': async (
    demo,
  ) => {
    const owner = await logInAs(demo, EMAIL);
    const [, ...begun] = await allOf<CampaignOfShop>(owner, '/campaigns?');
    const orders = (await allOf<Order>(owner, '/orders?')).filter(({ completed_at }) => completed_at !== null);
    const byCard = orders.filter(({ payment_methods: [method] }) => method?.id === 'debit_card');
    for (const { id, status, from, through } of begun) {
      const end = status === 'running' ? todayOf(demo) : addDays(through, 1);
      const days = (Date.parse(end) - Date.parse(from)) / 86_400_000;
      const between = (list: Order[], first: string, until: string): number => {
        const soldOn = list.map(({ sold_at, completed_at }) => dayOf(new Date(sold_at ?? completed_at!), ZONE));
        return soldOn.filter((day) => first <= day && day < until).length;
      };
      const during = between(byCard, from, end);
      const before = between(byCard, addDays(from, -days), from);
      expect({ status, days, isTwice: during > 2 * before }).toEqual({
        status,
        days: status === 'running' ? 3 : 7,
        isTwice: true,
      });
      const its = await allOf<Order>(owner, `/orders?campaign_id=${id}`);
      expect(its.length).toBeGreaterThanOrEqual(between(orders, from, end));
    }
  },

  'a wallet is frozen with a reason and has cashback that cannot be spent': async (demo) => {
    const manager = await logInAs(demo, 'gerente@example.com');
    const frozen = (await allOf<Customer>(manager, '/customers?')).filter((customer) => customer.frozen);
    expect(frozen).toHaveLength(1);
    const { body: wallet } = await manager.get<Wallet>(`/wallets/${frozen[0]!.wallet_id}`);
    expect(wallet).toMatchObject({
      freeze_reason: 'Conta invadida: a cliente não reconhece a última compra',
      freeze_changed_by: { name: 'Gerente' },
    });
    expect(Number(wallet.available)).toBeGreaterThan(0);
  },

  'a grant that was made twice is debited, with a reason for the customer and a note for staff, as grants have them':
    async (demo) => {
      const manager = await logInAs(demo, 'gerente@example.com');
      const [debit, ...others] = await allOf<Debit>(manager, '/debits?');
      expect(others).toEqual([]);
      expect(debit).toMatchObject({
        amount: '25.00',
        reason: 'Crédito lançado em dobro',
        note: 'Chamado 4731: dois créditos iguais, um é devido',
        created_by: { name: 'Gerente' },
      });
      const grants = await allOf<Grant>(manager, '/grants?');
      const twice = grants.filter(({ wallet_id }) => wallet_id === debit!.wallet_id);
      expect(twice).toMatchObject(Array(2).fill({ amount: '25.00', note: 'Chamado 4731' }));
      expect(twice).toHaveLength(2);
      const support = await logInAs(demo, 'atendimento@example.com');
      const more = { external_id: 'no', document: DOCUMENT, amount: '1.00', reason: 'Teste' };
      expect((await support.post('/debits', more)).status).toBe(403);
    },

  'a refund was undone with a reason, and its order is completed again': async (demo) => {
    const manager = await logInAs(demo, 'gerente@example.com');
    const undone = (await allOf<Refund>(manager, '/refunds?')).filter(({ voided_at }) => voided_at !== null);
    expect(undone).toMatchObject([
      {
        created_by: { name: 'Atendimento' },
        voided_by: { name: 'Gerente' },
        void_reason: 'Devolução lançada no pedido errado',
      },
    ]);
    const { body: order } = await manager.get<Order>(`/orders/${undone[0]!.order_id}`);
    expect(order).toMatchObject({ status: 'completed', cashback: { to_receive: { taken_back: '0.00' } } });
  },

  'sales of a till without a network arrived on the next day, with the day on which they were sold': async (demo) => {
    const orders = await allOf<Order>(await logInAs(demo, EMAIL), '/orders?store=RJ-003');
    const late = orders.filter(({ sold_at }) => sold_at !== null);
    expect(late).toHaveLength(3);
    const dayOfInstant = (instant: string): string => dayOf(new Date(instant), ZONE);
    for (const { sold_at, created_at } of late) {
      expect(dayOfInstant(created_at)).toBe(addDays(todayOf(demo), -1));
      expect(dayOfInstant(sold_at!)).toBe(addDays(todayOf(demo), -2));
    }
  },

  'each user has logged in, but not the former one': async (demo) => {
    const owner = await logInAs(demo, EMAIL);
    const users = await allOf<{ email: string; disabled_at: string | null; last_login_at: string | null }>(
      owner,
      '/users?',
    );
    const [former, ...others] = users;
    expect(users).toHaveLength(STAFF.length + 1);
    expect(former).toMatchObject({ email: 'caixa-1@example.com', last_login_at: null });
    expect(former!.disabled_at).not.toBeNull();
    expect(others.filter(({ last_login_at }) => last_login_at === null)).toEqual([]);
  },
};

/** The kept events. */
async function eventsOf(demo: Demo): Promise<FeedEvent[]> {
  const marketing = await logInAs(demo, 'marketing@example.com');
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
