import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { type Answer, Client } from '../support/client.js';
import { expectCreation, expectProblem } from '../support/expectations.js';
import { aMerchant, logIn, PASSWORD } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { type Order, type Tokens, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

/** A call of one of the three operations of the original specification: a line of original-interface.txt. */
interface Row {
  title: string;
  method: string;
  path: string;
  headers: Record<string, string | undefined>;
  /** The text of the body, in which the names of `newValues` are replaced. */
  body: string;
  /** The bytes of that text. */
  bytes: (text: string) => Buffer;
}

interface RefusedRow extends Row {
  status: number;
  code: string;
  /** The whole detail of the problem, if the line or its heading has one. */
  detail?: string;
  /** All errors of the problem, by pointer, or by the name of the query parameter. */
  errors: Record<string, string>;
  next_action: string;
}

interface OrderRow extends Row {
  /** Members of the order. */
  order: Partial<Order>;
  /** The most that can be redeemed. */
  redeem: string;
  receive: string;
}

const EMAIL = 'api@shop.example';
const CPF = '52998224725';
const CNPJ = '12ABC34501DE35';
const BALANCE = '80.00';
const BOM = '\ufeff';
const JSON_TYPE = 'application/json';
/** The window of a repeated refresh is far longer than a test. */
const env = { REFRESH_RETRY_WINDOW_SECONDS: '300' };

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const { service, merchant } = useService({
  env,
  merchant: (started) => aMerchant(started, { earnRatesByPaymentMethod: { pix: 1000 } }),
});
const anyone = new Client(service);

beforeAll(async () => {
  const merchantId = merchant.id;
  const users = service.app.get(ApiUsersService);
  await users.create({ merchantId, name: 'Caixa 3', email: EMAIL, permissions: ['sell'] }, PASSWORD);
  await merchant.credit(CPF, BALANCE);
  await merchant.credit(CNPJ, BALANCE);
});

const chunked = (text: string): Buffer =>
  Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n0\r\n\r\n`);

type Values = Record<'$ACCESS_TOKEN' | '$REFRESH_TOKEN' | '$ID', string>;

/** What a row can name in its path, headers and body: a new token set of the user, and a new external ID. */
async function newValues(): Promise<Values> {
  const tokens = await logIn(service, EMAIL);
  return { $ACCESS_TOKEN: tokens.access_token, $REFRESH_TOKEN: tokens.refresh_token, $ID: `PED-${unique()}` };
}

/** Fills a row with values. @returns a function that sends the same bytes each time. */
function prepare({ method, path: target, headers, body, bytes }: Row, values: Values) {
  const filled = (text: string): string =>
    Object.entries(values).reduce((result, [name, value]) => result.replaceAll(name, value), text);
  const fields = Object.entries(headers).map(([name, value]) => [name, value && filled(value)] as const);
  const request = aRequest(`${method} ${filled(target)}`, Object.fromEntries(fields), bytes(filled(body)));
  return <T>(): Promise<Answer<T>> => send<T>(request);
}

/** Sends bytes, again after a 503 like `Client`: a busy machine must not fail a test. */
async function send<T>(request: Buffer): Promise<Answer<T>> {
  for (let attempt = 1; ; attempt++) {
    const answer = (await sendBytes(service, request)) as Answer<unknown> as Answer<T>;
    const seconds = answer.status === 503 ? answer.headers.get('retry-after') : null;
    if (seconds === null || attempt === 20) return { ...answer, isRepeated: attempt > 1 };
    await sleep(Number(seconds) * 1000);
  }
}

/** All that the three operations can create. */
const stored = (): Promise<unknown> =>
  rowsOf(
    service,
    `SELECT (SELECT COUNT(*) FROM orders) AS orders, (SELECT COUNT(*) FROM sessions) AS sessions,
            (SELECT COUNT(*) FROM token_sets) AS token_sets`,
  );

/** Expects the problem of a row, that nothing was created, and the same problem for the repeated call. */
async function expectRefusal(row: RefusedRow): Promise<void> {
  const call = prepare(row, await newValues());
  const before = await stored();
  for (const answer of [await call(), await call()]) {
    const problem = expectProblem(answer, row.status, row.code);
    expect(problem.next_action).toBe(row.next_action);
    const { errors = [] } = problem;
    const found = errors.map(({ pointer, parameter, detail }) => [pointer ?? parameter, detail]);
    expect(found.sort()).toEqual(Object.entries(row.errors).sort());
    expect(problem).toMatchObject(row.detail === undefined ? {} : { detail: row.detail });
  }
  expect(await stored()).toEqual(before);
}

/** Expects the token set of the specification, whose access token works. */
async function expectTokenSet(answer: Answer<Tokens>): Promise<void> {
  const { status, headers, body } = answer;
  expect({ status, body }).toEqual({
    status: 201,
    body: {
      access_token: expect.stringMatching(new RegExp(`^cbat_${UUID}$`)),
      access_token_expire_at: expect.stringMatching(RFC_3339),
      refresh_token: expect.stringMatching(new RegExp(`^cbrt_${UUID}$`)),
    },
  });
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(Date.parse(body.access_token_expire_at)).toBeGreaterThan(service.clock.now().getTime());
  expect(await statusOf(body)).toBe(200);
}

const statusOf = async ({ access_token: token }: Tokens): Promise<number> =>
  (await anyone.get('/me', { token })).status;

/** How the text of a body can be sent. */
const BYTES: Record<string, (text: string) => Buffer> = {
  mark: (text) => Buffer.from(BOM + text),
  blanks: (text) => Buffer.from(`\r\n\t${text}\r\n`),
  chunks: chunked,
  gzip: (text) => gzipSync(text),
  utf16: (text) => Buffer.from(BOM + text, 'utf16le'),
  latin1: (text) => Buffer.from(text, 'latin1'),
  cut: (text) => Buffer.from(text.slice(0, -1)),
  quotes: (text) => Buffer.from(text.replaceAll('"', "'")),
  comma: (text) => Buffer.from(text.replace(/\}$/, ',}')),
};

const COMMON = { accept: JSON_TYPE, 'content-type': JSON_TYPE };
/** The members of an order in the specification, as JSON. */
const ORDER = {
  external_id: '"$ID"',
  items: '[{"id":"sku-1","price":"10.00","description":"Coffee"}]',
  document: `"${CPF}"`,
  total: '"10.00"',
  payment_methods: '[{"id":"pix","amount":"10.00"}]',
};
const orderOf = (members: Record<string, string>): string =>
  `{${Object.entries(members)
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}}`;

/** The calls that the specification shows. */
const CALLS: Record<string, Pick<Row, 'headers' | 'body'>> = {
  'POST /auth/login': { headers: COMMON, body: `{"email":"${EMAIL}","password":"${PASSWORD}"}` },
  'POST /auth/refresh': { headers: COMMON, body: '{"refresh_token":"$REFRESH_TOKEN"}' },
  'POST /orders': { headers: { ...COMMON, authorization: 'Bearer $ACCESS_TOKEN' }, body: orderOf(ORDER) },
};

/** The call of an operation with the changes of a line. */
function rowOf(operation: string, title: string, changes: string[]): Row {
  const [method = '', target = ''] = operation.split(' ');
  const { headers, body } = CALLS[operation]!;
  const row: Row = { title, method, path: target, headers: { ...headers }, body, bytes: (text) => Buffer.from(text) };
  const members: Record<string, string> = { ...ORDER };
  for (const change of changes) {
    const [, name = '', sign = '', value = ''] = /^(no [\w-]+|[\w-]+) ?(=|:|)(?: ?)([^]*)$/.exec(change) ?? [];
    const bare = name.replace('no ', '');
    if (sign === ':') row.headers[bare] = name === bare ? value : undefined;
    else if (name === 'method' || name === 'path') row[name] = value;
    else if (name === 'body') row.body = value.replaceAll('$LF', '\n');
    else if (name === 'bytes') row.bytes = BYTES[value]!;
    else {
      if (name === bare) members[name] = value;
      else delete members[bare];
      row.body = orderOf(members);
    }
  }
  if (row.bytes === BYTES.chunks) row.headers['content-length'] = undefined;
  return row;
}

const listOf = (cell = ''): string[] => cell.split(' && ').filter((each) => each !== '');

/** The lines of original-interface.txt about an operation whose headings begin with these words. */
function linesOf(operation: string, words: string): { heading: string; row: Row; answer: string[] }[] {
  const [, ...sections] = readFileSync(path.join(import.meta.dirname, 'original-interface.txt'), 'utf8')
    .replaceAll(/\n {4}/g, ' ')
    .split(/^# /m);
  return sections.flatMap((text) => {
    const [heading = '', ...lines] = text.trimEnd().split(/\n+/);
    if (![operation, 'each operation'].some((of) => heading.startsWith(`${of} ${words}`))) return [];
    return lines.map((line) => {
      const [title = '', changes, answer] = line.split(/ \|(?: |$)/);
      return { heading, row: rowOf(operation, title, listOf(changes)), answer: listOf(answer) };
    });
  });
}

const acceptedBy = (operation: string): OrderRow[] =>
  linesOf(operation, 'is accepted').map(({ row, answer }) => {
    const told = Object.fromEntries(answer.map((each) => each.split(/ (.*)/s).slice(0, 2))) as Record<string, string>;
    const { order = '{}', redeem = '5.00', receive = '1.00' } = told;
    return { ...row, redeem, receive, order: JSON.parse(order) as Partial<Order> };
  });

const refusedBy = (operation: string): RefusedRow[] =>
  linesOf(operation, 'is refused').map(({ heading, row, answer }) => {
    const [, status, code = '', next_action = '', ofHeading] = /: (\d+) (\w+) (\w+)(?:: (.*))?$/.exec(heading) ?? [];
    const own = answer.find((each) => each.startsWith('detail '))?.slice('detail '.length);
    const errors = own === undefined ? answer.map((each) => each.split(/: (.*)/s).slice(0, 2)) : [];
    const detail = own ?? ofHeading;
    const told = Object.fromEntries(errors) as Record<string, string>;
    return { ...row, status: Number(status), code, next_action, errors: told, ...(detail !== undefined && { detail }) };
  });

describe('what is accepted', () => {
  it.each(acceptedBy('POST /auth/login'))(
    'POST /auth/login returns 201 with a token set, and another session each time, for $title',
    async (row) => {
      const call = prepare(row, await newValues());
      const answers = [await call<Tokens>(), await call<Tokens>()] as const;
      for (const answer of answers) await expectTokenSet(answer);
      const [first, second] = answers;
      expect(second.body.access_token).not.toBe(first.body.access_token);
      expect(second.body.refresh_token).not.toBe(first.body.refresh_token);
      expect((await anyone.send('POST', '/auth/logout', { token: first.body.access_token })).status).toBe(204);
      expect([await statusOf(first.body), await statusOf(second.body)]).toEqual([401, 200]);
    },
  );

  it.each(acceptedBy('POST /auth/refresh'))(
    'POST /auth/refresh returns 201 with a new token set, and the identical one when repeated, for $title',
    async (row) => {
      const values = await newValues();
      const call = prepare(row, values);
      const first = await call<Tokens>();
      await expectTokenSet(first);
      expect(first.body.access_token).not.toBe(values.$ACCESS_TOKEN);
      expect(first.body.refresh_token).not.toBe(values.$REFRESH_TOKEN);
      const second = await call<Tokens>();
      expect({ status: second.status, body: second.body }).toEqual({ status: 201, body: first.body });
      const next = await anyone.post<Tokens>('/auth/refresh', { refresh_token: second.body.refresh_token });
      await expectTokenSet(next);
      expect(next.body.refresh_token).not.toBe(first.body.refresh_token);
    },
  );

  it.each(acceptedBy('POST /orders'))(
    'POST /orders returns 201 with the cashback of a new order, and the same order when repeated, for $title',
    async (row) => {
      const { order: expected, redeem, receive } = row;
      const call = prepare(row, await newValues());
      const first = await call<Order>();
      expect({ status: first.status, body: first.body }).toMatchObject({ status: 201 });
      expectCreation(first);
      expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(first.headers.get('location')).toBe(`/orders/${first.body.id}`);
      expect(first.body).toMatchObject({
        id: expect.stringMatching(new RegExp(`^${UUID}$`)),
        external_id: expect.stringMatching(/^PED-/),
        status: 'pending',
        document: CPF,
        total: '10.00',
        cashback: {
          to_redeem: { available: BALANCE, maximum: redeem, held: '0.00', redeemed: '0.00', returned: '0.00' },
          to_receive: {
            amount: receive,
            status: 'quoted',
            available_at: expect.stringMatching(RFC_3339),
            expires_at: expect.stringMatching(RFC_3339),
          },
        },
        created_at: expect.stringMatching(RFC_3339),
        expires_at: expect.stringMatching(RFC_3339),
        ...expected,
      });
      const second = await call<Order>();
      expect({ status: second.status, body: second.body }).toEqual({ status: 201, body: first.body });
      expect(second.headers.get('idempotency-replayed')).toBe('true');
      expect(await merchant.order(first.body)).toEqual(first.body);
    },
  );

  it.each([
    ['empty payment_methods', 'payment_methods = []', 'no payment_methods'],
    ['no payment_methods', 'no payment_methods', 'payment_methods = null'],
    ['a CPF with punctuation', 'document = "529.982.247-25"', `document = "${CPF}"`],
    ['a CPF without punctuation', `document = "${CPF}"`, 'document = "529.982.247-25"'],
    ['no currency', 'total = "10.00"', 'currency = "BRL"'],
    ['the total "10"', 'total = "10"', 'total = "10.00"'],
  ])('POST /orders with %s (%s) returns the same order when repeated with %s', async (_, ...changes) => {
    const values = await newValues();
    const [first, second] = changes.map((change) => prepare(rowOf('POST /orders', '', [change]), values));
    const [created, repeated] = [await first!<Order>(), await second!<Order>()];
    expectCreation(created);
    expect({ status: repeated.status, body: repeated.body }).toEqual({ status: 201, body: created.body });
    expect(repeated.headers.get('idempotency-replayed')).toBe('true');
  });

  it('POST /orders returns 409 for the external_id of an order with a different total', async () => {
    const values = await newValues();
    const totals = ['total = "10.00"', 'total = "11.00"'];
    const [create, conflict] = totals.map((total) => prepare(rowOf('POST /orders', '', [total]), values));
    const created = await create!<Order>();
    expectCreation(created);
    const problem = expectProblem(await conflict!(), 409, 'external_id_conflict');
    expect(problem).toMatchObject({ existing_id: created.body.id, next_action: 'read_existing' });
    expect(problem.errors.map(({ pointer }) => pointer)).toEqual(['/total']);
    expect(await merchant.order(created.body)).toEqual(created.body);
  });
});

it.each(Object.keys(CALLS).flatMap(refusedBy))('$method $path returns $status for $title', (row) => expectRefusal(row));
