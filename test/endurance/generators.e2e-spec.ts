import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenApi } from '../support/contract.js';
import { numberEvents } from '../support/events.js';
import { aCompletedOrder } from '../support/factories.js';
import { NpmFolder } from '../support/npm-folder.js';
import { useService } from '../support/use-service.js';

/** That of a sandbox has all operations. */
const DOCUMENT = path.resolve('dist/openapi-sandbox.json');

/** The newest versions that run on every Node that the service supports. */
const PACKAGES = [
  'orval@7.13.2',
  '@kubb/cli@4.39.3',
  '@kubb/core@4.39.3',
  '@kubb/plugin-oas@4.39.3',
  '@kubb/plugin-ts@4.39.3',
  '@kubb/plugin-client@4.39.3',
  'swagger-typescript-api@13.13.0',
  'oazapfts@7.5.0',
  '@oazapfts/runtime@1.2.0',
  'openapi-zod-client@1.18.3',
  '@zodios/core@10.9.6',
  'zod@3.25.76',
  'axios@1.7.9',
];

/** kubb generates nothing without plugins. These have their default options. */
const KUBB_CONFIG = `
import { defineConfig } from '@kubb/core';
import { pluginClient } from '@kubb/plugin-client';
import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';

const input = { path: ${JSON.stringify(DOCUMENT)} };
export default defineConfig({ input, output: { path: 'kubb' }, plugins: [pluginOas(), pluginTs(), pluginClient()] });
`;

const SHARED = `
export interface Report {
  created: string;
  listed: string[];
  refunded: string[];
  refusal: string;
}

export const order = (external_id: string) => {
  const items = [{ id: 'sku-1', price: '10.00' }];
  return { external_id, document: '52998224725', total: '10.00', items, payment_methods: [] };
};
`;

const REFUND_OF = `
function refundOf(event: EventDto): string[] {
  // @ts-expect-error Not every event has a refund.
  void event.data.refund;
  return event.type === 'order.refunded' ? [event.data.refund.amount] : [];
}
`;

const EXPLAIN = `
function explain(problem: Problem): string {
  switch (problem.code) {
    case 'redemption_exceeds_maximum':
      return problem.maximum + ' ' + problem.limited_by;
    case 'not_found':
      // @ts-expect-error This problem has no maximum.
      return problem.maximum;
    // @ts-expect-error The code is misspelled.
    case 'redemption_exceeds_maximun':
      return '';
    default:
      return problem.detail;
  }
}
`;

const REPORT = `
  return {
    created: created.external_id,
    listed: page.data.map(({ external_id }) => external_id),
    refunded: feed.data.flatMap(refundOf),
    refusal,
  };
`;

interface Generator {
  /** The arguments of Node. */
  command: string[];
  /** Whether it compiles with `exactOptionalPropertyTypes`, too. If not, the generator's own code does not. */
  exact: boolean;
  /** Logs in, creates an order, lists orders of two statuses, and narrows an event and a problem. */
  program: string;
}

const bin = (name: string): string => `node_modules/.bin/${name}`;

