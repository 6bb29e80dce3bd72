import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Answer } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { anOrder } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { useService } from '../support/use-service.js';

/**
 * The seed is the same in every run, so that a failure comes from the change under test. FUZZ_SEED sets another one.
 */
const seed = Number(process.env.FUZZ_SEED ?? 20_261_120);
const ORDERS = 1500;
const AT_ONCE = 10;

const NAMES = ['external_id items document total payment_methods id price amount description'.split(' '), '']
  .concat('__proto__ constructor toString hasOwnProperty then length'.split(' '))
  .flat();
const nastyText = fc.constantFrom(
  '',
  ' ',
  '0',
  '0.00',
  '-0',
  '1e400',
  '1.005',
  '99999999999999999999',
  '\0',
  '\ud800',
  '\udfff',
  '😀'.repeat(101),
  'x'.repeat(600),
  "'; DROP TABLE orders; --",
  '${7*7}',
  '{{}}',
  '%00',
  '\u202e',
  'NaN',
  'null',
  '__proto__',
);
/** Values that are valid in some places, so that a mutation can also produce a valid order. */
const plausible = fc.constantFrom('1', '9.99', '10.0', '10.00', '999999999.99', 'sku-2', '12345678909');
const nastyNumber = fc.constantFrom(0, -0, -1, 0.1, 1e21, 1e308, 2 ** 53, Number.MIN_VALUE, 15_000);
const junk: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    plausible,
    nastyText,
    nastyNumber,
    fc.boolean(),
    fc.constant(null),
    fc.string({ unit: 'binary' }),
    fc.double(),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('value'), { maxLength: 6 }),
  object: fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string()), tie('value'), { maxKeys: 6 }),
})).value;

/** Where and how to change the order: each step selects a child of the current value. */
interface Mutation {
  steps: number[];
  how: 'replace' | 'delete' | 'wrap' | 'repeat' | 'add';
  value: unknown;
  name: string;
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  steps: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 4 }),
  how: fc.constantFrom('replace', 'replace', 'replace', 'delete', 'wrap', 'repeat', 'add'),
  value: junk,
  name: fc.constantFrom(...NAMES),
});

type Container = Record<string, unknown>;
const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

function mutate(order: Container, { steps, how, value, name }: Mutation): void {
  let at: Container = order;
  for (const step of steps.slice(0, -1)) {
    const children = Object.values(at);
    const child = children[step % children.length];
    if (!isContainer(child) || Object.keys(child).length === 0) break;
    at = child;
  }
  const keys = Object.keys(at);
  const key = keys[(steps.at(-1) ?? 0) % keys.length] ?? '';
  const old = at[key];
  if (how === 'delete') delete at[key];
  else if (how === 'wrap') at[key] = [old];
  else if (how === 'repeat') at[key] = Array.from({ length: 25 }, () => structuredClone(old));
  else if (how === 'add' && Array.isArray(at)) at.push(value);
  else
    Object.defineProperty(at, how === 'add' ? name : key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

/** Few IDs, so that some requests reuse an external_id with different content. */
const mutatedOrder = fc.tuple(fc.nat({ max: 200 }), fc.array(mutation, { maxLength: 3 })).map(([id, mutations]) => {
  const order: Container = anOrder({ total: '10.00', external_id: `PED-${id}`, document: '52998224725' });
  for (const each of mutations) mutate(order, each);
  return order;
});

const { service, merchant } = useService();

/** Expects no 5xx, and a problem with a code for every refused request. */
function expectOrderOrProblem(answer: Answer): void {
  if (answer.status !== 201) expectProblem(answer, answer.status, answer.body.code);
  expect([201, 400, 409, 422]).toContain(answer.status);
}

describe(`fuzzed requests (FUZZ_SEED=${seed})`, () => {
  it(`${ORDERS} mutated orders return an order or a problem and never a server error`, async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(mutatedOrder, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (orders) => {
        const answers = await Promise.all(orders.map((order) => merchant.client.post('/orders', order)));
        for (const answer of answers) {
          expectOrderOrProblem(answer);
          const kind = answer.status === 201 ? '201' : String(answer.body.code);
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
      }),
      { seed, numRuns: ORDERS / AT_ONCE, endOnFailure: true },
    );
    // The test proves nothing if all mutations are accepted or all are refused.
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['201', 'validation_failed', 'external_id_conflict']));
    expect(service.logged.filter((line) => line.includes('internal_error'))).toEqual([]);
    await expectInvariants(service);
  });

  it('truncated, duplicated, and corrupted bodies return an order or a problem', async () => {
    const bytes = Buffer.from(JSON.stringify(anOrder({ items: [{ id: 'é😀', price: '1.00', description: '\\"\n' }] })));
    const damage = fc.record({
      at: fc.nat({ max: bytes.length - 1 }),
      length: fc.nat({ max: 5 }),
      by: fc.uint8Array({ maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(damage, { minLength: 1, maxLength: 3 }), async (damages) => {
        const raw = damages.reduce(
          (body, { at, length, by }) => Buffer.concat([body.subarray(0, at), by, body.subarray(at + length)]),
          bytes,
        );
        expectOrderOrProblem(await merchant.client.send('POST', '/orders', { raw }));
      }),
      { seed, numRuns: 300, endOnFailure: true },
    );
  });

  it('requests with any path, method, and header get a response that is not 5xx', async () => {
    const path = fc.array(
      fc.oneof(
        fc.constantFrom(...'orders auth login refresh wallets search entries health docs'.split(' ')),
        fc.constantFrom('..', '%', '%ff', '%00', '%2e%2e', ''),
        fc.webPath(),
      ),
      { maxLength: 4 },
    );
    const request = fc.record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'),
      path: path.map((parts) => `/${parts.join('/')}`.replaceAll(/[^\x21-\x7e]/g, '')),
      query: fc.constantFrom(
        '',
        '?',
        '?limit=x',
        '?limit=1&limit=2',
        '?cursor=%ff',
        '?cursor[]=1',
        '?created_from=2026-02-30',
        '?__proto__=1',
        '?external_id=%00',
        '?status[$ne]=x',
      ),
      type: fc.constantFrom(
        'application/json',
        'text/plain',
        '',
        'application/json; charset=x',
        'multipart/form-data',
        '\xff',
      ),
      requestId: fc.constantFrom('id-1', '', '\xe9', 'a'.repeat(500), '{}'),
      accept: fc.constantFrom('*/*', 'text/html', 'application/xml', ''),
      body: fc.constantFrom('', '{}', '[]', '{', '\xff', 'a=b'),
    });
    await fc.assert(
      fc.asyncProperty(
        request,
        fc.boolean(),
        async ({ method, path: at, query, type, requestId, accept, body }, hasToken) => {
          const authorization = hasToken ? `Bearer ${merchant.tokens.access_token}` : 'Basic \x80';
          const headers = { authorization, accept, 'content-type': type, 'x-request-id': requestId };
          const answer = await sendBytes(service, aRequest(`${method} ${at}${query}`, headers, body));
          expect(answer.status).toBeLessThan(500);
          expect(answer.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
          if (answer.status >= 400 && method !== 'HEAD') expectProblem(answer, answer.status, answer.body.code);
        },
      ),
      { seed, numRuns: 300, endOnFailure: true },
    );
  });
});
