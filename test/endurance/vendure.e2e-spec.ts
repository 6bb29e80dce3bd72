import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cashback, createSandboxMerchant, type Order } from '../../clients/typescript/src/index.js';
import { fromMinor, toMinor } from '../../clients/typescript/src/money.js';
import { runNode } from '../support/build.js';
import { freePort } from '../support/built-service.js';
import type { NpmFolder } from '../support/npm-folder.js';
import { SANDBOX } from '../support/sandbox.js';
import { testEnvironment } from '../support/service.js';
import { UnreliableProxy } from '../support/unreliable-proxy.js';
import { useBuiltService } from '../support/use-service.js';
import { buildConnector, until, VendureShop } from '../support/vendure.js';
import { Checkout, compareBooks, ordersOf, type Purchase } from '../support/vendure-checkout.js';

const service = useBuiltService(SANDBOX);
let folder: NpmFolder;

type SandboxPolicy = NonNullable<Parameters<typeof createSandboxMerchant>[0]['policy']>;

beforeAll(async () => {
  folder = await buildConnector();
});
afterAll(() => folder.remove());

/** A merchant with a shop, and the network between the shop and the service. */
interface Business {
  client: Cashback;
  proxy: UnreliableProxy;
  shop: VendureShop;
  endpointId: string;
  close(): Promise<void>;
}