const GENERATORS: Record<string, Generator> = {
  'hey-api': {
    command: [path.resolve('node_modules/@hey-api/openapi-ts/bin/run.js'), '-i', DOCUMENT, '-o', 'hey-api', '--silent'],
    exact: false,
    program: `
import { client } from './hey-api/client.gen.js';
import { createOrder, holdRedemption, listEvents, listOrders, login } from './hey-api/index.js';
import type { EventDto, Problem } from './hey-api/index.js';
${REFUND_OF}${EXPLAIN}
export async function sell(baseUrl: string, email: string, password: string): Promise<Report> {
  client.setConfig({ baseUrl });
  const { data: tokens } = await login({ body: { email, password }, throwOnError: true });
  client.setConfig({ auth: tokens.access_token });
  const { data: created } = await createOrder({ body: order('hey-api'), throwOnError: true });
  const { data: page } = await listOrders({ query: { status: ['pending', 'cancelled'] }, throwOnError: true });
  const { data: feed } = await listEvents({ throwOnError: true });
  const { error } = await holdRedemption({ path: { id: created.id }, body: { amount: '9.00' } });
  const refusal = error === undefined ? 'none' : explain(error);
${REPORT}}
`,
  },
  // axios, which orval, kubb and zodios use, writes `status[]=`.
  orval: {
    command: [bin('orval'), '--input', DOCUMENT, '--output', 'orval/client.ts'],
    exact: true,
    program: `
import axios from 'axios';
import { createOrder, holdRedemption, listEvents, listOrders, login } from './orval/client.js';
import type { EventDto, Problem } from './orval/client.js';
${REFUND_OF}${EXPLAIN}
export async function sell(baseURL: string, email: string, password: string): Promise<Report> {
  axios.defaults.baseURL = baseURL;
  const { data: tokens } = await login({ email, password });
  axios.defaults.headers.common.authorization = \`Bearer \${tokens.access_token}\`;
  const { data: created } = await createOrder(order('orval'));
  const { data: page } = await listOrders({ status: ['pending', 'cancelled'] });
  if (typeof page === 'string') throw new Error('a list is CSV, which nothing asked for');
  const { data: feed } = await listEvents();
  const refusal = await holdRedemption(created.id, { amount: '9.00' }).then(
    () => 'none',
    (error: unknown) => (axios.isAxiosError<Problem>(error) && error.response ? explain(error.response.data) : 'lost'),
  );
${REPORT}}
`,
  },
  kubb: {
    command: [bin('kubb'), 'generate', '--config', 'kubb.config.mjs'],
    exact: false,
    program: `
import { axiosInstance, setConfig, type ResponseErrorConfig } from '@kubb/plugin-client/clients/axios';
import { createOrder, holdRedemption, listEvents, listOrders, login } from './kubb/index.js';
import type { EventDto, HoldRedemption422, Problem } from './kubb/index.js';
${REFUND_OF}${EXPLAIN}
export async function sell(baseURL: string, email: string, password: string): Promise<Report> {
  setConfig({ baseURL });
  const tokens = await login({ email, password });
  axiosInstance.defaults.headers.common.authorization = \`Bearer \${tokens.access_token}\`;
  const created = await createOrder(order('kubb'));
  const page = await listOrders({ status: ['pending', 'cancelled'] });
  const feed = await listEvents();
  const refusal = await holdRedemption(created.id, { amount: '9.00' }).then(
    () => 'none',
    ({ response }: ResponseErrorConfig<HoldRedemption422>) => (response ? explain(response.data) : 'lost'),
  );
${REPORT}}
`,
  },
  'swagger-typescript-api': {
    command: [bin('swagger-typescript-api'), 'generate', '-p', DOCUMENT, '-o', 'swagger'],
    exact: true,
    program: `
import { Api, type EventDto, type HttpResponse, type OrderDto, type Problem } from './swagger/Api.js';
${REFUND_OF}${EXPLAIN}
export async function sell(baseUrl: string, email: string, password: string): Promise<Report> {
  const securityWorker = (token: string | null) => ({ headers: { authorization: \`Bearer \${token}\` } });
  const api = new Api<string>({ baseUrl, securityWorker });
  const { data: tokens } = await api.auth.login({ email, password });
  api.setSecurityData(tokens.access_token);
  const { data: created } = await api.orders.createOrder(order('swagger-typescript-api'));
  const { data: page } = await api.orders.listOrders({ status: ['pending', 'cancelled'] });
  const { data: feed } = await api.events.listEvents();
  const refusal = await api.orders.holdRedemption(created.id, { amount: '9.00' }).then(
    () => 'none',
    ({ error }: HttpResponse<OrderDto, Problem>) => explain(error),
  );
${REPORT}}
`,
  },
  oazapfts: {
    command: [bin('oazapfts'), DOCUMENT, 'oazapfts.ts'],
    exact: false,
    program: `
import { ok } from '@oazapfts/runtime';
import { createOrder, defaults, holdRedemption, listEvents, listOrders, login } from './oazapfts.js';
import type { EventDto, Problem } from './oazapfts.js';
${REFUND_OF}${EXPLAIN}
export async function sell(baseUrl: string, email: string, password: string): Promise<Report> {
  defaults.baseUrl = baseUrl;
  const tokens = await ok(login({ email, password }));
  defaults.headers = { authorization: \`Bearer \${tokens.access_token}\` };
  const created = await ok(createOrder(order('oazapfts')));
  const page = await ok(listOrders({ status: ['pending', 'cancelled'] }));
  const feed = await ok(listEvents());
  const refused = await holdRedemption(created.id, { amount: '9.00' });
  const refusal = refused.status === 422 ? explain(refused.data) : 'none';
${REPORT}}
`,
  },
  // Its objects have an index signature, so a misspelled member compiles. It has no types of errors, because it reads
  // application/json only.
  'openapi-zod-client': {
    command: [bin('openapi-zod-client'), DOCUMENT, '-o', 'zod.ts'],
    exact: true,
    program: `
import { isAxiosError } from 'axios';
import { createApiClient } from './zod.js';

type EventDto = Awaited<ReturnType<ReturnType<typeof createApiClient>['listEvents']>>['data'][number];
${REFUND_OF.replace(/ +\/\/ @ts-expect-error.*\n.*\n/, '')}
export async function sell(baseUrl: string, email: string, password: string): Promise<Report> {
  const api = createApiClient(baseUrl);
  const tokens = await api.login({ email, password });
  const headers = { authorization: \`Bearer \${tokens.access_token}\` };
  const created = await api.createOrder(order('openapi-zod-client'), { headers });
  const page = await api.listOrders({ headers, queries: { status: ['pending', 'cancelled'] } });
  const feed = await api.listEvents({ headers });
  const refusal = await api.holdRedemption({ amount: '9.00' }, { headers, params: { id: created.id } }).then(
    () => 'none',
    (error: unknown) => {
      const { code, maximum, limited_by } = isAxiosError(error) ? error.response?.data : {};
      return code === 'redemption_exceeds_maximum' ? maximum + ' ' + limited_by : 'lost';
    },
  );
${REPORT}}
`,
  },
};

