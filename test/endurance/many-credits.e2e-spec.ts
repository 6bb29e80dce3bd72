import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aCreatedOrder, grant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aCustomerWithCredits } from '../support/many-credits.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsReadBy } from '../support/server-counters.js';
import { rowsOf, walletOf } from '../support/wallets.js';

const CREDITS = 5000;
const DAY_MS = 86_400_000;
const days = (count: number): Date => new Date(Date.now() + count * DAY_MS);

/** One wallet has 10,000 available credits and the other has 10,000 pending credits, of 1.00 each. */
describe('a wallet with 10,000 open credits', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1' } });
  /**
   * A second instance with more connections, because reconciliation is too slow for the only connection of the first.
   */
  let reconciler: Service;
  const documents: Record<string, string> = {};

  beforeAll(async () => {
    reconciler = await startService({ databaseUrl: service.databaseUrl });
    const credits = { count: 2 * CREDITS, amount: '1.00', expiresAt: days(100) };
    documents.available = await aCustomerWithCredits(service, merchant, {
      ...credits,
      availableAt: days(-1),
    });
    documents.pending = await aCustomerWithCredits(service, merchant, {
      ...credits,
      availableAt: days(5),
    });
  });
  afterAll(() => reconciler?.stop());

  const rowsRead = (request: () => Promise<unknown>): Promise<number> => rowsReadBy(service, request);

  it.each(['available', 'pending'])('requests read few rows for a wallet with 10,000 credits: %s', async (kind) => {
    const document = documents[kind]!;
    const all = { available: '10000.01', pending: '0.01' }[kind];
    expect((await aCreatedOrder(merchant, { document })).cashback.to_redeem.available).toBe(all);
    await grant(service, merchant, document, '1.00');
    const after = { available: '10001.01', pending: '1.01' }[kind];
    let created: any;
    const read = await rowsRead(async () => (created = await aCreatedOrder(merchant, { document })));
    expect(created.cashback.to_redeem.available).toBe(after);
    expect(read).toBeLessThan(200);
    expect(await rowsRead(() => merchant.client.get(`/orders/${created.id}`))).toBeLessThan(200);
    expect(await rowsRead(() => merchant.client.get('/orders?limit=5'))).toBeLessThan(400);
    expect(await rowsRead(() => walletOf(merchant, document))).toBeLessThan(kind === 'available' ? 200 : 21_000);
    await expectInvariants(reconciler);
  });

  it.each(['available', 'pending'])(
    'redeeming, completing, and refunding read few rows for a wallet with 10,000 credits: %s',
    async (kind) => {
      const document = documents[kind]!;
      const order = await aCreatedOrder(merchant, { document, total: '4.00' });
      const path = `/orders/${order.id}`;
      const amount = kind === 'available' ? '2.00' : '1.00';
      const { client } = merchant;
      const send = async (act: () => Promise<{ status: number }>): Promise<void> => {
        expect(await rowsRead(async () => expect((await act()).status).toBeLessThan(300))).toBeLessThan(1000);
      };
      await send(() => client.put(`${path}/redemption`, { amount }));
      await send(() => client.post(`${path}/complete`));
      await send(() => client.post(`${path}/refunds`, { external_id: 'DEV-1', amount: '4.00' }));
      await expectInvariants(reconciler);
    },
  );

  it('POST /wallets/search returns the next release and expiry of a wallet with 10,000 credits', async () => {
    expect(await walletOf(merchant, documents.available!)).toMatchObject({
      pending: '0.00',
      held: '0.00',
      next_release: null,
      next_expiry: { amount: '0.01' },
    });
    expect(await walletOf(merchant, documents.pending!)).toMatchObject({
      pending: '10000.00',
      next_release: { amount: '10000.00', at: expect.any(String) },
      next_expiry: { amount: '0.01' },
    });
  });

  it('an order can hold, capture, and restore all 800 credits of a wallet', async () => {
    const document = await aCustomerWithCredits(service, merchant, {
      count: 800,
      amount: '0.01',
      availableAt: days(-1),
      expiresAt: days(100),
    });
    const order = await aCreatedOrder(merchant, { document, total: '100.00' });
    const held = await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '8.01' });
    expect(held).toMatchObject({
      status: 200,
      body: { cashback: { to_redeem: { available: '0.00', held: '8.01' } } },
    });
    const completed = await merchant.client.post(`/orders/${order.id}/complete`);
    expect(completed.body.cashback.to_redeem).toMatchObject({ available: '0.00', redeemed: '8.01' });
    const refund = { external_id: 'DEV-1', amount: '100.00' };
    expect((await merchant.client.post(`/orders/${order.id}/refunds`, refund)).body.cashback_returned).toBe('8.01');
    expect(await walletOf(merchant, document)).toMatchObject({ available: '8.01', pending: '0.00', held: '0.00' });
    await expectInvariants(reconciler);
  });

  it('none of 1,200 expired credits is available, whether or not the sweep has written them off', async () => {
    const lasting = await aLongLivedMerchant(service);
    const credits = { count: 1200, amount: '1.00', availableAt: days(-1), expiresAt: days(10) };
    const document = await aCustomerWithCredits(service, lasting, credits);
    for (const { clock } of [service, reconciler]) clock.skip(40 * DAY_MS);
    await grant(service, lasting, document, '1.00');
    const left = { available: '1.00', pending: '0.00' };
    expect(await walletOf(lasting, document)).toMatchObject(left);
    expect((await aCreatedOrder(lasting, { document })).cashback.to_redeem.available).toBe('1.00');
    await expectInvariants(reconciler);
    await service.clock.sweep();
    expect(await walletOf(lasting, document)).toMatchObject(left);
    const [row] = await rowsOf(
      service,
      'SELECT COUNT(*) AS n FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id WHERE w.document = ? AND c.is_open = 1',
      [document],
    );
    expect(Number(row.n)).toBe(1);
    await expectInvariants(reconciler);
  });
});
