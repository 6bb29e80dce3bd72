import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cashback, CashbackError, type Order } from '../../clients/typescript/src/index.js';
import { toMinor } from '../../clients/typescript/src/money.js';
import { createDatabase, type TestDatabase } from './database.js';
import { NpmFolder } from './npm-folder.js';

const TSC = path.resolve('node_modules/typescript/bin/tsc');
const CLIENT = 'clients/typescript';
const CONNECTOR = 'connectors/vendure';

/** Copies the connector and its client, installs Vendure, and compiles all with strict options. */
export async function buildConnector(): Promise<NpmFolder> {
  const folder = new NpmFolder();
  const isSource = (file: string): boolean => !/\/(node_modules|dist|build)$/.test(file);
  for (const name of [CLIENT, CONNECTOR])
    cpSync(name, path.join(folder.path, name), { recursive: true, filter: isSource });
  await folder.run('npm', '--prefix', CONNECTOR, 'ci', '--ignore-scripts', '--no-audit', '--no-fund');
  await folder.run(process.execPath, TSC, '-p', CLIENT);
  await folder.run(process.execPath, TSC, '-p', `${CLIENT}/tsconfig.cjs.json`);
  folder.write(`${CLIENT}/dist/cjs/package.json`, '{ "type": "commonjs" }');
  await folder.run(process.execPath, TSC, '-p', `${CONNECTOR}/tsconfig.test.json`);
  return folder;
}

/** Waits for something that happens later. It can take long on a busy machine. */
export async function until<T>(what: string, check: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; await sleep(100)) {
    const value = await check();
    if (value !== undefined) return value;
  }
  throw new Error(`it did not happen: ${what}`);
}

/** Members of answers are checked by the expectations of the tests. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Data = any;

/** A Vendure server with a database of its own, whose default channel is in BRL with prices that include tax. */
export class VendureShop {
  #process: ChildProcess | undefined;
  #admin = new VendureSession(this, 'admin-api');
  #output = '';
  /** The IDs of product variants by SKU, and of shipping methods by code. */
  readonly ids: Record<string, string> = {};

  private constructor(
    private readonly folder: string,
    private readonly database: TestDatabase,
    readonly port: number,
    /** What the server is configured with. */
    readonly env: Record<string, string>,
  ) {}