async function openBusiness(policy: SandboxPolicy = {}): Promise<Business> {
  const { user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja', policy });
  const { email, password } = user;
  const client = new Cashback({ baseUrl: service.url, email, password });
  const port = await freePort();
  const endpoint = await client.webhookEndpoints.create({ url: `http://127.0.0.1:${port}/cashback/webhooks` });
  const proxy = await UnreliableProxy.start(service.url);
  const options = { BASE_URL: proxy.url, EMAIL: email, PASSWORD: password, WEBHOOK_SECRET: endpoint.secret };
  const shop = await VendureShop.open(folder, port, options);
  const close = async (): Promise<void> => {
    await shop.close();
    await proxy.stop();
  };
  return { client, proxy, shop, endpointId: endpoint.id, close };
}

let customers = 0;
/** The CPF of a customer with cashback of 50.00. */
async function aCustomer({ client }: Business): Promise<string> {
  const document = `1${String(++customers).padStart(10, '0')}`;
  await client.grants.create({ external_id: `GRANT-${document}`, document, amount: '50.00' });
  return document;
}

/** A checkout of a customer whose CPF is verified. */
const begin = async (business: Business, purchase: Purchase): Promise<Checkout> =>
  Checkout.begin(business.shop, { cpf: await aCustomer(business), isVerified: true, ...purchase });

/** A paid checkout. */
async function buy(business: Business, purchase: Purchase, pays: [string, object?][]): Promise<Checkout> {
  const checkout = await begin(business, purchase);
  for (const [method, metadata] of pays) expect(await checkout.pay(method, metadata)).toBe('Order');
  return checkout;
}

/** Expects the shop and the service to agree. @returns what they agree about */
async function booksOf({ client }: Business, checkout: Checkout): Promise<string> {
  const { shop, service, orders } = await compareBooks(client, checkout);
  expect(service).toEqual(shop);
  const receive = (amount: 'amount' | 'taken_back'): string =>
    fromMinor(orders.reduce((sum, { cashback }) => sum + toMinor(cashback.to_receive[amount]), 0));
  const [total = '', money = '', redeemed = ''] = [shop.total, shop.money, shop.redeemed].map(fromMinor);
  const [refunded = '', paidBack = '', returned = ''] = [shop.refunded, shop.paidBack, shop.returned].map(fromMinor);
  const sold = `${total} = ${money} + ${redeemed}, earns ${receive('amount')}`;
  const back = `; ${refunded} = ${paidBack} + ${returned}, takes back ${receive('taken_back')}`;
  return shop.refunded === 0 ? sold : sold + back;
}

interface Row {
  buys: Purchase;
  pays: [method: string, metadata?: object][];
  refunds?: Parameters<Checkout['refund']>[0][];
  /** The total is money and redeemed cashback; what was refunded is paid back and returned. */
  books: string;
}

const ROWS: Record<string, Row> = {
  'without cashback': { buys: { goods: { box: 1 } }, pays: [['pix']], books: '139.97 = 139.97 + 0.00, earns 6.00' },
  'with a coupon, shipping and as much cashback as possible': {
    buys: { goods: { cup: 3, bag: 1 }, coupon: true },
    pays: [['cashback'], ['pix']],
    books: '154.88 = 104.88 + 50.00, earns 4.24',
  },
  'with prices without tax': {
    buys: { channel: 'net', goods: { cup: 3, bag: 1 } },
    pays: [['cashback', { amount: 1001 }], ['pix']],
    books: '169.89 = 159.88 + 10.01, earns 6.99',
  },
  'with several payments, the cashback between them': {
    buys: { goods: { box: 2, pin: 1 } },
    pays: [['pix', { amount: 5000 }], ['cashback', { amount: 3333 }], ['pix']],
    books: '260.05 = 226.72 + 33.33, earns 10.34',
  },
  'with cashback as the last payment': {
    buys: { goods: { bag: 2 }, shipping: 'free' },
    pays: [['pix', { amount: 6001 }], ['cashback']],
    books: '99.98 = 60.01 + 39.97, earns 3.00',
  },
  'with three units, whose price does not divide, that come back one by one': {
    buys: { channel: 'net', goods: { cup: 3 }, shipping: 'free' },
    pays: [['cashback', { amount: 777 }], ['pix']],
    refunds: [
      { goods: { cup: 1 }, method: 'pix' },
      { goods: { cup: 1 }, method: 'cashback' },
      { goods: { cup: 1 }, method: 'pix' },
    ],
    books: '100.01 = 92.24 + 7.77, earns 4.61; 100.01 = 92.24 + 7.77, takes back 4.61',
  },
  'with a coupon, and refunds of goods, shipping and a centavo': {
    buys: { goods: { cup: 3, bag: 2, pin: 3 }, coupon: true },
    pays: [['cashback', { amount: 1999 }], ['pix']],
    refunds: [
      { goods: { cup: 1, pin: 1 }, method: 'pix' },
      { shipping: 1990, method: 'pix' },
      { amount: 1, method: 'cashback' },
      { goods: { bag: 1 }, method: 'cashback' },
    ],
    books: '199.90 = 179.91 + 19.99, earns 8.00; 94.91 = 85.42 + 9.49, takes back 3.35',
  },
  'with several payments that are paid back in full': {
    buys: { goods: { box: 1 } },
    pays: [['card', { amount: 3333 }], ['cashback', { amount: 1111 }], ['pix']],
    refunds: [
      { goods: { box: 1 }, method: 'pix' },
      { shipping: 1990, method: 'card' },
    ],
    books: '139.97 = 128.86 + 11.11, earns 5.44; 139.97 = 128.86 + 11.11, takes back 5.44',
  },
};

describe('the connector for Vendure, to the centavo', () => {
  let business: Business;
  beforeAll(async () => {
    business = await openBusiness();
  });
  afterAll(() => business.close());

  const held = async (document: string): Promise<string> => (await business.client.wallets.search({ document })).held;

  it.each(Object.entries(ROWS))(
    'the books of an order %s are equal in Vendure and at the service',
    async (_, { buys, pays, refunds = [], books }) => {
      const checkout = await buy(business, buys, pays);
      for (const refund of refunds) expect(await checkout.refund(refund)).toBe('Refund');
      expect(await booksOf(business, checkout)).toBe(books);
    },
  );

  const UNKNOWN = { toReceive: 600, toRedeem: null, redeemed: 0 };
  it.each([
    ['a guest without a CPF', { cpf: '' }, UNKNOWN, 0],
    ['a guest whose CPF nobody has verified', { isVerified: false }, UNKNOWN, 1],
    ['a cart in dollars', { channel: 'usd' as const }, null, 0],
  ])('%s redeems nothing', async (_, purchase, shown, sold) => {
    const checkout = await begin(business, { goods: { box: 1 }, ...purchase });
    expect(await checkout.shown()).toEqual(shown);
    expect(await checkout.pay('cashback')).toBe('PaymentDeclinedError');
    expect(await checkout.pay('pix')).toBe('Order');
    // What is not sold is not sent later either: this order comes after it.
    await booksOf(business, await buy(business, { goods: { pin: 1 } }, [['pix']]));
    const orders = await ordersOf(business.client, checkout.code);
    expect(orders.map(({ status }) => status)).toEqual(Array(sold).fill('completed'));
  });

  it('a customer who is logged in redeems with the CPF of the account, and only if the shop has verified it', async () => {
    const cpf = await aCustomer(business);
    const logIn = async (name: string, members: object) => {
      const input = { emailAddress: `${name}@example.com`, firstName: name, lastName: 'Lima', ...members };
      const create = 'createCustomer(input: $input, password: "a-password") { __typename }';
      await business.shop.admin(`mutation ($input: CreateCustomerInput!) { ${create} }`, { input });
      const session = business.shop.session();
      await session.send(`mutation { login(username: "${name}@example.com", password: "a-password") { __typename } }`);
      return session;
    };
    const thief = await logIn('mallory', {});
    const update = 'mutation ($input: UpdateCustomerInput!) { updateCustomer(input: $input) { __typename } }';
    await thief.send(update, { input: { customFields: { cpf } } });
    const theft = await Checkout.begin(business.shop, { goods: { box: 1 }, cpf }, thief);
    expect(await theft.shown()).toMatchObject({ toReceive: 600, toRedeem: null });
    expect(await theft.pay('cashback')).toBe('PaymentDeclinedError');

    const ana = await logIn('ana', { phoneNumber: 'verified', customFields: { cpf } });
    const checkout = await Checkout.begin(business.shop, { goods: { box: 1 } }, ana);
    expect(await checkout.shown()).toEqual({ toReceive: 600, toRedeem: 5000, redeemed: 0 });
    expect(await checkout.pay('cashback')).toBe('Order');
    expect(await checkout.shown()).toMatchObject({ toReceive: 350, redeemed: 5000 });
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await booksOf(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a CPF with a typo is refused, and so is an amount that is no number of centavos', async () => {
    const typo = Checkout.begin(business.shop, { goods: { box: 1 }, cpf: '529.982.247-2' });
    await expect(typo).rejects.toThrow('This is no CPF or CNPJ.');
    const checkout = await begin(business, { goods: { box: 1 } });
    for (const amount of [19.99, '500', 0, -5, true])
      expect(await checkout.pay('cashback', { amount })).toBe('PaymentDeclinedError');
    expect(await checkout.pay('cashback', { amount: 500 })).toBe('Order');
  });

  it('of several clicks at once, one makes a cashback payment', async () => {
    const checkout = await begin(business, { goods: { box: 1 } });
    const results = await Promise.all(Array.from({ length: 4 }, () => checkout.pay('cashback')));
    expect(results.sort()).toEqual(['Order', ...Array<string>(3).fill('PaymentDeclinedError')]);
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await booksOf(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a customer who goes back to the cart releases the cashback, and holds some for the new cart', async () => {
    const cpf = await aCustomer(business);
    const checkout = await buy(business, { goods: { bag: 1 }, cpf }, [['cashback']]);
    expect(await held(cpf)).toBe('24.99');
    await checkout.goTo('AddingItems');
    expect(await held(cpf)).toBe('0.00');
    await checkout.add({ cup: 1 });
    await checkout.goTo('ArrangingPayment');
    for (const method of ['cashback', 'pix']) expect(await checkout.pay(method)).toBe('Order');
    expect(await checkout.payments()).toEqual(['cashback Cancelled 2499', 'cashback Settled 4166', 'pix Settled 6156']);
    expect(await booksOf(business, checkout)).toBe('103.22 = 61.56 + 41.66, earns 2.08');
  });

  it('an order that is cancelled before it is paid is cancelled at the service', async () => {
    const cpf = await aCustomer(business);
    const checkout = await buy(business, { goods: { bag: 1 }, cpf }, [['cashback']]);
    expect(await checkout.staff('cancelOrder', 'CancelOrderInput', { orderId: checkout.id })).toBe('Order');
    await until('the order is cancelled', async () => {
      const [order] = await ordersOf(business.client, checkout.code);
      return order?.status === 'cancelled' || undefined;
    });
    expect(await held(cpf)).toBe('0.00');
    expect(await checkout.payments()).toEqual(['cashback Cancelled 2499']);
  });

  it('an order that is cancelled after it was paid is refunded over all its payments', async () => {
    const checkout = await buy(business, { goods: { box: 1 }, coupon: true }, [
      ['cashback', { amount: 1999 }],
      ['pix'],
    ]);
    expect(await booksOf(business, checkout)).toBe('127.96 = 107.97 + 19.99, earns 4.40');
    const cancellation = { orderId: checkout.id, cancelShipping: true };
    expect(await checkout.staff('cancelOrder', 'CancelOrderInput', cancellation)).toBe('Order');
    expect(await checkout.refund({ amount: 12797, method: 'pix' })).toBe('RefundAmountError');
    expect(await checkout.refund({ amount: 12796, method: 'pix' })).toBe('Refund');
    const books = '127.96 = 107.97 + 19.99, earns 4.40; 127.96 = 107.97 + 19.99, takes back 4.40';
    expect(await booksOf(business, checkout)).toBe(books);
  });

  it('an order that is modified before it is paid is one order', async () => {
    const checkout = await buy(business, { goods: { box: 1 } }, [
      ['cashback', { amount: 1999 }],
      ['card', { later: true }],
    ]);
    await checkout.modify({ cup: 1 }, {});
    await checkout.staffGoesTo('ArrangingAdditionalPayment');
    const paid = { orderId: checkout.id, method: 'pix', transactionId: 'pix-1', metadata: {} };
    expect(await checkout.staff('addManualPaymentToOrder', 'ManualPaymentInput', paid)).toBe('Order');
    await checkout.staffGoesTo('PaymentAuthorized');
    await checkout.settle('card');
    expect(await booksOf(business, checkout)).toBe('173.30 = 153.31 + 19.99, earns 6.67');
    expect(await ordersOf(business.client, checkout.code)).toHaveLength(1);
  });

  it('an order is completed when a payment that was authorized is settled', async () => {
    const checkout = await buy(business, { goods: { box: 1 } }, [['cashback'], ['card', { later: true }]]);
    expect(await checkout.payments()).toEqual(['cashback Authorized 5000', 'card Authorized 8997']);
    await checkout.settle('card');
    expect(await booksOf(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('what a modification adds is an order of its own, and what it takes away is a refund', async () => {
    const checkout = await buy(business, { goods: { box: 1, bag: 2 } }, [['cashback', { amount: 3001 }], ['pix']]);
    expect(await booksOf(business, checkout)).toBe('239.95 = 209.94 + 30.01, earns 9.50');
    await checkout.modify({ cup: 1 }, { pix: undefined });
    await checkout.staffGoesTo('ArrangingAdditionalPayment');
    const paid = { orderId: checkout.id, method: 'card', transactionId: 'card-1', metadata: {} };
    expect(await checkout.staff('addManualPaymentToOrder', 'ManualPaymentInput', paid)).toBe('Order');
    await checkout.staffGoesTo('PaymentSettled');
    const raised = '273.28 = 243.27 + 30.01, earns 11.16';
    expect(await booksOf(business, checkout)).toBe(raised);
    await checkout.modify({ bag: 1 }, { pix: undefined });
    await checkout.staffGoesTo('PaymentSettled');
    expect(await booksOf(business, checkout)).toBe(`${raised}; 49.99 = 47.91 + 2.08, takes back 2.38`);
    // Two refunds of one modification, the second of which is divided before the service knows the first one.
    await checkout.modify({ box: 0 }, { pix: 6000, cashback: 6007 });
    await checkout.staffGoesTo('PaymentSettled');
    expect(await booksOf(business, checkout)).toBe(`${raised}; 170.06 = 152.96 + 17.10, takes back 7.57`);
  });

  it('a refund that the first provider refuses changes nothing', async () => {
    const checkout = await buy(business, { goods: { box: 1 } }, [['cashback'], ['pix']]);
    const refund = { goods: { box: 1 }, method: 'pix' };
    await expect(checkout.refund({ ...refund, refused: 'pix' })).rejects.toThrow('nothing was refunded');
    expect(await booksOf(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
    expect(await checkout.refund(refund)).toBe('Refund');
    const books = '139.97 = 89.97 + 50.00, earns 3.50; 120.07 = 77.18 + 42.89, takes back 3.50';
    expect(await booksOf(business, checkout)).toBe(books);
  });

  it('what the second provider refuses is paid back by the next refund', async () => {
    const pays: [string, object?][] = [['card', { amount: 5000 }], ['cashback', { amount: 1111 }], ['pix']];
    const checkout = await buy(business, { goods: { box: 1 } }, pays);
    const refund = { goods: { box: 1 }, method: 'card' };
    expect(await checkout.refund({ ...refund, refused: 'pix' })).toBe('Refund');
    await until('the service knows it', async () => {
      const [order] = await ordersOf(business.client, checkout.code);
      return order?.refunded.amount === '120.07' || undefined;
    });
    const made = (await checkout.order()).payments.flatMap(({ method, refunds }) =>
      refunds.map(({ state, total }) => `${method} ${state} ${total}`),
    );
    expect(made).toEqual(['card Settled 5000', 'cashback Settled 953', 'pix Failed 6054']);
    expect(await checkout.refund({ ...refund, method: 'pix' })).toBe('Refund');
    const books = '139.97 = 128.86 + 11.11, earns 5.44; 120.07 = 110.54 + 9.53, takes back 5.44';
    expect(await booksOf(business, checkout)).toBe(books);
  });

  it('an order that was refunded at the service is not refunded again in the shop', async () => {
    const checkout = await buy(business, { goods: { box: 1 } }, [['cashback'], ['pix']]);
    await booksOf(business, checkout);
    const [order] = await ordersOf(business.client, checkout.code);
    await business.client.refunds.create(order!.id, {
      external_id: 'staff-1',
      amount: '10.00',
      eligible_amount: '10.00',
    });
    const refund = checkout.refund({ goods: { box: 1 }, method: 'pix' });
    await expect(refund).rejects.toThrow(`The service has refunded 10.00 of ${checkout.code}`);
  });

  it('staff cannot pay a modification with cashback that nobody has held', async () => {
    const checkout = await buy(business, { goods: { box: 1 } }, [['pix']]);
    await checkout.modify({ cup: 1 }, {});
    await checkout.staffGoesTo('ArrangingAdditionalPayment');
    const paid = { orderId: checkout.id, method: 'cashback', transactionId: '1', metadata: {} };
    await expect(checkout.staff('addManualPaymentToOrder', 'ManualPaymentInput', paid)).rejects.toThrow();
    expect(await checkout.payments()).toEqual(['pix Settled 13997']);
  });

  it('refunds at the same time are made one after the other, or refused', async () => {
    const checkout = await buy(business, { goods: { cup: 3 } }, [['cashback', { amount: 1000 }], ['pix']]);
    const refund = (): Promise<string> =>
      checkout.refund({ goods: { cup: 1 }, method: 'pix' }).catch((error: unknown) => String(error));
    const results = await Promise.all([refund(), refund(), refund()]);
    expect(results).toContain('Refund');
    expect(await booksOf(business, checkout)).toMatch(/^119.89 = 109.89 \+ 10.00, earns 4.49; /);
  });
});

describe('the connector for Vendure, with crashes and a bad network', () => {
  let business: Business;
  beforeAll(async () => {
    business = await openBusiness({ redeem_share: '1.00' });
  });
  afterAll(() => business.close());

  it('an order whose shop is killed between charge and completion is completed when the shop is back', async () => {
    const { proxy, shop } = business;
    const checkout = await buy(business, { goods: { box: 1 } }, [['cashback']]);
    proxy.fault = () => 'refuse';
    expect(await checkout.pay('pix')).toBe('Order');
    await shop.kill();
    proxy.fault = () => undefined;
    await shop.start();
    expect(await booksOf(business, checkout)).toBe('139.97 = 89.97 + 50.00, earns 3.50');
  });

  it('a refund whose shop is killed before the service knows it is made when the shop is back', async () => {
    const { proxy, shop } = business;
    const checkout = await buy(business, { goods: { box: 2 } }, [['cashback'], ['pix']]);
    expect(await booksOf(business, checkout)).toBe('260.04 = 210.04 + 50.00, earns 9.50');
    proxy.fault = ({ path }) => (path.endsWith('/refunds') ? 'lose' : undefined);
    expect(await checkout.refund({ goods: { box: 1 }, method: 'pix' })).toBe('Refund');
    await shop.kill();
    proxy.fault = () => undefined;
    await shop.start();
    const books = '260.04 = 210.04 + 50.00, earns 9.50; 120.07 = 96.99 + 23.08, takes back 4.75';
    expect(await booksOf(business, checkout)).toBe(books);
  });

  it('while the service is unreachable, orders are paid without cashback, and earn when it is back', async () => {
    const { proxy } = business;
    proxy.fault = () => 'refuse';
    const checkout = await begin(business, { goods: { box: 1 } });
    expect(await checkout.shown()).toBeNull();
    expect(await checkout.pay('cashback')).toBe('PaymentDeclinedError');
    expect(await checkout.pay('pix')).toBe('Order');
    proxy.fault = () => undefined;
    expect(await booksOf(business, checkout)).toBe('139.97 = 139.97 + 0.00, earns 6.00');
  });

  it('events are applied once, also those that were sent while the shop was down', async () => {
    const { client, shop, endpointId } = business;
    const areSent = async (): Promise<true | undefined> =>
      (await client.webhookEndpoints.get(endpointId)).behind === 0 || undefined;
    await shop.kill();
    const before = shop.events.length;
    await aCustomer(business);
    await shop.start();
    await client.webhookEndpoints.enable(endpointId);
    const isGrant = (event: string): boolean => event.endsWith('cashback.granted');
    await until('the grant is applied', () => shop.events.slice(before).some(isGrant) || undefined);
    await until('all are sent', areSent);
    const applied = shop.events.length;
    await client.webhookEndpoints.seek(endpointId, { after: 0 });
    await client.webhookEndpoints.enable(endpointId);
    await until('all are sent again', areSent);
    expect(shop.events).toHaveLength(applied);
  });

  it('a cart whose hold expires loses its cashback payment', async () => {
    const { client } = business;
    const checkout = await buy(business, { channel: 'net', goods: { box: 1 } }, [['cashback']]);
    const { expires_at } = await client.orders.byExternalId(checkout.code);
    await client.sandbox.move({ now: expires_at });
    await until('the payment is cancelled', async () =>
      (await checkout.payments()).includes('cashback Cancelled 5000') ? true : undefined,
    );
    expect(await checkout.pay('pix')).toBe('Order');
    expect(await booksOf(business, checkout)).toBe('139.97 = 139.97 + 0.00, earns 6.00');
  });

  it('an order can be paid with cashback alone', async () => {
    const checkout = await buy(business, { goods: { bag: 1 }, shipping: 'free' }, [['cashback']]);
    expect(await booksOf(business, checkout)).toBe('49.99 = 0.00 + 49.99, earns 0.00');
  });

  /** Pays for a box when its hold of 50.00 has ended, and a till has redeemed some of it. */
  async function paidLate(redeem: string, totalAtTheTill: string): Promise<Order> {
    const { client } = business;
    const cpf = await aCustomer(business);
    const checkout = await buy(business, { goods: { box: 1 }, cpf }, [['cashback'], ['card', { later: true }]]);
    const { expires_at } = await client.orders.byExternalId(checkout.code);
    await client.sandbox.move({ now: expires_at });
    const complete = { redeem, payment_methods: [] };
    const sale = { external_id: `TILL-${cpf}`, document: cpf, total: totalAtTheTill };
    await client.orders.create({ ...sale, items: [{ id: 'sku-1', price: totalAtTheTill }], complete });
    await checkout.settle('card');
    return until('the order is completed', async () => {
      const [found] = await ordersOf(client, checkout.code);
      return found?.status === 'completed' ? found : undefined;
    });
  }

  it('cashback that is gone when the money arrives becomes a discount of the shop', async () => {
    const order = await paidLate('50.00', '100.00');
    expect(order).toMatchObject({ total: '89.97', amount_to_pay: '89.97' });
    expect(order.cashback).toMatchObject({ to_redeem: { redeemed: '0.00' }, to_receive: { amount: '4.49' } });
  });

  it('of cashback that is partly gone when the money arrives, the rest is redeemed', async () => {
    const order = await paidLate('30.00', '60.00');
    expect(order).toMatchObject({ total: '109.97', amount_to_pay: '89.97' });
    expect(order.cashback.to_redeem.redeemed).toBe('20.00');
  });
});

describe('the connector for Vendure, in two shops at once, one of which is killed in the middle', () => {
  const businesses: Business[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 2; i++) businesses.push(await openBusiness());
  });
  afterAll(() => Promise.all(businesses.map((business) => business.close())));

  /** Repeats what a shop that was killed has not answered. */
  const untilAnswered = <T>(step: () => Promise<T>): Promise<T> =>
    until('the shop answers', () => step().catch(() => undefined));

  async function buyOnce(business: Business): Promise<Checkout> {
    const purchase = { goods: { cup: 3, bag: 1 }, coupon: true, cpf: await aCustomer(business), isVerified: true };
    const checkout = await untilAnswered(() => Checkout.begin(business.shop, purchase));
    for (const method of ['cashback', 'pix']) await untilAnswered(() => checkout.pay(method));
    return checkout;
  }

  it('each order has one payment of each method, and all books agree', async () => {
    let bought = 0;
    const lanes = [...businesses, ...businesses].map(async (business) => {
      const checkouts: Checkout[] = [];
      for (let i = 0; i < 8; i++, bought++) checkouts.push(await buyOnce(business));
      return { business, checkouts };
    });
    for (const count of [5, 15]) {
      await until('some have bought', () => bought >= count || undefined);
      await businesses[0]!.shop.kill();
      await businesses[0]!.shop.start();
    }
    for (const { business, checkouts } of await Promise.all(lanes))
      for (const checkout of checkouts) {
        expect(await booksOf(business, checkout)).toBe('154.88 = 104.88 + 50.00, earns 4.24');
        // The repeat of a payment that was made, but not answered, is declined.
        const made = (await checkout.payments()).filter((payment) => payment !== 'cashback Declined 0');
        expect(made).toEqual(['cashback Settled 5000', 'pix Settled 10488']);
      }
  });
});

it('reconcile finds nothing after the orders of all shops', async () => {
  const { code, stdout } = await runNode('dist/src/admin.js', ['reconcile'], testEnvironment(service.databaseUrl));
  expect(code === 0 ? 'no findings' : stdout).toBe('no findings');
});
