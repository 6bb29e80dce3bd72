import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { Admission } from '../../src/platform/http/admission.js';
import { createDataSource } from '../../src/schema.js';
import { atOnce, Client } from '../support/client.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { startService } from '../support/service.js';
import { type Order, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';

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
