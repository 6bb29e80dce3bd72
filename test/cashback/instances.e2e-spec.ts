import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { Admission } from '../../src/platform/http/admission.js';
import { createDataSource } from '../../src/schema.js';
import { atOnce, Client } from '../support/client.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, grant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { type Service, startService } from '../support/service.js';
import { type Order, type Tokens, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';

/** Two instances share a database. The clock of one of them is ahead. */
describe('instances whose clocks differ', () => {
  let database: TestDatabase;
  let behind: Service;
  let ahead: Service;
  let merchant: TestMerchant;
  let client: Client;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    behind = await startService({ databaseUrl: database.url });
    ahead = await startService({ databaseUrl: database.url });
    await ahead.clock.advance({ seconds: 50 });
  });
  beforeEach(async () => {
    merchant = await aMerchant(behind);
    client = new Client(ahead, merchant.tokens.access_token);
  });
  afterEach(() => expectInvariants(ahead));
  afterAll(async () => {
    await ahead.stop();
    await behind.stop();
    await database.drop();
  });

  /** Creates an order that holds 20.00 and is about to expire on the clock of the instance that is behind. */
  async function anOrderAboutToExpire(): Promise<Order> {
    const document = aDocument();
    await grant(behind, merchant, document, '20.00');
    const order = await merchant.create({ document });
    await merchant.hold(order, '20.00');
    for (const { clock } of [behind, ahead]) await clock.advance({ minutes: 29, seconds: 30 });
    return order;
  }

  it('instances whose clocks differ write the entries of a wallet in chronological order', async () => {
    const document = aDocument();
    for (const sender of [client, merchant.client, client, merchant.client]) {
      const { body } = await sender.post('/orders', anOrder({ document }));
      expect((await sender.post(`/orders/${body.id}/complete`)).status).toBe(200);
    }
    const times = (await merchant.statement(document)).map(({ created_at }) => created_at);
    expect(times).toHaveLength(4);
    expect(times).toEqual(times.toSorted());
  });

  it('instances whose clocks differ show a hold only while it exists', async () => {
    const order = await anOrderAboutToExpire();
    const { body: other } = await client.post('/orders', anOrder({ document: order.document }));
    expect((await client.post(`/orders/${other.id}/complete`)).status).toBe(200);
    expect((await merchant.order(order)).cashback.to_redeem).toMatchObject({
      available: '20.00',
      held: '0.00',
      maximum: '20.00',
    });
    const page = await merchant.orders(`external_id=${order.external_id}`);
    expect(page.data[0]!.cashback.to_redeem).toMatchObject({ available: '20.00', held: '0.00' });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '20.00', held: '0.00' });
  });

  it('completing an order returns 409 when another instance already released its hold and spent the amount', async () => {
    const order = await anOrderAboutToExpire();
    const { body: other } = await client.post('/orders', anOrder({ document: order.document }));
    expect((await client.post(`/orders/${other.id}/complete`, { redeem: '20.00' })).status).toBe(200);
    await merchant.complete(order, { redeem: '20.00' }).refused(409, 'redemption_no_longer_available');
    await merchant
      .hold(order, '1.00')
      .refused(422, 'redemption_exceeds_maximum', { maximum: '0.00', limited_by: 'balance' });
  });

  it('the clock of the instance that releases a hold decides whether its credit has expired', async () => {
    const shop = await aLongLivedMerchant(behind, { redeemShareBps: 10_000, maxOrderTtlMinutes: 20_000 });
    const inDays = (days: number): Date => new Date(behind.clock.now().getTime() + days * 86_400_000);
    const document = aDocument();
    const expiresAt = inDays(0.5);
    await grant(behind, shop, document, '30.00', { expiresAt });
    const orders: Order[] = [];
    for (const _at of [0, 1, 2]) {
      const order = await shop.create({ document, total: '10.00', expires_at: inDays(1) });
      orders.push(await shop.hold(order, '10.00'));
    }
    // The credit has expired on the clock that is ahead, but not on the other one.
    const ms = expiresAt.getTime() - behind.clock.now().getTime() - 25_000;
    for (const { clock } of [ahead, behind]) await clock.advance({ ms });
    const { email, password } = shop;
    const { body: login } = await new Client(ahead).post<Tokens>('/auth/login', { email, password });
    const senders = [shop.client, new Client(ahead, login.access_token), shop.client];
    const available = [];
    for (const [at, sender] of senders.entries()) {
      expect((await sender.post(`/orders/${orders[at]!.id}/cancel`)).status).toBe(200);
      available.push((await shop.wallet(document)).available);
    }
    // The wallet was last changed after the expiry, so the instance that is behind continues from there.
    expect(available).toEqual(['10.00', '0.00', '0.00']);
    expect(await shop.movements(document)).toEqual(['grant 30.00', 'expire -10.00', 'expire -10.00', 'expire -10.00']);
    expect(await shop.wallet(document)).toMatchObject({ available: '0.00', held: '0.00', debt: '0.00' });
  });

  it('an order is completed after its creation, although the instance that completes it is behind', async () => {
    const { body: order } = await client.post<Order>('/orders', anOrder());
    const body = await merchant.complete(order);
    expect(body.completed_at! >= order.created_at).toBe(true);
    expect(body.updated_at).toBe(body.completed_at);
    await expectInvariants(behind);
  });

  it('an instance that is behind shows a wallet as of its last change by an instance that is ahead', async () => {
    const document = aDocument();
    const inSeconds = (seconds: number): Date => new Date(behind.clock.now().getTime() + seconds * 1000);
    await grant(behind, merchant, document, '5.00', { availableAt: inSeconds(25) });
    await grant(behind, merchant, document, '3.00', { expiresAt: inSeconds(25) });
    expect(await merchant.wallet(document)).toMatchObject({ available: '3.00', pending: '5.00' });
    await grant(ahead, merchant, document, '1.00');
    expect(await merchant.wallet(document)).toMatchObject({
      available: '6.00',
      pending: '0.00',
      next_release: null,
      next_expiry: { amount: '6.00' },
    });
    await expectInvariants(behind);
  });

  it('an order expires at least a minute after its creation, also if an instance that is behind moves expires_at', async () => {
    const { body: order } = await client.post('/orders', anOrder());
    const move = async (seconds: number): Promise<number> => {
      const expires_at = new Date(behind.clock.now().getTime() + seconds * 1000).toISOString();
      return (await merchant.hold(order, '0.00', expires_at).answer).status;
    };
    expect([await move(61), await move(120)]).toEqual([400, 200]);
    await expectInvariants(behind);
  });

  it('the time of a change is read after the wallet is locked', async () => {
    const document = aDocument();
    await grant(behind, merchant, document, '20.00', { expiresAt: new Date(behind.clock.now().getTime() + 60_000) });
    const order = await merchant.create({ document });
    await merchant.hold(order, '20.00');
    const own = await createDataSource(database.url).initialize();
    const holder = own.createQueryRunner();
    try {
      await holder.startTransaction();
      await holder.query('SELECT id FROM wallets WHERE document = ? FOR UPDATE', [document]);
      const cancelled = merchant.cancel(order).answer;
      await waitUntilBlocked(holder.manager.query.bind(holder.manager));
      // The credit expires while the request waits.
      behind.clock.skip(120_000);
      await holder.rollbackTransaction();
      expect((await cancelled).body.cashback.to_redeem.available).toBe('0.00');
    } finally {
      await holder.release();
      await own.destroy();
    }
    expect(await merchant.movements(document)).toEqual(['grant 20.00', 'expire -20.00']);
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', held: '0.00' });
  });
});

