import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cashback, createSandboxMerchant } from '../../clients/typescript/src/index.js';
import { fromMinor } from '../../clients/typescript/src/money.js';
import { runNode } from '../support/build.js';
import { freePort } from '../support/built-service.js';
import type { NpmFolder } from '../support/npm-folder.js';
import { testEnvironment } from '../support/service.js';
import { SANDBOX } from '../support/sandbox.js';
import { UnreliableProxy } from '../support/unreliable-proxy.js';
import { useBuiltService } from '../support/use-service.js';
import {
  buildConnector,
  Checkout,
  compareBooks,
  ordersOf,
  type Purchase,
  until,
  VendureShop,
} from '../support/vendure.js';

const service = useBuiltService(SANDBOX);
let folder: NpmFolder;

beforeAll(async () => {
  folder = await buildConnector();
});
afterAll(() => folder.remove());

/** A merchant, its shop, and the network between the shop and the service. */
interface Business {
  client: Cashback;
  proxy: UnreliableProxy;
  shop: VendureShop;
  endpointId: string;
  close(): Promise<void>;
}

async function openBusiness(): Promise<Business> {
  const { user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja' });
  const login = { email: user.email, password: user.password };
  const client = new Cashback({ baseUrl: service.url, ...login });
  const port = await freePort();
  const endpoint = await client.webhookEndpoints.create({ url: `http://127.0.0.1:${port}/cashback/webhooks` });
  const proxy = await UnreliableProxy.start(service.url);
  const env = { BASE_URL: proxy.url, EMAIL: user.email, PASSWORD: user.password, WEBHOOK_SECRET: endpoint.secret };
  const shop = await VendureShop.open(folder, port, env);
  const close = async (): Promise<void> => {
    await shop.close();
    await proxy.stop();
  };
  return { client, proxy, shop, endpointId: endpoint.id, close };
}

let customers = 0;
/** A customer with cashback of 50.00. */
async function aCustomer({ client }: Business): Promise<string> {
  const cpf = `1${String(++customers).padStart(10, '0')}`;
  await client.grants.create({ external_id: `GRANT-${cpf}`, document: cpf, amount: '50.00' });
  return cpf;
}

interface Row {
  buys: Purchase;
  /** How much cashback pays, and the other payments in their order. */
  pays: [method: string, metadata?: object][];
  refunds?: Parameters<Checkout['refund']>[0][];
  /** total = money + redeemed, earned; refunded = paid back + returned, taken back */
  is: string;
}

const ROWS: Record<string, Row> = {
  'a coupon, shipping and cashback': {
    buys: { goods: { cup: 3, bag: 1 }, coupon: true },
    pays: [['cashback'], ['pix']],
    is: '154.88 = 104.88 + 50.00, earns 4.24',
  },
  'prices without tax': {
    buys: { channel: 'net', goods: { cup: 3, bag: 1 } },
    pays: [['cashback', { amount: 1001 }], ['pix']],
    is: '169.89 = 159.88 + 10.01, earns 6.99',
  },
  'no cashback': { buys: { goods: { box: 1 } }, pays: [['pix']], is: '139.97 = 139.97 + 0.00, earns 6.00' },
  'several payments': {
    buys: { goods: { box: 2, pin: 1 } },
    pays: [['pix', { amount: 5000 }], ['cashback', { amount: 3333 }], ['pix']],
    is: '260.05 = 226.72 + 33.33, earns 10.34',
  },
  'refunds of three units whose price does not divide': {
    buys: { channel: 'net', goods: { cup: 3 }, shipping: 'free' },
    pays: [['cashback', { amount: 777 }], ['pix']],
    refunds: [
      { goods: { cup: 1 }, method: 'pix' },
      { goods: { cup: 1 }, method: 'cashback' },
      { goods: { cup: 1 }, method: 'pix' },
    ],
    is: '100.01 = 92.24 + 7.77, earns 4.61; 100.01 = 92.24 + 7.77, takes back 4.61',
  },
  'refunds of goods with a coupon, of shipping, and of an amount': {
    buys: { goods: { cup: 3, bag: 2, pin: 3 }, coupon: true },
    pays: [['cashback', { amount: 1999 }], ['pix']],
    refunds: [
      { goods: { cup: 1, pin: 1 }, method: 'pix' },
      { shipping: 1990, method: 'pix' },
      { amount: 1, method: 'cashback' },
      { goods: { bag: 1 }, shipping: 0, method: 'cashback' },
    ],
    is: '199.90 = 179.91 + 19.99, earns 8.00; 94.91 = 85.42 + 9.49, takes back 3.35',
  },
};

/** What happened, in one line. */
async function bookkeeping({ client }: Business, checkout: Checkout): Promise<string> {
  const { shop, service, orders } = await compareBooks(client, checkout);
  expect(service).toEqual(shop);
  const sum = (of: (order: (typeof orders)[number]) => string): string =>
    fromMinor(orders.reduce((total, order) => total + Math.round(Number(of(order)) * 100), 0));
  const [total, money, redeemed] = [shop.total, shop.money, shop.redeemed].map(fromMinor);
  const [refunded, paidBack, returned] = [shop.refunded, shop.paidBack, shop.returned].map(fromMinor);
  const earned = sum(({ cashback }) => cashback.to_receive.amount);
  const takenBack = sum(({ cashback }) => cashback.to_receive.taken_back);
  const sold = `${total} = ${money} + ${redeemed}, earns ${earned}`;
  return shop.refunded === 0 ? sold : `${sold}; ${refunded} = ${paidBack} + ${returned}, takes back ${takenBack}`;
}

describe('a checkout in Vendure and the service agree to the centavo', () => {
  let business: Business;
  beforeAll(async () => {
    business = await openBusiness();
  });
  afterAll(() => business.close());

  const begin = async (purchase: Purchase): Promise<Checkout> =>
    Checkout.begin(business.shop, { cpf: await aCustomer(business), isVerified: true, ...purchase });
  const held = async (cpf: string): Promise<string> => (await business.client.wallets.search({ document: cpf })).held;

  it.each(Object.entries(ROWS))('%s', async (_, { buys, pays, refunds = [], is }) => {
    const checkout = await begin(buys);
    for (const [method, metadata] of pays) expect(await checkout.pay(method, metadata)).toBe('Order');
    for (const refund of refunds) expect(await checkout.refund(refund)).toBe('Refund');
    expect(await bookkeeping(business, checkout)).toBe(is);
  });

  it.each([
    ['a guest without a CPF', { cpf: '' }, { toReceive: 600, toRedeem: null, redeemed: 0 }, 0],
    [
      'a guest whose CPF nobody has verified',
      { isVerified: false },
      { toReceive: 600, toRedeem: null, redeemed: 0 },
      1,
    ],
    ['a cart in dollars', { channel: 'usd' as const }, null, 0],
  ])('%s cannot redeem', async (_, purchase, shown, orders) => {
    const checkout = await begin({ goods: { box: 1 }, ...purchase });
    expect(await checkout.shown()).toEqual(shown);
    expect(await checkout.pay('cashback')).toBe('PaymentDeclinedError');
    expect(await checkout.pay('pix')).toBe('Order');
    const found = await until('the order is sold', async () => {
      const list = await ordersOf(business.client, checkout.code);
      return list.length === orders && list.every(({ status }) => status === 'completed') ? list : undefined;
    });
    expect(found).toHaveLength(orders);
  });

  it('a customer who is logged in redeems with the CPF that the shop has stored', async () => {
    const cpf = await aCustomer(business);
    const input = { emailAddress: 'ana@example.com', firstName: 'Ana', lastName: 'Lima', customFields: { cpf } };
    await business.shop.admin(
      'mutation ($input: CreateCustomerInput!) { createCustomer(input: $input, password: "ana-password") { __typename } }',
      { input },
    );
    const session = business.shop.session();
    await session.send('mutation { login(username: "ana@example.com", password: "ana-password") { __typename } }');
    const checkout = await Checkout.begin(business.shop, { goods: { box: 1 } }, session);
    expect(await checkout.shown()).toEqual({ toReceive: 600, toRedeem: 5000, redeemed: 0 });
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await checkout.shown()).toEqual({ toReceive: 350, toRedeem: 5000, redeemed: 5000 });
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await bookkeeping(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a double click makes one cashback payment', async () => {
    const checkout = await begin({ goods: { box: 1 } });
    const results = await Promise.all(Array.from({ length: 3 }, () => checkout.pay('cashback')));
    expect(results.sort()).toEqual(['Order', 'PaymentDeclinedError', 'PaymentDeclinedError']);
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await bookkeeping(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a customer who goes back to the cart releases the cashback, and holds for the new cart', async () => {
    const cpf = await aCustomer(business);
    const checkout = await begin({ goods: { bag: 1 }, cpf });
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await held(cpf)).toBe('24.99');
    await checkout.goTo('AddingItems');
    expect(await held(cpf)).toBe('0.00');
    await checkout.add({ cup: 1 });
    await checkout.goTo('ArrangingPayment');
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await checkout.payments()).toEqual(['cashback Cancelled 2499', 'cashback Settled 4166', 'pix Settled 6156']);
    expect(await bookkeeping(business, checkout)).toBe('103.22 = 61.56 + 41.66, earns 2.08');
  });

  it('a cancelled order is cancelled at the service', async () => {
    const cpf = await aCustomer(business);
    const checkout = await begin({ goods: { bag: 1 }, cpf });
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await checkout.staff('cancelOrder', 'CancelOrderInput', { orderId: checkout.id })).toBe('Order');
    await until('the order is cancelled', async () => {
      const [order] = await ordersOf(business.client, checkout.code);
      return order?.status === 'cancelled' || undefined;
    });
    expect(await held(cpf)).toBe('0.00');
    expect(await checkout.payments()).toEqual(['cashback Cancelled 2499']);
  });

  it('an order is completed when the payment that was authorized is settled', async () => {
    const checkout = await begin({ goods: { box: 1 } });
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await checkout.pay('card', { later: true })).toBe('Order');
    expect(await checkout.payments()).toEqual(['cashback Authorized 5000', 'card Authorized 8997']);
    const id = await checkout.paymentId('card');
    await business.shop.admin(`mutation { settlePayment(id: "${id}") { __typename } }`);
    expect(await bookkeeping(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a modification of a paid order is an order of its own, or a refund', async () => {
    const checkout = await begin({ goods: { box: 1, bag: 2 } });
    expect(await checkout.pay('cashback', { amount: 3001 })).toBe('Order');
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await bookkeeping(business, checkout)).toBe('239.95 = 209.94 + 30.01, earns 9.50');
    await checkout.modify({ cup: 1 }, 'pix');
    await checkout.staffGoesTo('ArrangingAdditionalPayment');
    const paid = { orderId: checkout.id, method: 'card', transactionId: 'card-1', metadata: {} };
    expect(await checkout.staff('addManualPaymentToOrder', 'ManualPaymentInput', paid)).toBe('Order');
    await checkout.staffGoesTo('PaymentSettled');
    expect(await bookkeeping(business, checkout)).toBe('273.28 = 243.27 + 30.01, earns 11.16');
    await checkout.modify({ bag: 1 }, 'pix');
    await checkout.staffGoesTo('PaymentSettled');
    expect(await bookkeeping(business, checkout)).toBe(
      '273.28 = 243.27 + 30.01, earns 11.16; 49.99 = 47.91 + 2.08, takes back 2.38',
    );
  });
});

