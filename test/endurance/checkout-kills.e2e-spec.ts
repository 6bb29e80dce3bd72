import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cashback, createSandboxMerchant, type Order } from '../../clients/typescript/src/index.js';
import { findingsOf } from '../support/expectations.js';
import { NEXT_YEAR, SANDBOX } from '../support/sandbox.js';
import { type ShopExample, shopExample } from '../support/shop-example.js';
import { aCartOf, clientOf, CUSTOMER } from '../support/typescript-client.js';
import { useService } from '../support/use-service.js';

const CHECKOUTS = 25;
/** Steps only get fewer. */
const NEVER = -1;
const OTHER = '11144477735';

/** Makes one call of the client, and dies before or after one of its requests. */
const DRIVER = `
import { Shop } from './shop.mjs';
const [options, [resource, method, ...args], steps] = JSON.parse(process.argv[2]);
let left = steps;
const step = () => {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL');
};
const fetching = async (...request) => {
  step();
  const response = await fetch(...request);
  step();
  return response;
};
const { cashback } = new Shop('unused.json', { ...options, fetch: fetching });
const result = await cashback[resource][method](...args);
console.log(JSON.stringify(result));
`;

type Call = [resource: string, method: string, ...args: unknown[]];

describe(`${CHECKOUTS} checkouts, each killed before or after another request`, () => {
  const { service } = useService({ env: SANDBOX });
  let example: ShopExample;
  let user: { email: string; password: string };
  let cashback: Cashback;

  beforeAll(async () => {
    example = await shopExample();
    writeFileSync(path.join(example.folder, 'driver.mjs'), DRIVER);
    ({ user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja' }));
    cashback = clientOf(user, service);
    await cashback.sandbox.move({ on: `${NEXT_YEAR}-01-01` });
    await cashback.grants.create({ external_id: 'g-1', document: CUSTOMER, amount: '1000.00' });
  });
  afterAll(() => example.remove());

  async function run(call: Call, steps: number): Promise<{ end: unknown; output: string }> {
    const args = [
      path.join(example.folder, 'driver.mjs'),
      JSON.stringify([{ baseUrl: service.url, ...user }, call, steps]),
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    return { end: child.signalCode ?? child.exitCode, output };
  }

  /** Makes each call until it is done, and kills the first attempt. @returns the results, and the number of kills */
  async function killedCalls<T>(callOf: (at: number) => Call): Promise<{ results: T[]; kills: number }> {
    const results: T[] = [];
    let kills = 0;
    for (let at = 0; at < CHECKOUTS; at++) {
      const call = callOf(at);
      // Each call has a login and at least one request, so at least four steps.
      const { end } = await run(call, at % 10);
      if (end === 'SIGKILL') kills++;
      const last = await run(call, NEVER);
      expect(last.end).toBe(0);
      results.push(JSON.parse(last.output) as T);
    }
    return { results, kills };
  }

  const heldOrders = async (name: string): Promise<Order[]> => {
    const made: Order[] = [];
    for (let at = 0; at < CHECKOUTS; at++) {
      const { order } = await cashback.orders.put(`${name}-${at}`, aCartOf('100.00'));
      made.push(await cashback.orders.hold(order.id, { amount: '20.00' }));
    }
    return made;
  };
  const wallet = async () => {
    const { available, pending, held } = await cashback.wallets.search({ document: CUSTOMER });
    return { available, pending, held };
  };

  it('put renews, releases and amends each order', async () => {
    const orders = await heldOrders('put');
    const { results, kills } = await killedCalls<{ outcome: string; order: Order }>((at) => [
      ...(['orders', 'put', `put-${at}`] as const),
      aCartOf('90.00', { document: OTHER }),
    ]);
    expect(kills).toBeGreaterThanOrEqual(CHECKOUTS / 2);
    for (const [at, { outcome, order }] of results.entries()) {
      expect(outcome).toBe('open');
      // Held, released and amended once.
      expect(order).toMatchObject({ id: orders[at]!.id, version: 4, total: '90.00', document: OTHER });
    }
    expect(await wallet()).toEqual({ available: '1000.00', pending: '0.00', held: '0.00' });
  });

  it('pay completes each order once, although all have expired', async () => {
    const orders = await heldOrders('pay');
    await cashback.sandbox.move({ on: `${NEXT_YEAR}-01-02` });
    const paid = { version: 2, redeem: '20.00', payment_methods: [{ id: 'pix', amount: '80.00' }] };
    const { results, kills } = await killedCalls<{ outcome: string; order: Order }>((at) => [
      ...(['orders', 'pay'] as const),
      orders[at]!.id,
      paid,
    ]);
    expect(kills).toBeGreaterThanOrEqual(CHECKOUTS / 2);
    for (const { outcome, order } of results)
      expect({ outcome, order }).toMatchObject({ outcome: 'completed', order: { version: 4, amount_to_pay: '80.00' } });
    expect(await wallet()).toEqual({ available: '500.00', pending: '100.00', held: '0.00' });
  });

  it('sell creates and completes each order once', async () => {
    const complete = { redeem: '10.00', payment_methods: [{ id: 'pix', amount: '90.00' }] };
    const { results, kills } = await killedCalls<{ outcome: string; order: Order }>((at) => [
      ...(['orders', 'sell'] as const),
      { external_id: `sell-${at}`, ...aCartOf('100.00'), complete },
    ]);
    expect(kills).toBeGreaterThanOrEqual(CHECKOUTS / 3);
    for (const { outcome, order } of results) expect([outcome, order.version]).toEqual(['completed', 2]);
    // 25 times 10.00 were redeemed, and 4.50 earned.
    expect(await wallet()).toEqual({ available: '250.00', pending: '212.50', held: '0.00' });
  });

  it('a refund of each order happens once', async () => {
    const sold: Order[] = [];
    for (let at = 0; at < CHECKOUTS; at++) sold.push(await cashback.orders.byExternalId(`sell-${at}`));
    const { results, kills } = await killedCalls<{ amount_to_pay_back: string }>((at) => [
      ...(['refunds', 'create'] as const),
      sold[at]!.id,
      { external_id: 'r-1', items: [{ id: 'line-1' }] },
    ]);
    expect(kills).toBeGreaterThanOrEqual(CHECKOUTS / 3);
    for (const { amount_to_pay_back } of results) expect(amount_to_pay_back).toBe('90.00');
    expect(await wallet()).toEqual({ available: '500.00', pending: '100.00', held: '0.00' });
    expect(await findingsOf(service)).toEqual([]);
  });
});
