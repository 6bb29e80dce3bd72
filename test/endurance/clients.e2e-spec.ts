import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenApi } from '../support/contract.js';
import { aDocument, anOrder } from '../support/factories.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

// That of a sandbox has all operations. An absolute path: @hey-api/openapi-ts takes a relative one for a name in its
// registry.
const DOCUMENT = path.resolve('dist/openapi-sandbox.json');
const FOLDER = path.resolve('dist/clients');
const STRICT = [
  [
    '--ignoreConfig',
    '--strict',
    '--noEmit',
    '--noUncheckedIndexedAccess',
    '--target',
    'es2023',
    '--lib',
    'es2023,dom,dom.iterable',
  ],
  ['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck', 'false'],
].flat();

/** A function of the generated client. */
type Send = (request: object) => Promise<{ data: Order; error: object }>;

/** The body of the first order in the README. */
const FIRST_ORDER = /-d '(\{\s+"external_id".*?\})'\n/s.exec(readFileSync('README.md', 'utf8'))?.[1];

/**
 * Code of a caller that uses what `@hey-api/openapi-ts` generates. It handles every error in one function. A line that
 * must not compile says so.
 */
const CALLER = `
import { amendOrder, completeOrder, createOrder, holdRedemption, listOrders } from './hey-api/index.js';
import type { OrderStatus, Problem } from './hey-api/index.js';

export function explain(problem: Problem): string {
  switch (problem.code) {
    case 'redemption_exceeds_maximum':
      return problem.maximum;
    case 'invalid_transition':
      return problem.current_status + problem.operations.join();
    case 'validation_failed':
      return problem.errors.map(({ detail }) => detail).join();
    case 'not_found':
      // @ts-expect-error This problem has no maximum.
      return problem.maximum;
    // @ts-expect-error The code is misspelled.
    case 'redemption_no_longer_avaliable':
      return '';
    default:
      return problem.retryable ? problem.next_action : problem.detail;
  }
}

export async function firstOrder(): Promise<OrderStatus | string> {
  const { data, error } = await createOrder({ body: ${FIRST_ORDER} });
  return data === undefined ? explain(error) : data.status;
}

export async function hold(id: string): Promise<string> {
  const { data, error } = await holdRedemption({ path: { id }, body: { amount: '10.00' } });
  return data === undefined ? explain(error) : data.cashback.to_redeem.held;
}

export async function amend(id: string, version: number): Promise<string> {
  const cart = { total: '10.00', items: [{ id: 'sku-1', price: '10.00' }], payment_methods: [] };
  const headers = { 'If-Match': \`"\${version}"\` };
  const { data, error } = await amendOrder({ path: { id }, headers, body: { ...cart, redeem: 'maximum' } });
  // @ts-expect-error An amount is not a value of redeem.
  void amendOrder({ path: { id }, body: { ...cart, redeem: '5.00' } });
  return data === undefined ? explain(error) : data.total;
}

export async function complete(id: string): Promise<string> {
  const { data, error } = await completeOrder({ path: { id }, body: {} });
  return data === undefined ? explain(error) : data.status;
}

export async function pending(): Promise<string[]> {
  const { data } = await listOrders({ query: { status: ['pending'] } });
  return data?.data.map(({ id }) => id) ?? [];
}

// @ts-expect-error The body has no external_id.
void createOrder({ body: { items: [], document: '52998224725', total: '1.00', payment_methods: [] } });
`;

/** Runs a program of the project and expects it to succeed. */
function run(program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed:\n${stdout}${stderr}`);
}

describe('generated clients', () => {
  const { service, merchant } = useService();

  beforeAll(() => {
    if (!existsSync(DOCUMENT))
      throw new Error(`${DOCUMENT} does not exist: run \`npm run build && node tools/openapi.mjs\` first`);
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    run('node_modules/@hey-api/openapi-ts/bin/run.js', '-i', DOCUMENT, '-o', `${FOLDER}/hey-api`, '--silent');
  });
  afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

  it("a caller of a generated client compiles with the README's first order and narrows one Problem by its code", () => {
    expect(FIRST_ORDER).toContain('PED-1001');
    const file = path.join(FOLDER, 'caller.ts');
    writeFileSync(file, CALLER);
    expect(() => run('node_modules/typescript/bin/tsc', ...STRICT, file)).not.toThrow();
  });

  it('the functions of a generated client have the names of the operations', () => {
    const { paths } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as OpenApi;
    const operationIds = Object.values(paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    const source = readFileSync(`${FOLDER}/hey-api/sdk.gen.ts`, 'utf8');
    const functions = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name);
    expect(functions.sort()).toEqual(operationIds.sort());
    expect(functions).toEqual(
      expect.arrayContaining(
        [
          ['login', 'refreshTokens', 'logout', 'createOrder', 'getOrder', 'listOrders', 'amendOrder'],
          ['holdRedemption', 'completeOrder', 'cancelOrder', 'createRefund', 'searchWallet', 'listWalletEntries'],
        ].flat(),
      ),
    );
  });

  it('a generated client creates an order, amends it, and reads the maximum of a refused redemption', async () => {
    const sdk = (await import(`${FOLDER}/hey-api/sdk.gen.ts`)) as Record<string, Send>;
    const { client } = (await import(`${FOLDER}/hey-api/client.gen.ts`)) as { client: { setConfig(to: object): void } };
    client.setConfig({ baseUrl: service.url, auth: merchant.tokens.access_token });
    const { data } = await sdk.createOrder!({ body: anOrder({ document: aDocument() }) });
    expect(data.status).toBe('pending');
    const amendment = {
      path: { id: data.id },
      headers: { 'If-Match': `"${data.version}"` },
      body: { total: '10.00', items: [{ id: 'sku-1', price: '10.00' }], payment_methods: [] },
    };
    expect((await sdk.amendOrder!(amendment)).data).toMatchObject({ total: '10.00', version: 2 });
    const stale = { ...amendment, body: { ...amendment.body, total: '11.00' } };
    expect((await sdk.amendOrder!(stale)).error).toMatchObject({ code: 'precondition_failed' });
    const { error } = await sdk.holdRedemption!({ path: { id: data.id }, body: { amount: '1.00' } });
    expect(error).toMatchObject({ code: 'redemption_exceeds_maximum', maximum: '0.00' });
    expect((await sdk.cancelOrder!({ path: { id: data.id } })).data.status).toBe('cancelled');
  });
});
