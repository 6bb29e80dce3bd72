import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cashback, createSandboxMerchant } from '../../clients/typescript/src/index.js';
import { fromMinor } from '../../clients/typescript/src/money.js';
import { freePort } from '../support/built-service.js';
import type { NpmFolder } from '../support/npm-folder.js';
import { SANDBOX } from '../support/sandbox.js';
import { UnreliableProxy } from '../support/unreliable-proxy.js';
import { useBuiltService } from '../support/use-service.js';
import { buildConnector, Checkout, compareBooks, type Purchase, until, VendureShop } from '../support/vendure.js';

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
  return { client, proxy, shop, close };
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
    is: '',
  },
  'prices without tax': {
    buys: { channel: 'net', goods: { cup: 3, bag: 1 } },
    pays: [['cashback', { amount: 1001 }], ['pix']],
    is: '',
  },
  'no cashback': { buys: { goods: { box: 1 } }, pays: [['pix']], is: '' },
  'several payments': {
    buys: { goods: { box: 2, pin: 1 } },
    pays: [['pix', { amount: 5000 }], ['cashback', { amount: 3333 }], ['pix']],
    is: '',
  },
  'refunds of three units whose price does not divide': {
    buys: { channel: 'net', goods: { cup: 3 }, shipping: 'free' },
    pays: [['cashback', { amount: 777 }], ['pix']],
    refunds: [
      { goods: { cup: 1 }, method: 'pix' },
      { goods: { cup: 1 }, method: 'cashback' },
      { goods: { cup: 1 }, method: 'pix' },
    ],
    is: '',
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
    is: '',
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

  it.each(Object.entries(ROWS))('%s', async (_, { buys, pays, refunds = [], is }) => {
    const cpf = await aCustomer(business);
    const checkout = await Checkout.begin(business.shop, { ...buys, cpf, isVerified: true });
    console.log(await checkout.active());
    for (const [method, metadata] of pays) expect(await checkout.pay(method, metadata)).toBe('Order');
    for (const refund of refunds) {
      expect(await bookkeeping(business, checkout)).toBeTruthy();
      const r = await checkout.refund(refund);
      console.log(r);
    }
    console.log(await bookkeeping(business, checkout));
    console.log(business.shop.log.split('\n').filter((l) => /Cashback|error/.test(l)).slice(-5).join('\n'));
  });
});
