import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Cashback, createSandboxMerchant, type CreateOrder } from '../../clients/typescript/src/index.js';
import { atOnce } from '../support/client.js';
import { findingsOf } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { SANDBOX, NEXT_YEAR } from '../support/sandbox.js';
import { costOf, paidFor, type Shop, type ShopExample, shopExample } from '../support/shop-example.js';
import { all, anOrderOf, clientOf } from '../support/typescript-client.js';
import { failing, type Fault, UnreliableProxy } from '../support/unreliable-proxy.js';
import { useService } from '../support/use-service.js';

const ROUNDS = 10;
const CARTS_PER_ROUND = 20;
const CUSTOMERS = 12;
const POLICY = { earn_rate: '0.10', redeem_share: '0.5', release_days: 5, validity_days: 45 };
const KILLS = 15;

const DRIVER = `
import { Shop, untilDone } from './shop.mjs';
const [file, options, carts] = JSON.parse(process.argv[2]);
const shop = new Shop(file, options);
for (const cart of carts) {
  await shop.checkout(cart);
  await shop.refund(cart.external_id, { external_id: 'R-' + cart.external_id, amount: '10.01' });
}
await untilDone(() => shop.sync());
`;

describe('the example of a shop behind a network that fails 35 % of the requests', () => {
  const { service } = useService({ env: SANDBOX });
  let example: ShopExample;
  let proxy: UnreliableProxy;
  let user: { email: string; password: string };
  let cashback: Cashback;

  beforeAll(async () => {
    example = await shopExample();
    proxy = await UnreliableProxy.start(service.url);
  });
  beforeEach(async () => {
    ({ user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja', policy: POLICY }));
    cashback = clientOf(user, service);
    await cashback.sandbox.move({ on: `${NEXT_YEAR}-01-01` });
    proxy.fault = failing(0.35);
  });
  afterAll(async () => {
    await proxy?.stop();
    example?.remove();
  });

  const aCart = (document: string): CreateOrder => {
    const total = (10 + Math.floor(Math.random() * 20_000) / 100).toFixed(2);
    return anOrderOf({ document, total, items: [{ id: 'sku-1', price: total }], payment_methods: [] });
  };

  /** Expects that the service and the shop say the same of each order. */
  async function expectAgreement(shop: Shop, carts: CreateOrder[]): Promise<void> {
    for (const { external_id, total } of carts) {
      const order = await cashback.orders.byExternalId(external_id);
      const { amount, redeem } = shop.data.charges[external_id]!;
      expect(paidFor(shop, external_id)).toBe(await costOf(cashback, external_id));
      expect(Math.round((Number(amount) + Number(redeem)) * 100)).toBe(Math.round(Number(total) * 100));
      const payments = Object.values(shop.data.payments).filter(({ order }) => order === external_id);
      expect(payments.filter((payment) => !payment.amount.startsWith('-'))).toEqual([{ order: external_id, amount }]);
      if (order.status === 'cancelled') expect(payments).toContainEqual({ order: external_id, amount: `-${amount}` });
      else expect(order).toMatchObject({ amount_to_pay: amount, cashback: { to_redeem: { redeemed: redeem } } });
    }
    const stored = Object.values(shop.data.events).sort((a, b) => a.sequence - b.sequence);
    const events = await all(cashback.events.list({ after: 0, limit: 100 }));
    expect(stored.map(({ sequence, type }) => [sequence, type])).toEqual(
      events.map(({ sequence, type }) => [sequence, type]),
    );
    expect(await findingsOf(service)).toEqual([]);
  }

  it(`${ROUNDS * CARTS_PER_ROUND} orders are charged once and right, while the clock jumps by months`, async () => {
    let month = 1;
    let jumps = Promise.resolve<unknown>(undefined);
    let completions = 0;
    const shop = new example.module.Shop(path.join(example.folder, 'jumps.json'), {
      baseUrl: proxy.url,
      ...user,
      fetch: async (url, init) => {
        // The next ones have been charged, and expire before they are completed.
        if ((url as string).endsWith('/complete') && ++completions % CARTS_PER_ROUND === 0) {
          const on = new Date(Date.UTC(NEXT_YEAR, month++, 1)).toISOString().slice(0, 10);
          jumps = jumps.then(() => cashback.sandbox.move({ on }));
          await jumps;
        }
        return fetch(url, init);
      },
    });
    const customers = Array.from({ length: CUSTOMERS }, aDocument);
    const carts: CreateOrder[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const ofRound = Array.from({ length: CARTS_PER_ROUND }, (_, at) => aCart(customers[at % CUSTOMERS]!));
      carts.push(...ofRound);
      await atOnce(CARTS_PER_ROUND, async (at) => {
        const cart = ofRound[at]!;
        const [order] = await Promise.all([shop.checkout(cart), shop.checkout(cart)]);
        if (at % 3 === 0 && order.status !== 'cancelled')
          await shop.refund(cart.external_id, { external_id: `R-${cart.external_id}`, amount: '7.77' });
      });
    }
    await jumps;
    await cashback.sandbox.move({ on: `${NEXT_YEAR + 8}-01-01` });
    await example.module.untilDone(() => shop.sync());
    await expectAgreement(shop, carts);
    const types = new Set(Object.values(shop.data.events).map(({ type }) => type));
    expect([...types]).toEqual(
      expect.arrayContaining(['order.expired', 'order.completed', 'order.refunded', 'cashback.available']),
    );
    expect([...types]).toEqual(expect.arrayContaining(['cashback.expiring', 'cashback.expired']));
    expect(Object.values(shop.data.charges).some(({ redeem }) => redeem !== '0.00')).toBe(true);
  });

  it(`a shop that is killed ${KILLS} times in the middle of a request charges each order once and right`, async () => {
    writeFileSync(path.join(example.folder, 'driver.mjs'), DRIVER);
    const file = path.join(example.folder, 'kills.json');
    const carts = Array.from({ length: 12 }, () => aCart(aDocument()));
    for (const { document, external_id } of carts)
      await cashback.grants.create({ external_id, document, amount: '6.00' });
    const fails = failing(0.35);
    const run = async (killAfter: number): Promise<string | number | null> => {
      const args = [
        path.join(example.folder, 'driver.mjs'),
        JSON.stringify([file, { baseUrl: proxy.url, ...user }, carts]),
      ];
      const child = spawn(process.execPath, args, { stdio: 'inherit' });
      let left = killAfter;
      proxy.fault = (): Fault | undefined => {
        if (left-- === 0) child.kill('SIGKILL');
        return fails();
      };
      await once(child, 'exit');
      return child.signalCode ?? child.exitCode;
    };
    const ends: (string | number | null)[] = [];
    for (let kill = 0; kill < KILLS; kill++) ends.push(await run(1 + Math.floor(Math.random() * 60)));
    expect(ends.filter((end) => end === 'SIGKILL').length).toBeGreaterThan(0);
    expect(await run(Infinity)).toBe(0);
    await cashback.sandbox.move({ on: `${NEXT_YEAR}-01-02` });
    const shop = new example.module.Shop(file, { baseUrl: service.url, ...user });
    await shop.sync();
    await expectAgreement(shop, carts);
    for (const { redeem } of Object.values(shop.data.charges)) expect(redeem).not.toBe('0.00');
    expect(Object.keys(shop.data.charges)).toHaveLength(carts.length);
  });
});
