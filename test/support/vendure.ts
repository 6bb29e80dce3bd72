import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
  await folder.run('npm', '--prefix', CLIENT, 'run', 'build');
  await folder.run(process.execPath, TSC, '-p', `${CONNECTOR}/tsconfig.test.json`);
  return folder;
}

/** Waits for something that happens later. On a busy machine it takes long. */
export async function until<T>(what: string, check: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (const deadline = Date.now() + 150_000; Date.now() < deadline; await sleep(100)) {
    const value = await check();
    if (value !== undefined) return value;
  }
  throw new Error(`it did not happen: ${what}`);
}

/** What a mutation returns: the type of a result or of a refusal. */
export interface Result {
  __typename: string;
  state?: string;
  message?: string;
}
export const RESULT = '{ __typename ... on ErrorResult { message } }';

/** Queries of one customer or administrator. */
export class VendureSession {
  #token: string | undefined;

  constructor(
    private readonly url: string,
    private readonly channel?: string,
  ) {}

  /** @returns the first member of the data */
  async send<T>(query: string, variables: object = {}): Promise<T> {
    const headers = {
      'content-type': 'application/json',
      ...(this.channel && { 'vendure-token': this.channel }),
      ...(this.#token && { authorization: `Bearer ${this.#token}` }),
    };
    const answer = await fetch(this.url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
    this.#token = answer.headers.get('vendure-auth-token') ?? this.#token;
    const { data, errors } = (await answer.json()) as { data: Record<string, T> | null; errors?: object[] };
    if (errors) throw new Error(`${query}\n${JSON.stringify(errors)}`);
    return Object.values(data ?? {})[0]!;
  }
}

/** Prices in centavos, without round sums. */
export const PRICES = { cup: 3333, bag: 4999, box: 12007, pin: 1 };
export type Sku = keyof typeof PRICES;

const english = (name: string): object[] => [{ languageCode: 'en', name, slug: name, description: '' }];
const named = (name: string): object[] => [{ languageCode: 'en', name }];

/** 10 % of the goods. */
const COUPON = {
  ...{ enabled: true, couponCode: 'DEZ', conditions: [], translations: named('10 %') },
  actions: [{ code: 'order_percentage_discount', arguments: [{ name: 'discount', value: '10' }] }],
};

/** How the other channels differ from `gross`, the default channel. */
const CHANNELS = {
  net: { pricesIncludeTax: false },
  usd: { defaultCurrencyCode: 'USD', availableCurrencyCodes: ['USD'] },
};
export type Channel = 'gross' | keyof typeof CHANNELS;

interface Named {
  id: string;
  code: string;
}

/** A Vendure server with the plugin and a database of its own. */
export class VendureShop {
  #process: ChildProcess | undefined;
  #administrator: VendureSession | undefined;
  #output = '';
  /** The IDs of products by SKU, and of shipping methods by code. */
  readonly ids: Record<string, string> = {};

  private constructor(
    private readonly folder: string,
    private readonly database: TestDatabase,
    private readonly port: number,
    private readonly env: Record<string, string>,
  ) {}

  /** Starts a shop that sells. @param env the options of the plugin, as test/server.ts reads them */
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

  /** The events that were applied, as `<id> <type>`. */
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
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'close');
    child.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    await this.kill();
    await this.database.drop();
  }

  /** A customer in a channel. */
  session(channel: Channel = 'gross'): VendureSession {
    return new VendureSession(`http://127.0.0.1:${this.port}/shop-api`, channel);
  }

  /** Sends a query of an administrator. */
  async admin<T>(query: string, variables: object = {}): Promise<T> {
    if (this.#administrator === undefined) {
      this.#administrator = new VendureSession(`http://127.0.0.1:${this.port}/admin-api`);
      const login = 'mutation { login(username: "superadmin", password: "superadmin") { __typename } }';
      await this.#administrator.send(login);
    }
    return this.#administrator.send(query, variables);
  }

  /** Makes a mutation whose argument is an input, or a list of them. @returns what it created */
  async #create<T = Named>(name: string, input: object): Promise<T> {
    const type = `${name.replace(/^./, (letter) => letter.toUpperCase())}Input!`;
    const argument = Array.isArray(input) ? `[${type.replace('sInput', 'Input')}]!` : type;
    return this.admin(`mutation ($input: ${argument}) { ${name}(input: $input) { ... on Node { id } } }`, { input });
  }

  /** Creates products of these prices in the default channel. @returns the ID of their product */
  async #createProducts(): Promise<string> {
    const { id: productId } = await this.#create('createProduct', { translations: english('cafe') });
    const options = Object.keys(PRICES).map((code) => ({ code, translations: named(code) }));
    const group = { code: 'size', translations: named('size'), options };
    const { id: groupId } = await this.#create('createProductOptionGroup', group);
    const { optionGroups } = await this.admin<{ optionGroups: { options: Named[] }[] }>(
      `mutation { addOptionGroupToProduct(productId: "${productId}", optionGroupId: "${groupId}")
        { optionGroups { options { id code } } } }`,
    );
    const variants = Object.entries(PRICES).map(([sku, price]) => ({
      ...{ productId, sku, price, trackInventory: 'FALSE', translations: named(sku) },
      optionIds: optionGroups.flatMap(({ options }) => options.filter(({ code }) => code === sku).map(({ id }) => id)),
    }));
    const created = await this.#create<Named[]>('createProductVariants', variants);
    for (const [index, { sku }] of variants.entries()) this.ids[sku] = created[index]!.id;
    return productId;
  }

  /** Creates the channels `gross` and `net` in BRL, and `usd`, with all that sells in each. */
  async #populate(): Promise<void> {
    const listOf = async (name: string): Promise<Named[]> =>
      (await this.admin<{ items: Named[] }>(`{ ${name} { items { id ${name === 'zones' ? '' : 'code'} } } }`)).items;
    const [zone] = await listOf('zones');
    const zones = { defaultTaxZoneId: zone!.id, defaultShippingZoneId: zone!.id };
    const inBrl = { ...zones, defaultCurrencyCode: 'BRL', availableCurrencyCodes: ['BRL'], pricesIncludeTax: true };
    const { id } = await this.admin<Named>('{ activeChannel { id } }');
    await this.#create('updateChannel', { id, token: 'gross', ...inBrl });
    const productIds = [await this.#createProducts()];
    const promotionIds = [(await this.#create('createPromotion', COUPON)).id];
    const shipping = await listOf('shippingMethods');
    for (const { id, code } of shipping) this.ids[code] = id;
    const shippingMethodIds = shipping.map(({ id }) => id);
    const paymentMethodIds = (await listOf('paymentMethods')).map(({ id }) => id);
    for (const [code, differs] of Object.entries(CHANNELS)) {
      const channel = { code, token: code, defaultLanguageCode: 'en', ...inBrl, ...differs };
      const { id: channelId } = await this.#create('createChannel', channel);
      await this.#create('assignProductsToChannel', { productIds, channelId, priceFactor: 1 });
      await this.#create('assignPromotionsToChannel', { promotionIds, channelId });
      await this.#create('assignShippingMethodsToChannel', { shippingMethodIds, channelId });
      await this.#create('assignPaymentMethodsToChannel', { paymentMethodIds, channelId });
    }
  }
}
