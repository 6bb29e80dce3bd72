import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Cashback, createSandboxMerchant } from '../../clients/typescript/src/index.js';
import { atOnce } from '../support/client.js';
import { numberEvents } from '../support/events.js';
import { findingsOf } from '../support/expectations.js';
import { SANDBOX, NEXT_YEAR } from '../support/sandbox.js';
import { costOf, paidFor, type Shop, type ShopExample, shopExample } from '../support/shop-example.js';
import { all, anOrderOf, clientOf } from '../support/typescript-client.js';
import { useService } from '../support/use-service.js';

const NOON = `${NEXT_YEAR}-03-01T15:00:00.000Z`;
const DOCUMENT = '52998224725';

describe('the example of a shop', () => {
  const { service } = useService({ env: SANDBOX });
  let example: ShopExample;
  let user: { email: string; password: string };
  let cashback: Cashback;
  let shops = 0;

  /** A shop of the merchant. @param before is called before each request */
  const aShop = (before: (url: string) => Promise<unknown> = () => Promise.resolve(), file = `${shops++}.json`): Shop =>
    new example.module.Shop(path.join(example.folder, file), {
      baseUrl: service.url,
      ...user,
      fetch: async (url, init) => {
        await before(url as string);
        return fetch(url, init);
      },
    });
  const aCart = (members: object = {}) => anOrderOf({ document: DOCUMENT, total: '100.00', ...members });
  const move = (now: string) => cashback.sandbox.move({ now });
  const balance = async () => (await cashback.wallets.search({ document: DOCUMENT })).available;

  beforeAll(async () => {
    example = await shopExample();
  });
  beforeEach(async () => {
    ({ user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja' }));
    cashback = clientOf(user, service);
    await move(NOON);
    await cashback.grants.create({
      external_id: 'g-1',
      document: DOCUMENT,
      amount: '20.00',
      expires_on: `${NEXT_YEAR}-03-03`,
    });
  });
  afterAll(() => example.remove());

  it('charges an order once, however often and at the same time it is checked out, also after a restart', async () => {
    const shop = aShop(undefined, 'restarted.json');
    const cart = aCart();
    const orders = await atOnce(5, () => shop.checkout(cart));
    for (const order of orders) expect(order).toMatchObject({ status: 'completed', amount_to_pay: '80.00' });
    const refund = { external_id: 'r-1', amount: '50.00' };
    expect(await shop.refund(cart.external_id, refund)).toMatchObject({ amount_to_pay_back: '40.00' });
    const restarted = aShop(undefined, 'restarted.json');
    expect(restarted.data).toEqual(shop.data);
    expect(await restarted.checkout(cart)).toMatchObject({ status: 'partially_refunded' });
    await restarted.refund(cart.external_id, refund);
    expect(Object.values(restarted.data.payments).map(({ amount }) => amount)).toEqual(['80.00', '-40.00']);
    expect(await costOf(cashback, cart.external_id)).toBe(4000);
  });

  it('completes an order that expired after the charge, with the cashback that it had deducted', async () => {
    const moved: string[] = [];
    const shop = aShop(async (url) => {
      if (url.endsWith('/complete') && moved.push(url) === 1) await move(`${NEXT_YEAR}-03-01T17:00:00.000Z`);
    });
    const cart = aCart();
    const order = await shop.checkout(cart);
    expect(order).toMatchObject({ status: 'completed', amount_to_pay: '80.00' });
    expect(moved).toHaveLength(2);
    expect(paidFor(shop, cart.external_id)).toBe(8000);
    expect(await balance()).toBe('0.00');
  });

  it('cancels and pays back an order whose cashback expired after the charge, also if it is checked out again', async () => {
    const shop = aShop(async (url) => {
      if (url.endsWith('/complete')) await move(`${NEXT_YEAR}-06-01T15:00:00.000Z`);
    });
    const cart = aCart();
    for (let time = 0; time < 2; time++) {
      expect(await shop.checkout(cart)).toMatchObject({ status: 'cancelled' });
      expect(Object.values(shop.data.payments).map(({ amount }) => amount)).toEqual(['80.00', '-80.00']);
    }
    expect(await costOf(cashback, cart.external_id)).toBe(0);
  });

  it('offers less if another order holds the cashback first', async () => {
    let isFirst = true;
    const shop = aShop(async (url) => {
      if (!url.endsWith('/redemption') || !isFirst) return;
      isFirst = false;
      const { id } = await cashback.orders.create(aCart());
      await cashback.orders.hold(id, { amount: '15.00' });
    });
    expect(await shop.checkout(aCart())).toMatchObject({ status: 'completed', amount_to_pay: '95.00' });
  });

  it('sells what its cart has, although another till has amended the order', async () => {
    const shop = aShop();
    const cart = aCart();
    const { id } = await cashback.orders.create(cart);
    await cashback.orders.amend(id, { total: '90.00', items: cart.items, payment_methods: [] });
    expect(await shop.checkout(cart)).toMatchObject({
      id,
      status: 'completed',
      total: '100.00',
      amount_to_pay: '80.00',
    });
  });

  it('charges nothing if the order is cancelled', async () => {
    const shop = aShop();
    const cart = aCart();
    await cashback.orders.cancel((await cashback.orders.create(cart)).id);
    await expect(shop.checkout(cart)).rejects.toThrow(`${cart.external_id} is cancelled: it takes no other charge`);
    expect(shop.data.payments).toEqual({});
  });

  it('stores each event once, from the feed after its position and from webhooks, and refuses a forged one', async () => {
    const shop = aShop();
    await shop.checkout(aCart());
    await numberEvents(service);
    await shop.sync();
    const stored = structuredClone(shop.data);
    expect(Object.values(stored.events).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(stored.after).toBe(4);
    await shop.sync();
    expect(shop.data).toEqual(stored);

    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const receive = shop.webhooks(secret);
    const server = createServer((request, response) => void receive(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const deliver = async (body: object, signature?: string) => {
      const raw = JSON.stringify(body);
      const now = new Date();
      const signed = signature ?? new Webhook(secret).sign('evt', now, raw);
      const timestamp = String(Math.floor(+now / 1000));
      const headers = { 'webhook-id': 'evt', 'webhook-timestamp': timestamp, 'webhook-signature': signed };
      return (await fetch(url, { method: 'POST', body: raw, headers })).status;
    };
    const old = (await all(cashback.events.list({ last: 1 })))[0]!;
    const event = { ...old, id: 'evt_new', sequence: 5 };
    expect(await deliver(event, 'v1,AAAA')).toBe(400);
    expect(await deliver(old)).toBe(204);
    expect(shop.data).toEqual(stored);
    expect(await deliver({ data: [old, event] })).toBe(204);
    expect(await deliver(event)).toBe(204);
    expect(await deliver({ id: 'evt_ping', type: 'ping', timestamp: NOON })).toBe(204);
    expect(Object.keys(shop.data.events)).toEqual([...Object.keys(stored.events), 'evt_new']);
    server.close();
    server.closeAllConnections();
  });

  it('leaves a ledger without findings', async () => {
    expect(await findingsOf(service)).toEqual([]);
  });
});