  /** Starts a shop with channels, products and methods. @param env BASE_URL, EMAIL, PASSWORD and WEBHOOK_SECRET */
  static async open(folder: NpmFolder, port: number, env: Record<string, string>): Promise<VendureShop> {
    const shop = new VendureShop(path.join(folder.path, CONNECTOR), await createDatabase(), port, env);
    try {
      await shop.start();
      await shop.#populate();
      return shop;
    } catch (error) {
      await shop.close();
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The events that the shop has applied, as `<id> <type>`. */
  get events(): string[] {
    return [...this.#output.matchAll(/^event (.+)$/gm)].map(([, event = '']) => event);
  }

  async start(): Promise<void> {
    const from = this.#output.length;
    const env = { ...process.env, ...this.env, PORT: String(this.port), DATABASE_URL: this.database.url };
    const child = spawn(process.execPath, ['build/test/server.js'], { cwd: this.folder, env });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    await until('the shop is ready', () => {
      if (child.exitCode !== null) throw new Error(`the shop has exited:\n${this.#output}`);
      return this.#output.slice(from).includes('shop is ready') || undefined;
    });
  }

  async kill(): Promise<void> {
    if (this.#process?.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'close');
    this.#process.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    await this.kill();
    await this.database.drop();
  }

  /** The log, to explain a failure. */
  get log(): string {
    return this.#output;
  }

  /** Sends an administrator's query. */
  async admin(query: string, variables: object = {}): Promise<Data> {
    if (this.#admin.isNew)
      await this.#admin.send('mutation { login(username: "superadmin", password: "superadmin") { __typename } }');
    return this.#admin.send(query, variables);
  }

  /** Makes a mutation whose argument is an input. @returns what it created */
  async #create(name: string, input: object): Promise<Data> {
    const type = `${name.replace(/^./, (letter) => letter.toUpperCase())}Input!`;
    const argument = Array.isArray(input) ? `[${type.replace('sInput', 'Input')}]!` : type;
    return this.admin(`mutation ($input: ${argument}) { ${name}(input: $input) { ... on Node { id } } }`, { input });
  }

  /** Creates the channels `gross` and `net` in BRL, and `usd`, with products, methods, a coupon and a customer. */
  async #populate(): Promise<void> {
    const [zone] = (await this.admin('{ zones { items { id } } }')).items as Data[];
    const { id: gross } = await this.admin('{ activeChannel { id } }');
    const zones = { defaultTaxZoneId: zone.id, defaultShippingZoneId: zone.id };
    const inBrl = { ...zones, defaultCurrencyCode: 'BRL', availableCurrencyCodes: ['BRL'], pricesIncludeTax: true };
    await this.#create('updateChannel', { id: gross, token: 'gross', ...inBrl });
    const { id: productId } = await this.#create('createProduct', {
      translations: [{ languageCode: 'en', name: 'Café', slug: 'cafe', description: '' }],
    });
    const group = { code: 'size', translations: [{ languageCode: 'en', name: 'size' }] };
    const options = Object.keys(PRICES).map((code) => ({ code, translations: [{ languageCode: 'en', name: code }] }));
    const { id: optionGroupId } = await this.#create('createProductOptionGroup', { ...group, options });
    const add =
      'mutation ($a: ID!, $b: ID!) { addOptionGroupToProduct(productId: $a, optionGroupId: $b) { optionGroups { options { id code } } } }';
    const { optionGroups } = await this.admin(add, { a: productId, b: optionGroupId });
    const variants = Object.entries(PRICES).map(([sku, price]) => ({
      ...{ productId, sku, price, trackInventory: 'FALSE', translations: [{ languageCode: 'en', name: sku }] },
      optionIds: optionGroups[0].options.filter(({ code }: Data) => code === sku).map(({ id }: Data) => id),
    }));
    const created: Data[] = await this.#create('createProductVariants', variants);
    created.forEach(({ id }, index) => (this.ids[variants[index]!.sku] = id));
    const { id: promotionId } = await this.#create('createPromotion', COUPON);
    const shipping: Data[] = (await this.admin('{ shippingMethods { items { id code } } }')).items;
    for (const { id, code } of shipping) this.ids[code] = id;
    const payment: Data[] = (await this.admin('{ paymentMethods { items { id } } }')).items;
    const common = { ...inBrl, defaultLanguageCode: 'en' };
    for (const [code, differs] of Object.entries(CHANNELS)) {
      const { id: channelId } = await this.#create('createChannel', { code, token: code, ...common, ...differs });
      await this.#create('assignProductsToChannel', { productIds: [productId], channelId, priceFactor: 1 });
      await this.#create('assignPromotionsToChannel', { promotionIds: [promotionId], channelId });
      await this.#create('assignShippingMethodsToChannel', {
        shippingMethodIds: shipping.map(({ id }) => id),
        channelId,
      });
      await this.#create('assignPaymentMethodsToChannel', { paymentMethodIds: payment.map(({ id }) => id), channelId });
    }
  }

  /** A customer in a channel. */
  session(channel = 'gross'): VendureSession {
    return new VendureSession(this, 'shop-api', channel);
  }
}

/** How the other channels differ from `gross`. */
const CHANNELS = {
  net: { pricesIncludeTax: false },
  usd: { defaultCurrencyCode: 'USD', availableCurrencyCodes: ['USD'] },
};

/** Prices in centavos, without round sums. */
export const PRICES = { cup: 3333, bag: 4999, box: 12007, pin: 1 };

/** The coupon is 10 % of the goods. */
const COUPON = {
  ...{ enabled: true, couponCode: 'DEZ', conditions: [], translations: [{ languageCode: 'en', name: '10 %' }] },
  actions: [{ code: 'order_percentage_discount', arguments: [{ name: 'discount', value: '10' }] }],
};

/** Queries of one customer or administrator. */
export class VendureSession {
  #token: string | undefined;

  constructor(
    private readonly shop: VendureShop,
    private readonly api: string,
    private readonly channel?: string,
  ) {}

  get isNew(): boolean {
    return this.#token === undefined;
  }

