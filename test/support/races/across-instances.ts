/* eslint jest/no-export: off -- The test files of two clusters declare these tests. */
import { expect, it } from '@jest/globals';
import { Client } from '../client.js';
import { expectInvariants } from '../expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../factories.js';
import type { Service } from '../service.js';
import { sameOrder } from './order-races.js';
import { Stage } from './stage.js';
import { redemptions } from './wallet-races.js';

const REPLAYS = 100;

/**
 * Declares the tests that every cluster passes: races, and requests that continue on another instance.
 *
 * @param cluster begins the titles
 * @param instances returns the three instances and a merchant, once they are started
 */
export function testAcrossInstances(
  cluster: string,
  instances: () => { services: Service[]; merchant: TestMerchant },
): void {
  const clientsOf = (token?: string): Client[] => instances().services.map((service) => new Client(service, token));

  it.each([sameOrder, redemptions(120, 50)])(`${cluster}: $title`, async (race) => {
    const { services, merchant } = instances();
    const stage = new Stage(services[0]!, merchant, clientsOf(merchant.tokens.access_token));
    race.expectFair(await race.run(stage));
    stage.expectNoFailure();
    for (const service of services) await expectInvariants(service);
  });

  it(`${cluster}: one refresh token sent 20 times at once is exchanged for one token set`, async () => {
    const { services } = instances();
    const merchant = await aMerchant(services[0]!);
    const stage = new Stage(services[0]!, merchant, clientsOf());
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        stage.send(at, 'POST', '/auth/refresh', { refresh_token: merchant.tokens.refresh_token }),
      ),
    );
    const exchanged = answers.map(({ status, body }) => ({ status, token: body.refresh_token }));
    expect(new Set(exchanged.map(({ status }) => status)).size).toBe(1);
    expect(new Set(exchanged.map(({ token }) => token)).size).toBe(1);
    expect(exchanged[0]!.token).toEqual(expect.any(String));
  });

  it(`${cluster}: each response is valid on the other instances at once: an order is read, replayed, completed and refunded`, async () => {
    const clients = clientsOf(instances().merchant.tokens.access_token);
    const seen = new Set<string>();
    for (let n = 0; n < REPLAYS; n++) {
      const [first, second, third] = [0, 1, 2].map((step) => clients[(n + step) % 3]!) as [Client, Client, Client];
      const order = anOrder({ total: '10.00' });
      const { body } = await first.post('/orders', order);
      const read = await second.get(`/orders/${body.id}`);
      const replayed = await third.post('/orders', order);
      const completed = await second.post(`/orders/${body.id}/complete`, {});
      const again = await third.post(`/orders/${body.id}/complete`, {});
      const refunded = await first.post(`/orders/${body.id}/refunds`, { external_id: 'DEV-1', amount: '1.00' });
      const replay = replayed.headers.get('idempotency-replayed');
      seen.add([read, replayed, completed, again, refunded].map(({ status }) => status).join() + ` ${replay}`);
    }
    expect([...seen]).toEqual(['200,201,200,200,201 true']);
  });
}
