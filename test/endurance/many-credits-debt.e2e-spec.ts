import { describe, expect, it } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import type { Answer } from '../support/client.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aCustomerWithCredits, forgetEvents } from '../support/many-credits.js';
import type { Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsReadBy } from '../support/server-counters.js';

const days = (count: number): Date => new Date(Date.now() + count * 86_400_000);

describe('a wallet with a debt and 50,000 open credits', () => {
  const { service } = useService({ env: { DATABASE_POOL_SIZE: '1' } });

  it('released holds and returned redemptions repay a debt beside 50,000 open credits and read few rows', async () => {
    const shop = await aMerchant(service, { releaseDays: 0, redeemShareBps: 10_000 });
    const document = aDocument();
    const ok = async <T>(answer: Promise<Answer<T>>): Promise<T> => {
      const { status, body } = await answer;
      expect(status).toBeLessThan(300);
      return body;
    };
    /** An order whose eligible total is the redemption, so that it earns nothing. */
    const anOrderHolding = async (amount: string): Promise<string> => {
      const { id } = await shop.create({ document, total: '20.00', eligible_total: amount });
      await ok(shop.hold({ id }, amount).answer);
      return `/orders/${id}`;
    };
    const refundOf = (path: string, amount: string): Promise<Refund> =>
      ok(shop.client.post(`${path}/refunds`, { external_id: 'DEV-1', amount }));
    const first = await shop.completed({ document, total: '200.00' });
    await ok(shop.client.post(`${await anOrderHolding('10.00')}/complete`));
    await shop.credit(document, '14.00');
    const [released, returned] = [await anOrderHolding('8.00'), await anOrderHolding('6.00')];
    await ok(shop.client.post(`${returned}/complete`));
    await refundOf(`/orders/${first.id}`, '200.00');
    expect(await shop.wallet(document)).toMatchObject({ available: '0.00', held: '8.00', debt: '10.00' });

    // The credits are written directly, because granted cashback would repay the debt.
    const credits = { document, count: 50_000, amount: '0.02', availableAt: days(-1), expiresAt: days(100) };
    await aCustomerWithCredits(service, shop, credits);
    await shop.credit(document, '0.01');
    expect(await shop.wallet(document)).toMatchObject({ available: '1000.00', held: '8.00', debt: '9.98' });
    // A request reads about ten rows for each credit that it changes, of which there are up to 150.
    const few = async (act: () => PromiseLike<unknown>): Promise<void> =>
      expect(await rowsReadBy(service, act)).toBeLessThan(5000);
    await few(() => ok(shop.client.post(`${released}/cancel`)));
    await few(() => shop.create({ document }));
    await few(() => refundOf(returned, '20.00'));
    expect(await shop.wallet(document)).toMatchObject({ available: '1004.02', held: '0.00', debt: '0.00' });
    // The events until here have a debt beside available cashback.
    await forgetEvents(service.dataSource, shop.id, service.clock.now());
    let path = '';
    await few(async () => (path = await anOrderHolding('3.00')));
    await few(() => ok(shop.client.put(`${path}/redemption`, { amount: '1.00' })));
    await few(() => ok(shop.client.post(`${path}/complete`, { redeem: '2.00' })));
    await few(() => refundOf(path, '20.00'));
    expect(await shop.wallet(document)).toMatchObject({ available: '1004.02', held: '0.00', debt: '0.00' });
    // The operator's command has no time limit per statement.
    expect(await new AdminCommandLine(service).run('reconcile')).toMatchObject({ code: 0 });
  });
});