  /** @returns the first member of the data */
  async send(query: string, variables: object = {}): Promise<Data> {
    const headers = {
      'content-type': 'application/json',
      ...(this.channel && { 'vendure-token': this.channel }),
      ...(this.#token && { authorization: `Bearer ${this.#token}` }),
    };
    const body = JSON.stringify({ query, variables });
    const answer = await fetch(`${this.shop.url}/${this.api}`, { method: 'POST', headers, body });
    this.#token = answer.headers.get('vendure-auth-token') ?? this.#token;
    const { data, errors } = (await answer.json()) as { data: Record<string, Data> | null; errors?: object[] };
    if (errors) throw new Error(`${query}\n${JSON.stringify(errors)}`);
    return Object.values(data ?? {})[0];
  }
}

/** What a customer buys, and who it is. */
export interface Purchase {
  channel?: 'gross' | 'net' | 'usd';
  /** Quantities by SKU. */
  goods: Partial<Record<keyof typeof PRICES, number>>;
  coupon?: boolean;
  shipping?: 'sedex' | 'free';
  cpf?: string;
  /** Whether the shop knows that the CPF is that of the guest. */
  isVerified?: boolean;
}

const ORDER = `id code state totalWithTax cashback { toReceive toRedeem redeemed }`;

/** The order of one customer, from the cart on. */
export class Checkout {
  id = '';
  code = '';

  private constructor(
    readonly shop: VendureShop,
    readonly session: VendureSession,
  ) {}

  /** Fills a cart, and goes to its payment. */
  static async begin(
    shop: VendureShop,
    purchase: Purchase,
    session = shop.session(purchase.channel),
  ): Promise<Checkout> {
    const checkout = new Checkout(shop, session);
    await checkout.add(purchase.goods);
    const { cpf, isVerified, coupon, shipping = 'sedex' } = purchase;
    const phoneNumber = isVerified ? 'verified' : undefined;
    const guest = { emailAddress: `${randomUUID()}@example.com`, firstName: 'Ana', lastName: 'Lima', phoneNumber };
    await session.send(
      'mutation ($input: CreateCustomerInput!) { setCustomerForOrder(input: $input) { __typename } }',
      {
        input: guest,
      },
    );
    if (cpf)
      await session.send(
        `mutation { setOrderCustomFields(input: { customFields: { cpf: "${cpf}" } }) { __typename } }`,
      );
    if (coupon) await session.send('mutation { applyCouponCode(couponCode: "DEZ") { __typename } }');
    await session.send(`mutation { setOrderShippingMethod(shippingMethodId: [${shop.ids[shipping]}]) { __typename } }`);
    const { id, code } = await checkout.active();
    Object.assign(checkout, { id, code });
    await checkout.goTo('ArrangingPayment');
    return checkout;
  }

  async add(goods: Purchase['goods']): Promise<void> {
    for (const [sku, quantity] of Object.entries(goods))
      await this.session.send(
        `mutation { addItemToOrder(productVariantId: ${this.shop.ids[sku]}, quantity: ${quantity}) { __typename } }`,
      );
  }

  /** The order while it is a cart. */
  active(): Promise<Data> {
    return this.session.send(`{ activeOrder { ${ORDER} } }`);
  }

  async goTo(state: string): Promise<void> {
    const result = await this.session.send(
      `mutation { transitionOrderToState(state: "${state}") { ... on Order { state } ... on ErrorResult { message } } }`,
    );
    if (result.state !== state) throw new Error(JSON.stringify(result));
  }

  /** @returns `Order`, or the type of the refusal */
  async pay(method: string, metadata: object = {}): Promise<string> {
    const { __typename: type } = await this.session.send(
      'mutation ($input: PaymentInput!) { addPaymentToOrder(input: $input) { __typename ... on ErrorResult { message } } }',
      { input: { method, metadata } },
    );
    return type;
  }

  /** The order as administrators see it. */
  order(): Promise<Data> {
    const payments = 'payments { id method state amount refunds { total state } }';
    return this.shop.admin(
      `{ order(id: "${this.id}") { code state totalWithTax lines { id quantity productVariant { sku } } ${payments} } }`,
    );
  }

  /** Refunds lines by SKU, and shipping, or an amount, on the first payment of the method. */
  async refund(by: { goods?: Purchase['goods']; shipping?: number; amount?: number; method: string }): Promise<string> {
    const { lines, payments } = await this.order();
    const paymentId = payments.find(({ method }: Data) => method === by.method).id;
    const returned = Object.entries(by.goods ?? {}).map(([sku, quantity]) => {
      const line = lines.find(({ productVariant }: Data) => productVariant.sku === sku);
      return { orderLineId: line.id, quantity };
    });
    const { shipping = 0, amount } = by;
    const input = { lines: returned, shipping, adjustment: 0, paymentId, ...(amount && { amount }) };
    return this.staff('refundOrder', 'RefundOrderInput', input);
  }

