import { describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { changesAmong, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aCampaign, aCart, type Call, type Members, oneAtOnce, type Shop, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

interface Documented {
  parameters?: { name: string }[];
  responses: Record<string, { headers?: object }>;
}

/** The operations of the OpenAPI document that a condition chooses, such as `GET /orders/{id}`. */
async function operationsWith(isChosen: (operation: Documented, path: string) => boolean): Promise<string[]> {
  const { body } = await new Client(service).get<{ paths: Record<string, Record<string, Documented>> }>('/docs-json');
  const all = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return all.filter(({ operation, path }) => isChosen(operation, path)).map(({ method, path }) => `${method} ${path}`);
}

/** A day in São Paulo. */
const inDays = (days: number): string => addDays(dayOf(service.clock.now(), 'America/Sao_Paulo'), days);
let campaigns = 0;
/** A campaign of days that no other one has. */
const aNewCampaign = (): Members => {
  const day = inDays(1 + ++campaigns);
  return aCampaign({ name: `Campaign ${campaigns}`, from: day, through: day });
};

/** A valid body for each operation with an ID in its path. */
const ADDRESSED: Record<string, Members | undefined> = {
  'GET /orders/{id}': undefined,
  'GET /orders/by-external-id/{external_id}': undefined,
  'GET /orders/{id}/timeline': undefined,
  'PUT /orders/{id}': aCart('10.00'),
  'PUT /orders/{id}/redemption': { amount: '1.00' },
  'POST /orders/{id}/complete': {},
  'POST /orders/{id}/cancel': { reason: 'Not mine' },
  'PUT /orders/{id}/customer': { document: aDocument(), reason: 'Not mine' },
  'GET /orders/{id}/refunds': undefined,
  'POST /orders/{id}/refunds': { external_id: 'DEV-1', amount: '1.00' },
  'POST /orders/{id}/refunds/quote': { amount: '1.00' },
  'GET /orders/{id}/refunds/{refund_id}': undefined,
  'POST /orders/{id}/refunds/{refund_id}/void': {},
  'GET /wallets/{id}': undefined,
  'GET /wallets/{id}/credits': undefined,
  'GET /wallets/{id}/entries': undefined,
  'GET /wallets/{id}/expiring': undefined,
  'PUT /wallets/{id}/freeze': { frozen: true, reason: 'Not mine' },
  'GET /grants/{id}': undefined,
  'POST /grants/{id}/void': { reason: 'Not mine' },
  'GET /debits/{id}': undefined,
  'POST /debits/{id}/void': { reason: 'Not mine' },
  'GET /campaigns/{id}': undefined,
  'PUT /campaigns/{id}': aCampaign({ from: '2098-01-01', through: '2098-01-02' }),
  'POST /campaigns/{id}/end': undefined,
  'DELETE /campaigns/{id}': undefined,
  'GET /events/{id}': undefined,
  'GET /users/{id}': undefined,
  'PUT /users/{id}': { name: 'Mine', permissions: ['sell'], disabled: true },
  'POST /users/{id}/password': undefined,
  'GET /webhook-endpoints/{id}': undefined,
  'PUT /webhook-endpoints/{id}': { url: 'http://127.0.0.1:9/webhooks' },
  'DELETE /webhook-endpoints/{id}': undefined,
  'POST /webhook-endpoints/{id}/ping': undefined,
  'POST /webhook-endpoints/{id}/rotate-secret': undefined,
  'POST /webhook-endpoints/{id}/enable': undefined,
  'POST /webhook-endpoints/{id}/seek': { after: 0 },
};

const UNKNOWN = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
const MALFORMED = [
  ...['1', 'null', 'PED-1001', '52998224725', UNKNOWN.replaceAll('-', ''), `{${UNKNOWN}}`, "'%20OR%201=1--", '%00'],
  '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b1%F0%9F%8D%95',
];

describe('operations with an ID in their path', () => {
  /** A merchant with one of each resource, by the first part of its path. */
  async function anOwner(): Promise<{ owner: Shop; paths: Record<string, string>; names: Record<string, string> }> {
    const owner = await aMerchant(service);
    const order = await owner.completed();
    const refund = await owner.refund(order, '1.00', { external_id: 'DEV-1' });
    const grant = await owner.grant();
    const debit = await owner.debit({ document: grant.document });
    const campaign = await owner.campaign(aNewCampaign());
    const url = 'http://127.0.0.1:9/webhooks';
    const endpoint = await owner.post<{ id: string }>('/webhook-endpoints', { url, types: ['wallet.frozen'] });
    const paths = {
      orders: order.id,
      wallets: grant.wallet_id,
      grants: grant.id,
      debits: debit.id,
      campaigns: campaign.id,
      events: (await eventsOf(service, owner))[0]!.id,
      users: owner.userId,
      'webhook-endpoints': endpoint.id,
    };
    return { owner, paths, names: { external_id: order.external_id, refund_id: refund.id } };
  }

  const send = (shop: Shop, operation: string, id: string, names: Record<string, string>): Promise<Answer> => {
    const [method, path] = operation.split(' ') as [string, string];
    const of = { id, ...names };
    const sent = path.replace(/\{(\w+)\}/g, (_, name: 'id') => of[name]);
    return shop.client.send(method, sent, { body: ADDRESSED[operation] });
  };
  const pathOf = (operation: string): string => operation.split('/')[1]!;
  /** What a problem says, whatever request it answers. */
  const said = (answer: Answer): object => {
    const { instance: _i, request_id: _r, ...rest } = expectProblem(answer, 404, 'not_found');
    return rest;
  };

  it('the table has every operation with an ID in its path', async () => {
    const documented = await operationsWith((_, path) => path.includes('{'));
    expect(Object.keys(ADDRESSED).sort()).toEqual(documented.sort());
  });

  it.each(Object.keys(ADDRESSED))('%s returns 404 for an unknown ID, and for one that is not a UUID', async (name) => {
    for (const id of [UNKNOWN, ...MALFORMED])
      expectProblem(await send(merchant, name, id, { external_id: id, refund_id: id }), 404, 'not_found');
  });

  it('each operation returns the same 404 for what another merchant has, and changes nothing of it', async () => {
    const { owner, paths, names } = await anOwner();
    const readable = Object.keys(ADDRESSED).filter((operation) => operation.startsWith('GET'));
    const seen = (): Promise<unknown[]> =>
      Promise.all(
        readable.map(async (operation) => {
          const { status, body } = await send(owner, operation, paths[pathOf(operation)]!, names);
          return { operation, status, body };
        }),
      );
    const before = await seen();
    expect(before).toEqual(readable.map((operation) => expect.objectContaining({ operation, status: 200 })));
    for (const operation of Object.keys(ADDRESSED)) {
      const theirs = await send(merchant, operation, paths[pathOf(operation)]!, names);
      const never = await send(merchant, operation, UNKNOWN, { external_id: 'never', refund_id: UNKNOWN });
      expect({ operation, said: said(theirs) }).toEqual({ operation, said: said(never) });
    }
    // An order of their own does not make the refund theirs, and neither does another order of the owner.
    for (const [shop, order] of [
      [merchant, await merchant.completed()],
      [owner, await owner.completed()],
    ] as const)
      for (const operation of Object.keys(ADDRESSED).filter((one) => one.includes('{refund_id}')))
        said(await send(shop, operation, order.id, names));
    expect(await seen()).toEqual(before);
  });
});

interface Request {
  /** Who sends it. By default, the merchant of this file. */
  shop?: Shop;
  path: string;
  body?: Members;
  /** The version that `If-Match` must name. */
  version?: number;
}

/** A write, with what its request may say otherwise. */
interface Write {
  /** Makes what the request changes. */
  prepare: () => Promise<Request>;
  status?: number;
  /** Members that mean the same, or that a repetition may have differently. */
  same?: Members[];
  /** Members that are another content, with what the 409 names. The first one is valid by itself. */
  different?: [members: Members, pointers: string[] | undefined, code?: string][];
  /** Whether a repetition may have no body. */
  isBare?: true;
  /** Different valid requests of the same version. */
  rivals?: (at: number) => Members;
}

const openOrder = async (): Promise<Request> => {
  const { id, version } = await merchant.orderWith('80.00');
  return { path: `/orders/${id}`, version };
};
const soldOrder = async (): Promise<Request> => {
  const { id, version } = await merchant.completed();
  return { path: `/orders/${id}`, version };
};
/** A request to a path below one. */
const below = async (made: Promise<Request>, path: string, body?: Members): Promise<Request> => {
  const request = await made;
  return { ...request, path: `${request.path}${path}`, ...(body && { body }) };
};

const METADATA = { till: '3', shift: 'late' };
/** What is another content in each resource with texts of the shop. */
const DIFFERENT_TEXTS: [Members, string[]][] = [
  [{ store: 'sp-014' }, ['/store']],
  [{ store: null }, ['/store']],
  [{ metadata: undefined }, ['/metadata/shift', '/metadata/till']],
  [{ metadata: { ...METADATA, till: '4' } }, ['/metadata/till']],
  [{ metadata: { till: '3' } }, ['/metadata/shift']],
  [{ metadata: { ...METADATA, ['__proto__']: 'x' } }, ['/metadata/__proto__']],
  [{ metadata: { ...METADATA, constructor: '' } }, ['/metadata/constructor']],
];
const DIFFERENT_REASONS: [Members, string[]][] = [
  [{ reason: 'desculpe' }, ['/reason']],
  [{ reason: null, store: undefined }, ['/reason', '/store']],
];
const [COFFEE, TEA] = [
  { id: 'sku-1', price: '100.00', description: 'Café' },
  { id: 'sku-2', price: '50.00' },
];
const [CARD, PIX] = [
  { id: 'credit_card', amount: '100.00' },
  { id: 'pix', amount: '50.00' },
];

const WRITES: Record<string, Write> = {
  'POST /orders': {
    status: 201,
    prepare: () => {
      const content = { items: [COFFEE, TEA], payment_methods: [CARD, PIX], store: 'SP-014', metadata: METADATA };
      return Promise.resolve({ path: '/orders', body: anOrder(content) });
    },
    same: [
      {
        total: '150',
        items: [
          { ...COFFEE, price: '100' },
          { ...TEA, price: '50.0' },
        ],
      },
      { eligible_total: '150.00' },
      { eligible_total: null, currency: null },
      { items: [COFFEE, { ...TEA, description: null, quantity: 1 }], currency: 'BRL' },
    ],
    different: [
      [{ total: '151.00' }, ['/total']],
      [{ total: '250.00', eligible_total: '150.00' }, ['/total']],
      [{ total: '250.00', eligible_total: '100.00' }, ['/eligible_total', '/total']],
      [{ eligible_total: '149.99' }, ['/eligible_total']],
      [{ document: aDocument() }, ['/document']],
      [{ items: [COFFEE] }, ['/items']],
      [{ items: [{ ...COFFEE, id: 'SKU-1' }, TEA] }, ['/items/0/id']],
      [{ items: [{ id: 'sku-1', price: '100.00' }, TEA] }, ['/items/0/description']],
      [{ items: [COFFEE, { ...TEA, price: '49.99', description: '' }] }, ['/items/1/description', '/items/1/price']],
      [{ payment_methods: [] }, ['/payment_methods']],
      [
        {
          payment_methods: [
            { ...CARD, amount: '99.00' },
            { ...PIX, id: 'boleto' },
          ],
        },
        ['/payment_methods/0/amount', '/payment_methods/1/id'],
      ],
      ...DIFFERENT_TEXTS,
    ],
  },
  'POST /orders with nothing optional': {
    status: 201,
    prepare: () => Promise.resolve({ path: '/orders', body: anOrder({ payment_methods: undefined }) }),
    same: [
      { payment_methods: null, store: null, metadata: null },
      { payment_methods: [], metadata: {} },
    ],
    different: [
      [{ store: 'SP-014' }, ['/store']],
      [{ payment_methods: [PIX] }, ['/payment_methods']],
      [{ metadata: METADATA }, ['/metadata/shift', '/metadata/till']],
    ],
  },
  'POST /orders with complete': {
    status: 201,
    prepare: async () => {
      const document = await merchant.customerWith('30.00');
      return { path: '/orders', body: anOrder({ document, complete: { redeem: '20.00' } }) };
    },
    same: [{ complete: {} }, { complete: undefined }],
    different: [
      [{ complete: { redeem: '10.00' } }, ['/complete/redeem'], 'invalid_transition'],
      [{ total: '151.00' }, ['/total']],
    ],
  },
  'PUT /orders/{id}': {
    prepare: async () => {
      const { id, version } = await merchant.orderThatHolds('20.00');
      return { path: `/orders/${id}`, version, body: aCart('120.00', { metadata: METADATA }) };
    },
    same: [
      { total: '120', items: [{ id: 'sku-2', price: '120.0' }] },
      { eligible_total: '120.00', currency: 'BRL' },
      { eligible_total: null, redeem: null, currency: null },
      { redeem: 'maximum' },
    ],
    rivals: (at) => aCart(`${100 + at}.00`),
  },
  'PUT /orders/{id}/redemption': {
    prepare: () => below(openOrder(), '/redemption', { amount: '20.00' }),
    same: [{ amount: '20' }, { amount: '20.0', expires_at: null }],
    rivals: (at) => ({ amount: `${1 + at}.00` }),
  },
  'POST /orders/{id}/complete': {
    prepare: () =>
      below(openOrder(), '/complete', { redeem: '20.00', payment_methods: [{ id: 'pix', amount: '130.00' }] }),
    same: [
      { redeem: '20', payment_methods: [{ id: 'pix', amount: '130' }] },
      { redeem: null, payment_methods: null },
      { redeem: undefined, payment_methods: undefined },
    ],
    isBare: true,
    different: [
      [{ redeem: '10.00' }, ['/redeem'], 'invalid_transition'],
      [
        { redeem: '20.01', payment_methods: [{ id: 'card', amount: '150.00' }] },
        ['/payment_methods/0/amount', '/payment_methods/0/id', '/redeem'],
        'invalid_transition',
      ],
    ],
  },
  'POST /orders/{id}/cancel': {
    prepare: async () => {
      const { id, version } = await merchant.orderThatHolds('20.00');
      return { path: `/orders/${id}/cancel`, version, body: { reason: 'Out of stock' } };
    },
    same: [{ reason: 'Another' }, { reason: null }, { reason: undefined }],
    isBare: true,
  },
  'PUT /orders/{id}/customer': {
    prepare: () => below(soldOrder(), '/customer', { document: aDocument(), reason: 'Typed wrongly' }),
    same: [{ reason: 'Another' }],
    different: [[{ document: aDocument() }, undefined, 'invalid_transition']],
  },
  'POST /orders/{id}/refunds': {
    status: 201,
    prepare: () => {
      const content = { amount: '50.00', reason: 'Desculpe', store: 'SP-014', metadata: METADATA };
      return below(soldOrder(), '/refunds', { external_id: 'DEV-1', ...content });
    },
    same: [{ amount: '50' }, { eligible_amount: null }, { eligible_amount: '50.0', take_back: '2.5' }],
    different: [
      [{ amount: '50.01' }, ['/amount']],
      [{ amount: '999.00' }, ['/amount']],
      [{ eligible_amount: '49.99' }, ['/eligible_amount']],
      [{ take_back: '2.51' }, ['/take_back']],
      [{ amount: undefined, items: [{ id: 'sku-1' }] }, ['/amount', '/items']],
      ...DIFFERENT_REASONS,
      ...DIFFERENT_TEXTS,
    ],
    rivals: (at) => ({ external_id: `DEV-${at}` }),
  },
  'POST /orders/{id}/refunds with nothing optional': {
    status: 201,
    prepare: () => below(soldOrder(), '/refunds', { external_id: 'DEV-1', amount: '50.00' }),
    same: [{ reason: null, store: null, metadata: null }, { metadata: {} }],
    different: [
      [{ reason: 'Desculpe' }, ['/reason']],
      [{ store: 'SP-014', metadata: METADATA }, ['/metadata/shift', '/metadata/till', '/store']],
    ],
  },
  'POST /orders/{id}/refunds/{refund_id}/void': {
    prepare: async () => {
      const order = await merchant.completed();
      const { id } = await merchant.refund(order, '50.00');
      const path = `/orders/${order.id}/refunds/${id}/void`;
      return { path, version: order.version + 1, body: { reason: 'Wrong order' } };
    },
    same: [{ reason: 'Another' }, { reason: undefined }],
    isBare: true,
  },
  'POST /grants': {
    status: 201,
    prepare: () => {
      const texts = { reason: 'Desculpe', note: 'Third complaint', store: 'SP-014', metadata: METADATA };
      const content = { document: aDocument(), amount: '50.00', ...texts };
      return Promise.resolve({ path: '/grants', body: { external_id: `SORRY-${unique()}`, ...content } });
    },
    same: [{ amount: '50' }, { available_on: null, expires_on: null }],
    different: [
      [{ amount: '50.01' }, ['/amount']],
      [{ document: aDocument() }, ['/document']],
      [{ document: '00000000000' }, ['/document']],
      [{ note: 'third complaint' }, ['/note']],
      [{ note: null, store: 'X' }, ['/note', '/store']],
      [{ available_on: '2098-01-01' }, ['/available_on']],
      [{ expires_on: '2098-01-01' }, ['/expires_on']],
      ...DIFFERENT_REASONS,
      ...DIFFERENT_TEXTS,
    ],
  },
  'POST /grants with nothing optional': {
    status: 201,
    prepare: () => {
      const content = { document: aDocument(), amount: '50.00' };
      return Promise.resolve({ path: '/grants', body: { external_id: `SORRY-${unique()}`, ...content } });
    },
    same: [
      { reason: null, note: null, store: null, metadata: null },
      { metadata: {}, available_on: null },
    ],
    different: [
      [{ reason: 'Desculpe' }, ['/reason']],
      [{ store: 'SP-014', metadata: METADATA }, ['/metadata/shift', '/metadata/till', '/store']],
    ],
  },
  'POST /grants/{id}/void': {
    prepare: async () => ({ path: `/grants/${(await merchant.grant()).id}/void`, body: { reason: 'By mistake' } }),
    same: [{ reason: 'Another' }, { reason: undefined }],
    isBare: true,
  },
  'POST /debits': {
    status: 201,
    prepare: async () => {
      const document = await merchant.customerWith('50.00');
      const texts = { reason: 'Twice', note: 'Seen', store: 'SP-014', metadata: METADATA };
      const content = { document, amount: '20.00', take: 'available', ...texts };
      return { path: '/debits', body: { external_id: `FIX-${unique()}`, ...content } };
    },
    same: [{ amount: '20' }],
    different: [
      [{ amount: '19.99' }, ['/amount']],
      [{ document: aDocument() }, ['/document']],
      [{ reason: 'twice' }, ['/reason']],
      [{ note: null }, ['/note']],
      [{ take: null }, ['/take']],
      ...DIFFERENT_TEXTS,
    ],
  },
  'POST /debits/{id}/void': {
    prepare: async () => {
      const { id } = await merchant.debit({ document: await merchant.customerWith('50.00') });
      return { path: `/debits/${id}/void`, body: { reason: 'Wrong customer' } };
    },
    same: [{ reason: 'Another' }, { reason: undefined }],
    isBare: true,
  },
  'PUT /wallets/{id}/freeze': {
    prepare: async () => {
      const { id } = await merchant.wallet(await merchant.customerWith('50.00'));
      return { path: `/wallets/${id}/freeze`, body: { frozen: true, reason: 'Stolen account' } };
    },
    same: [{ reason: 'Another' }],
  },
  'PATCH /policy': {
    prepare: async () => {
      const shop = await aMerchant(service);
      return { shop, path: '/policy', version: 1, body: { earn_maximum: '500.00', reason: 'December' } };
    },
    same: [{ earn_maximum: '500' }],
    rivals: (at) => ({ earn_maximum: `${400 + at}.00` }),
  },
  'POST /campaigns': {
    status: 201,
    prepare: () => Promise.resolve({ path: '/campaigns', body: aNewCampaign() }),
  },
  'PUT /campaigns/{id}': {
    prepare: async () => {
      const { id } = await merchant.campaign(aNewCampaign());
      return { path: `/campaigns/${id}`, body: aNewCampaign() };
    },
  },
  'POST /campaigns/{id}/end': {
    prepare: async () => {
      const shop = await aMerchant(service);
      const { id } = await shop.campaign({ from: inDays(0), through: inDays(1) });
      await service.clock.advance({ minutes: 2 });
      return { shop, path: `/campaigns/${id}/end` };
    },
  },
};

const operationOf = (name: string): string => name.split(' with ')[0]!;
const statusOf = ({ status = 200 }: Write): number => status;

/** Sends a request, with other members of its body. */
function sendTo(
  [name, write]: [string, Write],
  { shop = merchant, path, body }: Request,
  members: Members = {},
  ifMatch?: string,
): Call<Members & { id: string }> {
  const headers = ifMatch === undefined ? {} : { headers: { 'if-match': ifMatch } };
  const sent = body && { body: { ...body, ...members } };
  return shop.send(name.split(' ')[0]!, path, { ...sent, ...headers }, statusOf(write));
}

/** How many rows a merchant has in the tables to which a write adds. */
async function countsOf({ shop = merchant }: Request): Promise<number[]> {
  const tables = ['orders', 'refunds', 'debits', 'customer_changes', 'policy_bases', 'policy_versions'];
  const names = [...tables, 'cashback_credits', 'cashback_entries', 'events', 'event_outbox'];
  const sql = names.map(
    (table) => `SELECT '${table}' AS name, COUNT(*) AS rows_of FROM ${table} WHERE merchant_id = ?`,
  );
  const values = names.map(() => shop.id);
  const rows = await rowsOf<{ name: string; rows_of: string }>(service, sql.join(' UNION ALL '), values);
  const counts = new Map(rows.map((row) => [row.name, Number(row.rows_of)]));
  // The service moves events from one table to the other.
  const events = counts.get('events')! + counts.get('event_outbox')!;
  return [...names.slice(0, -2).map((table) => counts.get(table)!), events];
}

/** The same JSON, with the members of each object in another order. */
const reversed = (value: unknown): Members =>
  JSON.parse(JSON.stringify(value), (_, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).reverse())
      : part,
  ) as Members;

describe('repetitions', () => {
  it('the table has every operation that says whether it is a replay', async () => {
    const documented = await operationsWith(({ responses }) =>
      Object.values(responses).some(({ headers }) => Object.keys(headers ?? {}).includes('Idempotency-Replayed')),
    );
    expect([...new Set(Object.keys(WRITES).map(operationOf))].sort()).toEqual(documented.sort());
  });

  it.each(Object.entries(WRITES))(
    '%s returns the same again with Idempotency-Replayed: true, also to another API user, and changes nothing',
    async (...row) => {
      const [, { same = [], isBare }] = row;
      const request = await row[1].prepare();
      const { shop = merchant, path, body } = request;
      const call = sendTo(row, request);
      const first = await call.changed();
      const location = statusOf(row[1]) === 201 ? `${path}/${first.id}` : null;
      expect((await call.answer).headers.get('location')).toBe(location);
      const after = await countsOf(request);
      await service.clock.advance({ seconds: 1 });
      const colleague = await aUser(service, shop.id, PERMISSIONS);
      const bodies = [body, body && reversed(body), ...same.map((members) => ({ ...body, ...members }))];
      for (const sent of isBare ? [...bodies, undefined] : bodies)
        for (const by of [shop, colleague]) {
          const again = sendTo(row, { path, shop: by, ...(sent && { body: sent }) });
          expect({ sent, answered: await again.replayed() }).toEqual({ sent, answered: first });
          expect((await again.answer).headers.get('location')).toBe(location);
        }
      expect(await countsOf(request)).toEqual(after);
    },
  );

  it.each(Object.entries(WRITES))(
    '%s of equal requests at once is done once, and all return the same',
    async (...row) => {
      const expected = await row[1].prepare();
      const empty = await countsOf(expected);
      await sendTo(row, expected);
      const one = await countsOf(expected);
      const request = await row[1].prepare();
      const before = await countsOf(request);
      const answers = await atOnce(12, () => sendTo(row, request).answer);
      expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(statusOf(row[1])));
      expect(answers.map(({ body }) => body)).toEqual(Array(12).fill(answers[0]!.body));
      expect(changesAmong(answers)).toBe(1);
      const difference = (from: number[], to: number[]): number[] => to.map((count, at) => count - from[at]!);
      expect(difference(before, await countsOf(request))).toEqual(difference(empty, one));
    },
  );

  const COMPARED = Object.entries(WRITES).filter(([, { different }]) => different !== undefined);

  it.each(COMPARED)(
    '%s with another content returns 409 with a pointer to each member that differs, reveals nothing, and changes nothing',
    async (...row) => {
      const request = await row[1].prepare();
      const first = await sendTo(row, request);
      const after = await countsOf(request);
      for (const [members, pointers, code = 'external_id_conflict'] of row[1].different!)
        for (const _attempt of ['first', 'second']) {
          const isConflict = code === 'external_id_conflict';
          const existing = isConflict ? { existing_id: first.id, next_action: 'read_existing' } : {};
          const problem = await sendTo(row, request, members).refused(409, code, existing);
          expect({ members, at: pointers && pointersOf(problem) }).toEqual({ members, at: pointers });
          // A completion and a correction have no external ID.
          const secrets = [request.body!.document, METADATA.shift, isConflict ? METADATA.shift : 'external_id'];
          for (const secret of secrets) expect(JSON.stringify(problem)).not.toContain(secret ?? METADATA.shift);
        }
      expect(await countsOf(request)).toEqual(after);
      expect(await sendTo(row, request).replayed()).toEqual(first);
    },
  );

  it.each(COMPARED)('of two contents of %s at once, one is done, and the other one is 409', async (...row) => {
    const [members, , code = 'external_id_conflict'] = row[1].different![0]!;
    const request = await row[1].prepare();
    const answers = await atOnce(12, (at) => sendTo(row, request, at % 2 === 0 ? {} : members).answer);
    const kinds = [0, 1].map((kind) => answers.filter((_, at) => at % 2 === kind));
    const [done, refused] = kinds[0]![0]!.status < 300 ? kinds : kinds.reverse();
    expect(done!.map(({ body }) => body)).toEqual(Array(6).fill(done![0]!.body));
    expect(changesAmong(done!)).toBe(1);
    for (const answer of refused!) expectProblem(answer, 409, code);
  });
});