describe('what the network and a crash do to a checkout', () => {
  let business: Business;
  beforeAll(async () => {
    business = await openBusiness();
  });
  afterAll(() => business.close());

  const begin = async (purchase: Purchase): Promise<Checkout> =>
    Checkout.begin(business.shop, { cpf: await aCustomer(business), isVerified: true, ...purchase });

  it('an order whose shop is killed between charge and completion is completed when the shop is back', async () => {
    const { proxy, shop } = business;
    const checkout = await begin({ goods: { box: 1 } });
    expect(await checkout.pay('cashback')).toBe('Order');
    proxy.fault = () => 'refuse';
    expect(await checkout.pay('pix')).toBe('Order');
    await shop.kill();
    proxy.fault = () => undefined;
    await shop.start();
    expect(await bookkeeping(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a refund whose shop is killed before the service knows it is made when the shop is back', async () => {
    const { proxy, shop } = business;
    const checkout = await begin({ goods: { box: 2 } });
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await bookkeeping(business, checkout)).toBe('260.04 = 210.04 + 50.00, earns 9.50');
    proxy.fault = ({ path }) => (path.endsWith('/refunds') ? 'refuse' : undefined);
    expect(await checkout.refund({ goods: { box: 1 }, method: 'pix' })).toBe('Refund');
    await shop.kill();
    proxy.fault = () => undefined;
    await shop.start();
    expect(await bookkeeping(business, checkout)).toBe(
      '260.04 = 210.04 + 50.00, earns 9.50; 120.07 = 96.99 + 23.08, takes back 4.75',
    );
  });

  it('a cart shows no cashback, and is paid without, while the service is unreachable', async () => {
    const { proxy } = business;
    proxy.fault = () => 'refuse';
    const checkout = await begin({ goods: { box: 1 } });
    expect(await checkout.shown()).toBeNull();
    expect(await checkout.pay('cashback')).toBe('PaymentDeclinedError');
    expect(await checkout.pay('pix')).toBe('Order');
    proxy.fault = () => undefined;
  });

  it('events of webhooks are applied once, also those that came while the shop was down', async () => {
    const { client, shop, endpointId } = business;
    await shop.kill();
    const before = shop.events.length;
    await aCustomer(business);
    await shop.start();
    await client.webhookEndpoints.enable(endpointId);
    const type = 'cashback.granted';
    await until(
      'the event is applied',
      () => shop.events.slice(before).some((event) => event.endsWith(type)) || undefined,
    );
    const applied = shop.events.length;
    await client.webhookEndpoints.seek(endpointId, { after: 0 });
    await client.webhookEndpoints.enable(endpointId);
    const isDone = async () => (await client.webhookEndpoints.get(endpointId)).behind === 0 || undefined;
    await until('all were sent again', isDone);
    expect(shop.events).toHaveLength(applied);
  });

  it('a cart whose hold expires loses its cashback payment', async () => {
    const checkout = await begin({ goods: { box: 1 }, channel: 'net' });
    expect(await checkout.pay('cashback')).toBe('Order');
    const { expires_at } = await business.client.orders.byExternalId(checkout.code);
    await business.client.sandbox.move({ now: expires_at! });
    await until(
      'the payment is cancelled',
      async () => (await checkout.payments()).includes('cashback Cancelled 5000') || undefined,
    );
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await bookkeeping(business, checkout)).toBe('139.97 = 139.97 + 0.00, earns 6.00');
  });
});

