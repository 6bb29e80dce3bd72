import { type Checkout, checkout } from './checkout.js';
import type { Operations } from './generated/operations.gen.js';
import type { ClockMove, EventPage } from './generated/types.gen.js';
import type { CallOptions, CsvFile } from './http.js';
import { follow, type Name, operation, type Operation, type Send } from './operations.js';

/** Each method of the client, and its operation. */
const RESOURCES = {
  orders: {
    create: 'createOrder',
    get: 'getOrder',
    byExternalId: 'getOrderByExternalId',
    list: 'listOrders',
    search: 'searchOrders',
    amend: 'amendOrder',
    hold: 'holdRedemption',
    complete: 'completeOrder',
    cancel: 'cancelOrder',
    changeCustomer: 'changeCustomer',
    timeline: 'getOrderTimeline',
  },
  refunds: {
    create: 'createRefund',
    quote: 'quoteRefund',
    list: 'listRefunds',
    get: 'getRefund',
    void: 'voidRefund',
    listAll: 'listAllRefunds',
  },
  quotes: { create: 'createQuote' },
  wallets: {
    search: 'searchWallet',
    get: 'getWallet',
    credits: 'listWalletCredits',
    entries: 'listWalletEntries',
    expiring: 'getWalletExpiring',
    freeze: 'freezeWallet',
  },
  grants: {
    create: 'createGrant',
    createMany: 'createGrants',
    get: 'getGrant',
    void: 'voidGrant',
    list: 'listGrants',
  },
  debits: { create: 'createDebit', get: 'getDebit', void: 'voidDebit', list: 'listDebits' },
  customers: { list: 'listCustomers', export: 'exportCustomer', erase: 'eraseCustomer' },
  credits: { list: 'listCredits' },
  entries: { list: 'listEntries' },
  events: { list: 'listEvents', get: 'getEvent' },
  webhookEndpoints: {
    create: 'createWebhookEndpoint',
    list: 'listWebhookEndpoints',
    get: 'getWebhookEndpoint',
    replace: 'replaceWebhookEndpoint',
    delete: 'deleteWebhookEndpoint',
    ping: 'pingWebhookEndpoint',
    rotateSecret: 'rotateWebhookSecret',
    enable: 'enableWebhookEndpoint',
    seek: 'seekWebhookEndpoint',
  },
  policy: { get: 'getPolicy', change: 'changePolicy', history: 'listPolicyVersions' },
  campaigns: {
    create: 'createCampaign',
    list: 'listCampaigns',
    get: 'getCampaign',
    change: 'changeCampaign',
    delete: 'deleteCampaign',
    end: 'endCampaign',
  },
  users: {
    create: 'createUser',
    list: 'listUsers',
    get: 'getUser',
    change: 'changeUser',
    renewPassword: 'renewPassword',
  },
  reports: {
    ledger: 'reportLedger',
    sales: 'reportSales',
    outstanding: 'reportOutstanding',
    expiring: 'reportExpiring',
    frequent: 'reportFrequent',
    customers: 'reportCustomers',
    grants: 'reportGrants',
  },
  sandbox: { getClock: 'getClock', moveClock: 'moveClock' },
} as const satisfies Record<string, Record<string, Name>>;

/** The lists over all customers, which can be files as well. Their paths have the names of the resources. */
const FILES = {
  orders: 'listOrders',
  refunds: 'listAllRefunds',
  grants: 'listGrants',
  debits: 'listDebits',
  customers: 'listCustomers',
  credits: 'listCredits',
  entries: 'listEntries',
} as const satisfies Partial<Record<keyof typeof RESOURCES, Name>>;

type Table = typeof RESOURCES;
type Methods<T> = { readonly [M in keyof T]: T[M] extends Name ? Operation<T[M]> : never };
type Reports = Methods<Table['reports']>;
type Query<R extends keyof Reports> = NonNullable<Parameters<Reports[R]>[0]>;
/** The language of a file: that of `pt-BR` is for spreadsheets in Brazil. */
type Language = 'en' | 'pt-BR';

/** @returns the files of a list, each with at most 10,000 rows below its headers, and requested when you reach it */
type Csv<N extends Name> = (
  query?: Operations[N][0]['query'],
  language?: Language,
  options?: CallOptions,
) => AsyncIterable<string>;
type Files = { readonly [R in keyof typeof FILES]: { csv: Csv<(typeof FILES)[R]> } };

/** What is not one operation. */
interface Additions {
  readonly orders: Checkout;
  readonly events: {
    /** The pages of the feed until its end. Store the `next_after` of each with what you made of its events. */
    pages(...args: Parameters<Operation<'listEvents'>>): AsyncIterable<EventPage>;
  };
  readonly reports: {
    /** A report as CSV. */
    csv<R extends keyof Reports>(name: R, query: Query<R>, language?: Language, options?: CallOptions): Promise<string>;
  };
  readonly sandbox: {
    /**
     * Moves the merchant's clock, in as many requests as it needs: `moveClock` is one of them, and `timeout` that of
     * each. Only on a sandbox; a live service answers `route_not_found`.
     *
     * @returns where the clock is, and the `sequence` of the first and the last event of the whole move
     */
    move(...args: Parameters<Operation<'moveClock'>>): Promise<ClockMove>;
  };
}

export type Resources = { readonly [R in keyof Table]: Methods<Table[R]> } & Files & Additions;

/** Makes the methods of the client. */
export function resources(send: Send): Resources {
  const made = Object.entries(RESOURCES).map(([resource, methods]) => {
    const calls = Object.entries<Name>(methods).map(([method, name]) => [method, operation(name, send)]);
    return [resource, Object.fromEntries(calls) as object];
  });
  const all = Object.fromEntries(made) as Resources;
  Object.assign(all.orders, checkout(all.orders));
  all.events.pages = (...args) => all.events.list(...args).pages();
  const csvOf = (path: string, query?: object, language?: Language, options?: CallOptions): Promise<CsvFile> => {
    const sent = { ...query, ...(language === 'pt-BR' && { csv: language }) };
    return send({ method: 'GET', path, query: sent, status: 200, accept: 'text/csv', options });
  };
  all.reports.csv = async (name, query, language, options) =>
    (await csvOf(`/reports/${encodeURIComponent(name)}`, query, language, options)).text;
  for (const name of Object.keys(FILES) as (keyof typeof FILES)[]) {
    const csv: Csv<Name> = async function* (query, language, options) {
      const read = (next: object): Promise<CsvFile> => csvOf(`/${name}`, next, language, options);
      for await (const { text } of follow('file', { ...query }, read, ({ next }) => next)) yield text;
    };
    Object.assign(all[name], { csv });
  }
  all.sandbox.move = async (...args) => {
    for (;;) {
      const move = await all.sandbox.moveClock(...args);
      if (move.done) return move;
    }
  };
  return all;
}