describe('If-Match', () => {
  const CONDITIONAL = [
    ...['PUT /orders/{id}', 'PUT /orders/{id}/redemption', 'POST /orders/{id}/complete', 'POST /orders/{id}/cancel'],
    ...['PUT /orders/{id}/customer', 'POST /orders/{id}/refunds', 'POST /orders/{id}/refunds/{refund_id}/void'],
    'PATCH /policy',
  ].map((name): [string, Write] => [name, WRITES[name]!]);

  it('the table has every operation that takes If-Match', async () => {
    const documented = await operationsWith(({ parameters = [] }) =>
      parameters.some(({ name }) => name === 'If-Match'),
    );
    expect(CONDITIONAL.map(([name]) => name).sort()).toEqual(documented.sort());
  });

  /** What the version is of. */
  const read = ({ shop = merchant, path }: Request): PromiseLike<unknown> =>
    shop.get(/^\/orders\/[^/]+|^\/policy/.exec(path)![0]);

  it.each(CONDITIONAL)('%s is done with an If-Match that names the version, and replayed with it', async (...row) => {
    for (const fields of ['"#"', '*', '"77", "#"', '"77","#"', ', "#" ,', 'W/"#", "#"', '"a,b", "#"', '"", "#"']) {
      const request = await row[1].prepare();
      const ifMatch = fields.replaceAll('#', String(request.version));
      const first = await sendTo(row, request, {}, ifMatch).changed();
      expect({ ifMatch, again: await sendTo(row, request, {}, ifMatch).replayed() }).toEqual({ ifMatch, again: first });
    }
  });

  it.each(CONDITIONAL)(
    '%s returns 412 for an If-Match that does not name the version, 400 for a malformed one, and changes nothing',
    async (...row) => {
      const request = await row[1].prepare();
      const version = String(request.version);
      const before = await read(request);
      const [code, next_action]: [string, string] =
        row[0] === 'PATCH /policy' ? ['policy_changed', 'fix_request'] : ['precondition_failed', 'read_order'];
      for (const fields of ['"77"', '"0"', '"0#"', '""', 'W/"#"', '"#!"', '"77", W/"#"', '"a,#"', '"\xe9"', ','])
        await sendTo(row, request, {}, fields.replaceAll('#', version)).refused(412, code, {
          ...{ next_action, retryable: false, detail: expect.stringContaining(`If-Match does not name "${version}"`) },
        });
      const malformed = ['#', '"#', '#"', "'#'", 'w/"#"', 'W/#', '"#" "77"', '*, "#"', '"#", *', '**', '"#";', '"# "'];
      for (const fields of [...malformed, '"\t"'])
        await sendTo(row, request, {}, fields.replaceAll('#', version)).refused(400, 'malformed_request', {
          detail: expect.stringContaining('If-Match'),
        });
      const other = await aMerchant(service);
      if (row[0] !== 'PATCH /policy')
        await sendTo(row, { ...request, shop: other }, {}, '"77"').refused(404, 'not_found');
      expect(await read(request)).toEqual(before);
    },
  );

  it.each(CONDITIONAL.filter(([, { rivals }]) => rivals !== undefined))(
    'of 12 different requests to %s at once with the same If-Match, one is done, and the others are 412',
    async (...row) => {
      const request = await row[1].prepare();
      const code = row[0] === 'PATCH /policy' ? 'policy_changed' : 'precondition_failed';
      const send = (at: number) => sendTo(row, request, row[1].rivals!(at), `"${request.version}"`);
      await oneAtOnce(12, send, 412, { code });
      expect(await read(request)).toMatchObject({ version: request.version! + 1 });
    },
  );
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