  /** Makes a mutation of an administrator. @returns the type of the result, or of the refusal */
  async staff(mutation: string, type: string, input: object): Promise<string> {
    const query = `mutation ($input: ${type}!) { ${mutation}(input: $input) { __typename ... on ErrorResult { message } } }`;
    return (await this.shop.admin(query, { input })).__typename;
  }

  async staffGoesTo(state: string): Promise<void> {
    const query = `mutation { transitionOrderToState(id: "${this.id}", state: "${state}") { ... on Order { state } ... on ErrorResult { message } } }`;
    const result = await this.shop.admin(query);
    if (result?.state !== state) throw new Error(JSON.stringify(result));
  }

  /** Changes quantities of a paid order by SKU. A lower total is refunded on the payment of the method. */
  async modify(goods: Purchase['goods'], method: string): Promise<void> {
    await this.staffGoesTo('Modifying');
    const { lines, payments } = await this.order();
    const changes = Object.entries(goods).map(([sku, quantity]) => {
      const line = lines.find(({ productVariant }: Data) => productVariant.sku === sku);
      return line ? { orderLineId: line.id, quantity } : { productVariantId: this.shop.ids[sku], quantity };
    });
    const result = await this.staff('modifyOrder', 'ModifyOrderInput', {
      ...{ dryRun: false, orderId: this.id },
      adjustOrderLines: changes.filter((change) => 'orderLineId' in change),
      addItems: changes.filter((change) => 'productVariantId' in change),
      refunds: [{ paymentId: payments.find((payment: Data) => payment.method === method).id }],
    });
    if (result !== 'Order') throw new Error(result);
  }
}

/** What a shop and the service know of an order, in centavos. */
export interface Books {
  total: number;
  redeemed: number;
  money: number;
  refunded: number;
  returned: number;
  paidBack: number;
}

/** The payments and refunds of the shop. */
export async function booksOfShop(checkout: Checkout): Promise<Books> {
  const settled = (await checkout.order()).payments.filter(({ state }: Data) => state === 'Settled');
  const sum = (list: Data[], of: (one: Data) => number): number => list.reduce((total, one) => total + of(one), 0);
  const refundsOf = ({ refunds }: Data): number => sum(refunds, ({ total }) => total);
  const cashback = settled.filter(({ method }: Data) => method === 'cashback');
  const money = settled.filter(({ method }: Data) => method !== 'cashback');
  return {
    total: sum(settled, ({ amount }) => amount),
    redeemed: sum(cashback, ({ amount }) => amount),
    money: sum(money, ({ amount }) => amount),
    refunded: sum(settled, refundsOf),
    returned: sum(cashback, refundsOf),
    paidBack: sum(money, refundsOf),
  };
}

/** The order and those of its modifications. */
export async function ordersOf({ orders }: Cashback, code: string): Promise<Order[]> {
  const found: Order[] = [];
  for (const externalId of [code, `${code}-M1`, `${code}-M2`])
    try {
      found.push(await orders.byExternalId(externalId));
    } catch (error) {
      if (!(error instanceof CashbackError && error.code === 'not_found')) throw error;
    }
  return found;
}

/** The books of the service, of what is completed. */
export function booksOfService(orders: Order[]): Books {
  const sum = (of: (order: Order) => string): number =>
    orders.filter(({ status }) => /completed|refunded/.test(status)).reduce((total, it) => total + toMinor(of(it)), 0);
  return {
    total: sum(({ total }) => total),
    redeemed: sum(({ cashback }) => cashback.to_redeem.redeemed),
    money: sum(({ amount_to_pay }) => amount_to_pay),
    refunded: sum(({ refunded }) => refunded.amount),
    returned: sum(({ cashback }) => cashback.to_redeem.returned),
    paidBack: sum(({ refunded }) => refunded.amount_to_pay_back),
  };
}

/** Waits until the books are equal. @returns both, also if they are not */
export async function compareBooks(
  client: Cashback,
  checkout: Checkout,
): Promise<{ shop: Books; service: Books; orders: Order[] }> {
  const read = async () => {
    const orders = await ordersOf(client, checkout.code);
    return { shop: await booksOfShop(checkout), service: booksOfService(orders), orders };
  };
  try {
    return await until('the books are equal', async () => {
      const books = await read();
      return JSON.stringify(books.shop) === JSON.stringify(books.service) ? books : undefined;
    });
  } catch {
    return read();
  }
}