describe('two shops at once, one of which is killed in the middle', () => {
  const businesses: Business[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 2; i++) businesses.push(await openBusiness());
  });
  afterAll(() => Promise.all(businesses.map((business) => business.close())));

  /** Repeats what a shop that was killed has not answered. */
  const untilAnswered = <T>(step: () => Promise<T>): Promise<T> =>
    until('the shop answers', () => step().catch(() => undefined));

  async function buy(business: Business): Promise<Checkout> {
    const purchase = { goods: { cup: 3, bag: 1 }, coupon: true, cpf: await aCustomer(business), isVerified: true };
    const checkout = await untilAnswered(() => Checkout.begin(business.shop, purchase));
    for (const method of ['cashback', 'pix']) await untilAnswered(() => checkout.pay(method));
    return checkout;
  }

  it('all checkouts have one payment of each method, and their books are equal', async () => {
    let bought = 0;
    const buyMany = async (business: Business): Promise<Checkout[]> => {
      const checkouts: Checkout[] = [];
      for (let i = 0; i < 8; i++, bought++) checkouts.push(await buy(business));
      return checkouts;
    };
    const lanes = [...businesses, ...businesses].map(async (business) => ({
      business,
      checkouts: await buyMany(business),
    }));
    const [{ shop }] = businesses as [Business];
    for (const count of [5, 15]) {
      await until('some have bought', () => bought >= count || undefined);
      await shop.kill();
      await shop.start();
    }
    for (const { business, checkouts } of await Promise.all(lanes))
      for (const checkout of checkouts) {
        expect(await bookkeeping(business, checkout)).toBe('154.88 = 104.88 + 50.00, earns 4.24');
        expect(await checkout.payments()).toEqual(['cashback Settled 5000', 'pix Settled 10488']);
      }
  });
});

it('reconcile finds nothing', async () => {
  const { code, stdout } = await runNode('dist/src/admin.js', ['reconcile'], testEnvironment(service.databaseUrl));
  expect(code === 0 ? 'no findings' : stdout).toBe('no findings');
});