/** Waits until a statement of the service is blocked by a lock. */
async function waitUntilBlocked(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const blocked =
    "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%FROM%wallets%FOR UPDATE%'";
  for (let attempt = 0; attempt < 5000; attempt++) {
    if ((await query(blocked)).length > 0) return;
    await new Promise((resume) => setTimeout(resume, 10));
  }
  throw new Error('no statement waits for the lock');
}

describe('locks', () => {
  const { service, merchant } = useService();

  /** Runs a test while another connection holds the locks of a statement. */
  async function whileLocked(sql: string, values: unknown[], run: () => Promise<void>): Promise<void> {
    const stranger = await createDataSource(service.databaseUrl).initialize();
    const holder: QueryRunner = stranger.createQueryRunner();
    await holder.startTransaction('READ COMMITTED');
    try {
      await holder.query(sql, values);
      await run();
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
      await stranger.destroy();
    }
  }

  const aDebit = (document: string): object => ({
    ...{ external_id: `FIX-${unique()}`, document, amount: '0.01', reason: 'Granted twice' },
  });

  const aSale = (document: string): object => anOrder({ document, complete: { redeem: '0.01' } });

  const aGrant = (document: string): object => ({ external_id: `SORRY-${document}`, document, amount: '5.00' });

  async function aHeldOrder(document: string, amount: string): Promise<Order> {
    const order = await merchant.create({ document });
    const { status } = await merchant.hold(order, amount).answer;
    expect(status).toBe(200);
    return order;
  }

  describe('lock waits', () => {
    it('a change of a wallet with a hold does not wait for a lock on the credits of other customers', async () => {
      const [document, other] = [aDocument(), aDocument()];
      await merchant.credit(document, '20.00');
      await merchant.credit(other, '20.00');
      const order = await aHeldOrder(document, '10.00');
      const { id } = await merchant.wallet(other);
      await whileLocked('SELECT id FROM cashback_credits WHERE wallet_id = ? FOR UPDATE', [id], async () => {
        const held = await merchant.hold(order, '5.00').answer;
        expect(held).toMatchObject({ status: 200, body: { cashback: { to_redeem: { held: '5.00' } } } });
      });
      await expectInvariants(service);
    });

    it.each([
      ['debits', (client: Client, document: string) => client.post('/debits', aDebit(document))],
      ['sales in one request', (client: Client, document: string) => client.post('/orders', aSale(document))],
    ])('%s of a locked wallet leave connections for the orders of another merchant', async (_, send) => {
      const behind = await startService({
        ...{ databaseUrl: service.databaseUrl, clock: service.clock, env: { DATABASE_POOL_SIZE: '4' } },
      });
      try {
        const [document, other] = [await merchant.customerWith('100.00'), await aMerchant(service)];
        const { id } = await merchant.wallet(document);
        const client = new Client(behind, merchant.client.token).once;
        const waiting: Promise<unknown>[] = [];
        await whileLocked('SELECT id FROM wallets WHERE id = ? FOR UPDATE', [id], async () => {
          waiting.push(...Array.from({ length: 30 }, () => send(client, document)));
          // Half of the places for changes, or all of those for cheap requests.
          while (behind.app.get(Admission).load.running < 20) await sleep(5);
          // They wait for connections, or for the lock.
          await sleep(500);
          const first = Promise.race(waiting).then(() => 'one that waits');
          const others = atOnce(5, () => new Client(behind, other.client.token).post('/orders', anOrder()));
          expect(await Promise.race([first, others])).toMatchObject(Array(5).fill({ status: 201 }));
        });
        await Promise.all(waiting);
      } finally {
        await behind.stop();
      }
      await expectInvariants(service);
    });

    it.each([
      ['hold', (client: Client, { id }: Order) => client.put(`/orders/${id}/redemption`, { amount: '0.00' }), 200],
      ['cancellation', (client: Client, { id }: Order) => client.post(`/orders/${id}/cancel`), 200],
      ['grant', (client: Client, { document }: Order) => client.post('/grants', aGrant(document)), 201],
    ])('a %s finds the wallet that another request creates meanwhile', async (_, send, status) => {
      const proxy = await DatabaseProxy.start(service.databaseUrl);
      const behind = await startService({ databaseUrl: proxy.url, clock: service.clock });
      try {
        const order = await merchant.create();
        const looked = proxy.withhold((sql) => /FROM wallets.* FOR UPDATE/s.test(sql));
        const answer = send(new Client(behind, merchant.client.token), order);
        const withheld = await looked;
        await merchant.grant({ document: order.document });
        withheld.release();
        expect((await answer).status).toBe(status);
      } finally {
        await behind.stop();
        await proxy.stop();
      }
      await expectInvariants(service);
    });
  });
});