/** Strict, but for the types of libraries: those of kubb import a file without types. */
const TSC = [
  [path.resolve('node_modules/typescript/bin/tsc'), '--ignoreConfig', '--strict', '--skipLibCheck', '--outDir', 'js'],
  ['--target', 'es2023', '--lib', 'es2023,dom,dom.iterable', '--module', 'esnext', '--moduleResolution', 'bundler'],
  // kubb imports its own files by the name of the source.
  ['--rewriteRelativeImportExtensions'],
].flat();

describe('generated clients, each with the default options of its generator', () => {
  const { service, merchant } = useService();
  const folder = new NpmFolder();

  beforeAll(async () => {
    if (!existsSync(DOCUMENT))
      throw new Error(`${DOCUMENT} does not exist: run \`npm run build && node tools/openapi.mjs\` first`);
    await folder.install(...PACKAGES);
    folder.write('kubb.config.mjs', KUBB_CONFIG);
    folder.write('shared.ts', SHARED);
    const { id } = await aCompletedOrder(merchant, { external_id: 'completed' });
    const { id: cancelled } = await merchant.create({ external_id: 'cancelled' });
    await merchant.client.post(`/orders/${cancelled}/cancel`);
    await merchant.client.post(`/orders/${id}/refunds`, { external_id: 'r-1', amount: '5.00' });
    await numberEvents(service);
  });
  afterAll(() => folder.remove());

  it.each(Object.entries(GENERATORS))(
    'a strict program with the client of %s logs in, sells, lists by two statuses, and narrows an event and a problem',
    async (name, { command, exact, program }) => {
      await folder.run(process.execPath, ...command);
      const main = `const [url = '', email = '', password = ''] = process.argv.slice(2);
        console.log(JSON.stringify(await sell(url, email, password)));`;
      const imports = `import { order, type Report } from './shared.js';\ndeclare const process: { argv: string[] };\n`;
      folder.write(`${name}-program.ts`, imports + program + main);
      const exactly = exact ? ['--exactOptionalPropertyTypes'] : [];
      await folder.run(process.execPath, ...TSC, ...exactly, `${name}-program.ts`);
      const output = await folder.run(
        process.execPath,
        `js/${name}-program.js`,
        service.url,
        merchant.email,
        merchant.password,
      );
      const { created, listed, refunded, refusal } = JSON.parse(output) as Record<string, unknown>;
      expect({ created, refunded, refusal }).toEqual({ created: name, refunded: ['5.00'], refusal: '0.00 balance' });
      expect(listed).toEqual(expect.arrayContaining([name, 'cancelled']));
      expect(listed).not.toContain('completed');
    },
  );

  it('the functions of a generated client have the names of the operations', () => {
    const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as OpenApi;
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const source = readFileSync(path.join(folder.path, 'hey-api/sdk.gen.ts'), 'utf8');
    const functions = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name);
    expect(functions.sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
  });
});
