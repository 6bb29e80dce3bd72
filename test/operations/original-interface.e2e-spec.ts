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

/**
 * A call of one of the three operations of the original specification. What a row leaves out is as the specification
 * has it: POST, the path of the operation, its two headers (for orders also the access token), and a valid body.
 */
interface Row {
  title: string;
  method?: string;
  path?: string;
  /** Added to those of the operation. Undefined removes one. */
  headers?: Record<string, string | undefined>;
  /** The text of the body, in which the names of `newValues` are replaced. */
  body?: string;
  /** The bytes of that text. The default is UTF-8. */
  bytes?: (text: string) => Buffer;
}

interface RefusedRow extends Row {
  status: number;
  code: string;
  /** The whole detail of the problem. */
  detail?: string;
  /** All errors of the problem, by pointer, or by the name of the query parameter. */
  errors?: Record<string, string>;
  /** The default is `fix_request`. */
  next_action?: string;
}

interface OrderRow extends Row {
  /** Members of the order. */
  order?: Partial<Order>;
  /** The most that can be redeemed. */
  redeem?: string;
  receive?: string;
}

type SentRow = Row & Required<Pick<Row, 'method' | 'path' | 'body'>>;

const EMAIL = 'api@shop.example';
const CPF = '52998224725';
const CNPJ = '12ABC34501DE35';
const BALANCE = '80.00';
const BOM = '\ufeff';
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
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
function prepare({ method, path, headers = {}, body, bytes = (text) => Buffer.from(text) }: SentRow, values: Values) {
  const filled = (text: string): string =>
    Object.entries(values).reduce((result, [name, value]) => result.replaceAll(name, value), text);
  const fields = Object.entries(headers).map(([name, value]) => [name, value && filled(value)] as const);
  const request = aRequest(`${method} ${filled(path)}`, Object.fromEntries(fields), bytes(filled(body)));
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
async function expectRefusal(row: SentRow & RefusedRow): Promise<void> {
  const call = prepare(row, await newValues());
  const before = await stored();
  for (const answer of [await call(), await call()]) {
    const problem = expectProblem(answer, row.status, row.code);
    expect(problem.next_action).toBe(row.next_action ?? 'fix_request');
    const { errors = [] } = problem;
    const found = errors.map(({ pointer, parameter, detail }) => [pointer ?? parameter, detail]);
    expect(found.sort()).toEqual(Object.entries(row.errors ?? {}).sort());
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

const NO_PATH = 'no operation has this path';
const didYouMean = (path: string): string => `${NO_PATH}; did you mean "${path}"?`;
const NO_MEMBER = 'is not a member of this request';
const REQUIRED = 'is required';
const unsupported = (type: string): string =>
  `content-type must be application/json in UTF-8; received: ${type.slice(0, 100)}`;
const COMPRESSED = 'a request body must not be compressed; content-encoding: gzip';
const NOT_UTF_8 = 'the body is not valid UTF-8';

const invalid = (title: string, body: string, errors: Record<string, string>): RefusedRow => ({
  title,
  body,
  status: 400,
  code: 'validation_failed',
  errors,
});

/** Loose headers that change nothing about a request whose body is valid. */
const LOOSE_HEADERS: Row[] = [
  { title: 'the headers and the body of the specification' },
  { title: 'no Accept header', headers: { accept: undefined } },
  { title: 'Accept: text/html', headers: { accept: 'text/html' } },
  { title: 'Accept: */*', headers: { accept: '*/*' } },
  { title: 'a Content-Type with charset=utf-8', headers: { 'content-type': `${JSON_TYPE}; charset=utf-8` } },
  { title: 'a Content-Type with charset="utf-8"', headers: { 'content-type': `${JSON_TYPE};charset="utf-8"` } },
  { title: 'a Content-Type with charset=UTF8', headers: { 'content-type': `${JSON_TYPE}; charset=UTF8` } },
  { title: 'a Content-Type in capitals', headers: { 'content-type': 'Application/JSON' } },
  { title: 'a body with a byte order mark', bytes: (text) => Buffer.from(BOM + text) },
  { title: 'a body with line breaks and tabs around it', bytes: (text) => Buffer.from(`\r\n\t${text}\r\n`) },
  {
    title: 'a body in chunks',
    headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' },
    bytes: chunked,
  },
  { title: 'an Idempotency-Key header', headers: { 'idempotency-key': 'a0f3' } },
];

/** Headers and bytes that make a valid body unreadable. */
const UNREADABLE: RefusedRow[] = [
  ...['text/plain', FORM_TYPE, `${JSON_TYPE}; charset=iso-8859-1`, `${JSON_TYPE}; charset="utf-16"`, 'text/json'].map(
    (type) => ({
      title: `the Content-Type ${type}`,
      headers: { 'content-type': type },
      status: 415,
      code: 'unsupported_media_type',
      detail: unsupported(type),
    }),
  ),
  {
    title: 'no Content-Type',
    headers: { 'content-type': undefined },
    status: 415,
    code: 'unsupported_media_type',
    detail: unsupported('none'),
  },
  {
    title: 'a compressed body',
    headers: { 'content-encoding': 'gzip' },
    bytes: (text) => gzipSync(text),
    status: 415,
    code: 'unsupported_media_type',
    detail: COMPRESSED,
  },
  {
    title: 'a body in UTF-16',
    bytes: (text) => Buffer.from(BOM + text, 'utf16le'),
    status: 400,
    code: 'malformed_json',
    detail: NOT_UTF_8,
  },
  {
    title: 'a body without its end',
    bytes: (text) => Buffer.from(text.slice(0, -1)),
    status: 400,
    code: 'malformed_json',
  },
  {
    title: 'a body with single quotes',
    bytes: (text) => Buffer.from(text.replaceAll('"', "'")),
    status: 400,
    code: 'malformed_json',
  },
  {
    title: 'a body with a comma at its end',
    bytes: (text) => Buffer.from(text.replace(/\}$/, ',}')),
    status: 400,
    code: 'malformed_json',
  },
];

/** Bodies that are JSON, but not an object. */
const NO_OBJECT = ['null', '[]', '"text"', '1'].map((body) =>
  invalid(`the body ${body}`, body, { '': 'must be an object' }),
);

/** Paths and methods that callers guess. */
const guessed = (hinted: string[], unhinted: string[], method: string, path: string, allowed: string): RefusedRow[] => [
  ...[...hinted, ...unhinted].map((wrong) => ({
    title: 'the body of the specification',
    path: wrong,
    status: 404,
    code: 'route_not_found',
    detail: hinted.includes(wrong) ? didYouMean(path) : NO_PATH,
  })),
  {
    title: 'the body of the specification',
    method,
    status: 405,
    code: 'method_not_allowed',
    detail: `allowed: ${allowed}`,
  },
];

const COMMON = { accept: JSON_TYPE, 'content-type': JSON_TYPE };

/** Completes rows with what the specification says about the operation. */
const withDefaults = <T extends Row>(
  rows: T[],
  operation: Pick<SentRow, 'path' | 'body'>,
  headers: Row['headers'] = COMMON,
) => rows.map((row) => ({ method: 'POST', ...operation, ...row, headers: { ...headers, ...row.headers } }));

describe('POST /auth/login', () => {
  const operation = { path: '/auth/login', body: `{"email":"${EMAIL}","password":"${PASSWORD}"}` };

  const accepted = withDefaults(
    [
      ...LOOSE_HEADERS,
      { title: 'an email in capitals', body: `{"email":"${EMAIL.toUpperCase()}","password":"${PASSWORD}"}` },
      {
        title: 'members in another order, with blanks between them',
        body: `{ "password" : "${PASSWORD}" ,\n  "email" : "${EMAIL}" }`,
      },
      {
        title: 'characters as Unicode escapes',
        body: `{"email":"${EMAIL.replace('@', '\\u0040')}","p\\u0061ssword":"${PASSWORD}"}`,
      },
      {
        title: 'the same member twice, of which the last one counts',
        body: `{"password":"wrong",${operation.body.slice(1)}`,
      },
      { title: 'an Authorization header with an access token', headers: { authorization: 'Bearer $ACCESS_TOKEN' } },
      {
        title: 'an Authorization header with an unknown access token',
        headers: { authorization: 'Bearer cbat_00000000-0000-4000-8000-000000000000' },
      },
    ],
    operation,
  );

  it.each(accepted)(
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

  const EMAIL_FORM = 'must be an email address such as "api@shop.example"';
  const NO_PASSWORD = 'must be a non-empty string';
  const wrong = (title: string, email: string, password: string): RefusedRow => ({
    title,
    body: JSON.stringify({ email, password }),
    status: 401,
    code: 'invalid_credentials',
    detail: 'email or password is wrong',
  });

  const refused = withDefaults<RefusedRow>(
    [
      ...UNREADABLE,
      ...NO_OBJECT,
      invalid('no body', '', { '/email': REQUIRED, '/password': REQUIRED }),
      invalid('{}', '{}', { '/email': REQUIRED, '/password': REQUIRED }),
      invalid('no password', `{"email":"${EMAIL}"}`, { '/password': REQUIRED }),
      invalid('null as the password', `{"email":"${EMAIL}","password":null}`, { '/password': REQUIRED }),
      invalid('an empty password', `{"email":"${EMAIL}","password":""}`, { '/password': NO_PASSWORD }),
      invalid('a number as the password', `{"email":"${EMAIL}","password":123456}`, { '/password': NO_PASSWORD }),
      invalid('an email with a blank at its end', `{"email":"${EMAIL} ","password":"${PASSWORD}"}`, {
        '/email': EMAIL_FORM,
      }),
      invalid('an email without a domain', `{"email":"api","password":"${PASSWORD}"}`, { '/email': EMAIL_FORM }),
      invalid('a list of emails', `{"email":["${EMAIL}"],"password":"${PASSWORD}"}`, { '/email': EMAIL_FORM }),
      invalid('the member grant_type', `{"grant_type":"password",${operation.body.slice(1)}`, {
        '/grant_type': NO_MEMBER,
      }),
      invalid('the member username', `{"username":"${EMAIL}","password":"${PASSWORD}"}`, {
        '/email': REQUIRED,
        '/username': NO_MEMBER,
      }),
      invalid('the member Email', `{"Email":"${EMAIL}","password":"${PASSWORD}"}`, {
        '/email': REQUIRED,
        '/Email': `${NO_MEMBER}; did you mean "email"?`,
      }),
      {
        title: 'a form that is labelled JSON',
        body: `email=${encodeURIComponent(EMAIL)}&password=${encodeURIComponent(PASSWORD)}`,
        status: 400,
        code: 'malformed_json',
      },
      {
        title: 'the credentials in the query',
        path: `/auth/login?email=${encodeURIComponent(EMAIL)}&password=${encodeURIComponent(PASSWORD)}`,
        status: 400,
        code: 'validation_failed',
        errors: {
          email: 'is not a query parameter of this operation',
          password: 'is not a query parameter of this operation',
        },
      },
      {
        title: 'Basic credentials without a body',
        headers: { authorization: `Basic ${Buffer.from(`${EMAIL}:${PASSWORD}`).toString('base64')}` },
        body: '',
        status: 400,
        code: 'validation_failed',
        errors: { '/email': REQUIRED, '/password': REQUIRED },
      },
      wrong('a wrong password', EMAIL, 'wrong'),
      wrong('a password in capitals', EMAIL, PASSWORD.toUpperCase()),
      wrong('an email that no user has', 'nobody@shop.example', PASSWORD),
      ...guessed(
        ['/auth/login/', '/v1/auth/login', '/v2/auth/login/'],
        ['/Auth/Login', '/api/auth/login', '/login', '/auth'],
        'PUT',
        '/auth/login',
        'POST',
      ),
    ],
    operation,
  );

  it.each(refused)('$method $path returns $status for $title', (row) => expectRefusal(row));
});

describe('POST /auth/refresh', () => {
  const operation = { path: '/auth/refresh', body: '{"refresh_token":"$REFRESH_TOKEN"}' };

  const accepted = withDefaults(
    [
      ...LOOSE_HEADERS,
      { title: 'an Authorization header with the access token', headers: { authorization: 'Bearer $ACCESS_TOKEN' } },
      {
        title: 'an Authorization header with the access token and no scheme',
        headers: { authorization: '$ACCESS_TOKEN' },
      },
      {
        title: 'an Authorization header with an unknown access token',
        headers: { authorization: 'Bearer cbat_00000000-0000-4000-8000-000000000000' },
      },
      { title: 'an Authorization header with the refresh token', headers: { authorization: 'Bearer $REFRESH_TOKEN' } },
      {
        title: 'the same member twice, of which the last one counts',
        body: '{"refresh_token":"$ACCESS_TOKEN","refresh_token":"$REFRESH_TOKEN"}',
      },
    ],
    operation,
  );

  it.each(accepted)(
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

  const NO_TOKEN = 'must be a refresh token, a string such as "cbrt_5f0f4e9e-…"';
  const unknown = (title: string, token: string): RefusedRow => ({
    title,
    body: `{"refresh_token":"${token}"}`,
    status: 401,
    code: 'invalid_refresh_token',
    next_action: 'log_in',
    detail: 'the refresh token (cbrt_…) is unknown, expired, used or revoked: log in again',
  });

  const refused = withDefaults<RefusedRow>(
    [
      ...UNREADABLE,
      ...NO_OBJECT,
      invalid('no body', '', { '/refresh_token': REQUIRED }),
      invalid('{}', '{}', { '/refresh_token': REQUIRED }),
      invalid('null as the refresh token', '{"refresh_token":null}', { '/refresh_token': REQUIRED }),
      invalid('an empty refresh token', '{"refresh_token":""}', { '/refresh_token': NO_TOKEN }),
      invalid('a number as the refresh token', '{"refresh_token":1}', { '/refresh_token': NO_TOKEN }),
      invalid('a list of refresh tokens', '{"refresh_token":["$REFRESH_TOKEN"]}', { '/refresh_token': NO_TOKEN }),
      invalid('the member refreshToken', '{"refreshToken":"$REFRESH_TOKEN"}', {
        '/refresh_token': REQUIRED,
        '/refreshToken': `${NO_MEMBER}; did you mean "refresh_token"?`,
      }),
      invalid('the member grant_type', '{"grant_type":"refresh_token","refresh_token":"$REFRESH_TOKEN"}', {
        '/grant_type': NO_MEMBER,
      }),
      {
        title: 'the refresh token in the header alone',
        headers: { authorization: 'Bearer $REFRESH_TOKEN' },
        body: '',
        status: 400,
        code: 'validation_failed',
        errors: { '/refresh_token': REQUIRED },
      },
      {
        title: 'a form that is labelled JSON',
        body: 'grant_type=refresh_token&refresh_token=$REFRESH_TOKEN',
        status: 400,
        code: 'malformed_json',
      },
      unknown('an access token as the refresh token', '$ACCESS_TOKEN'),
      unknown('a refresh token that does not exist', 'cbrt_00000000-0000-4000-8000-000000000000'),
      unknown('a refresh token with a blank at its end', '$REFRESH_TOKEN '),
      unknown('a refresh token with a scheme', 'Bearer $REFRESH_TOKEN'),
      unknown('a text that is no token', 'undefined'),
      ...guessed(
        ['/auth/refresh/', '/v1/auth/refresh'],
        ['/Auth/Refresh', '/api/auth/refresh', '/refresh', '/auth/refresh-token'],
        'GET',
        '/auth/refresh',
        'POST',
      ),
    ],
    operation,
  );

  it.each(refused)('$method $path returns $status for $title', (row) => expectRefusal(row));
});

describe('POST /orders', () => {
  /** The body of the specification. @param members as JSON; undefined removes one. */
  function order(members: Record<string, string | undefined> = {}): string {
    const all: Record<string, string | undefined> = {
      external_id: '"$ID"',
      items: '[{"id":"sku-1","price":"10.00","description":"Coffee"}]',
      document: `"${CPF}"`,
      total: '"10.00"',
      payment_methods: '[{"id":"pix","amount":"10.00"}]',
      ...members,
    };
    const sent = Object.entries(all).filter(([, value]) => value !== undefined);
    return `{${sent.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
  }
  const anItem = (members: string): string => `[{"id":"sku-1",${members}}]`;
  const aPayment = (amount: string): string => `[{"id":"pix","amount":${amount}}]`;

  const operation = { path: '/orders', body: order() };
  const bearer = { ...COMMON, authorization: 'Bearer $ACCESS_TOKEN' };

  const byBaseRate = { redeem: '5.00', receive: '0.50' };
  const accepted = withDefaults<OrderRow>(
    [
      ...LOOSE_HEADERS,
      { title: 'the access token without a scheme', headers: { authorization: '$ACCESS_TOKEN' } },
      { title: 'the scheme in lower case', headers: { authorization: 'bearer $ACCESS_TOKEN' } },
      { title: 'the scheme in capitals', headers: { authorization: 'BEARER $ACCESS_TOKEN' } },
      { title: 'two blanks after the scheme', headers: { authorization: 'Bearer  $ACCESS_TOKEN' } },
      { title: 'the total "10"', body: order({ total: '"10"' }), order: { total: '10.00' } },
      {
        title: 'the total "10.5"',
        body: order({ total: '"10.5"' }),
        order: { total: '10.50', amount_to_pay: '10.50' },
        redeem: '5.25',
        receive: '1.02',
      },
      {
        title: 'prices and amounts without decimals',
        body: order({ items: anItem('"price":"10"'), payment_methods: aPayment('"10"') }),
        order: {
          items: [{ id: 'sku-1', price: '10.00', quantity: 1 }],
          payment_methods: [{ id: 'pix', amount: '10.00', earn_rate: '0.10' }],
        },
      },
      {
        title: 'the total "0.00"',
        body: order({ total: '"0.00"', payment_methods: '[]' }),
        order: { total: '0.00', amount_to_pay: '0.00' },
        redeem: '0.00',
        receive: '0.00',
      },
      {
        title: 'no description',
        body: order({ items: anItem('"price":"10.00"') }),
        order: { items: [{ id: 'sku-1', price: '10.00', quantity: 1 }] },
      },
      {
        title: 'null as the description',
        body: order({ items: anItem('"price":"10.00","description":null') }),
        order: { items: [{ id: 'sku-1', price: '10.00', quantity: 1 }] },
      },
      {
        title: 'an empty description',
        body: order({ items: anItem('"price":"10.00","description":""') }),
        order: { items: [{ id: 'sku-1', price: '10.00', quantity: 1, description: '' }] },
      },
      {
        title: 'a description in Unicode',
        body: order({ items: anItem('"price":"10.00","description":"Pão de açúcar 🍞"') }),
        order: { items: [{ id: 'sku-1', price: '10.00', quantity: 1, description: 'Pão de açúcar 🍞' }] },
      },
      {
        title: 'a description in Unicode escapes',
        body: order({ items: anItem('"price":"10.00","description":"P\\u00e3o \\ud83c\\udf5e"') }),
        order: { items: [{ id: 'sku-1', price: '10.00', quantity: 1, description: 'Pão 🍞' }] },
      },
      {
        title: 'two items with the same id',
        body: order({ items: '[{"id":"sku-1","price":"6.00"},{"id":"sku-1","price":"4.00"}]' }),
        order: {
          items: [
            { id: 'sku-1', price: '6.00', quantity: 1 },
            { id: 'sku-1', price: '4.00', quantity: 1 },
          ],
        },
      },
      {
        title: 'an item that is free',
        body: order({ items: anItem('"price":"0.00"') }),
        order: { items: [{ id: 'sku-1', price: '0.00', quantity: 1 }] },
      },
      {
        title: 'empty payment_methods',
        body: order({ payment_methods: '[]' }),
        order: { payment_methods: [] },
        ...byBaseRate,
      },
      {
        title: 'no payment_methods',
        body: order({ payment_methods: undefined }),
        order: { payment_methods: [] },
        ...byBaseRate,
      },
      {
        title: 'null as the payment_methods',
        body: order({ payment_methods: 'null' }),
        order: { payment_methods: [] },
        ...byBaseRate,
      },
      {
        title: 'two payment methods',
        body: order({ payment_methods: '[{"id":"pix","amount":"4.00"},{"id":"cash","amount":"6.00"}]' }),
        order: {
          payment_methods: [
            { id: 'pix', amount: '4.00', earn_rate: '0.10' },
            { id: 'cash', amount: '6.00', earn_rate: '0.05' },
          ],
        },
        receive: '0.70',
      },
      {
        title: 'payments below the total',
        body: order({ payment_methods: aPayment('"4.00"') }),
        order: { payment_methods: [{ id: 'pix', amount: '4.00', earn_rate: '0.10' }] },
        receive: '0.70',
      },
      {
        title: 'a total that differs from the items',
        body: order({ items: anItem('"price":"99.00"') }),
        order: { total: '10.00', items: [{ id: 'sku-1', price: '99.00', quantity: 1 }] },
      },
      { title: 'a CPF with punctuation', body: order({ document: '"529.982.247-25"' }) },
      { title: 'a CPF with only the dash', body: order({ document: '"529982247-25"' }) },
      { title: 'a CNPJ', body: order({ document: `"${CNPJ}"` }), order: { document: CNPJ } },
      {
        title: 'a CNPJ with punctuation',
        body: order({ document: '"12.ABC.345/01DE-35"' }),
        order: { document: CNPJ },
      },
      { title: 'the currency "BRL"', body: order({ currency: '"BRL"' }), order: { currency: 'BRL' } },
      { title: 'null as the currency', body: order({ currency: 'null' }), order: { currency: 'BRL' } },
      {
        title: 'the same member twice, of which the last one counts',
        body: `{"total":"99.00",${order().slice(1)}`,
        order: { total: '10.00' },
      },
    ],
    operation,
    bearer,
  );

  it.each(accepted)(
    'POST /orders returns 201 with the cashback of a new order, and the same order when repeated, for $title',
    async (row) => {
      const { order: expected = {}, redeem = '5.00', receive = '1.00' } = row;
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
    ['empty payment_methods', 'no payment_methods', { payment_methods: '[]' }, { payment_methods: undefined }],
    ['no payment_methods', 'null as the payment_methods', { payment_methods: undefined }, { payment_methods: 'null' }],
    ['a CPF with punctuation', 'the same CPF without it', { document: '"529.982.247-25"' }, {}],
    ['a CPF without punctuation', 'the same CPF with it', {}, { document: '"529.982.247-25"' }],
    ['no currency', 'the currency "BRL"', {}, { currency: '"BRL"' }],
    ['the total "10"', 'the total "10.00"', { total: '"10"' }, {}],
  ])('POST /orders with %s returns the same order when repeated with %s', async (_, _repeated, first, second) => {
    const values = await newValues();
    const rows = [first, second].map((members) => ({ title: '', body: order(members) }));
    const calls = withDefaults(rows, operation, bearer).map((row) => prepare(row, values));
    const [created, repeated] = [await calls[0]!<Order>(), await calls[1]!<Order>()];
    expectCreation(created);
    expect({ status: repeated.status, body: repeated.body }).toEqual({ status: 201, body: created.body });
    expect(repeated.headers.get('idempotency-replayed')).toBe('true');
  });

  it('POST /orders returns 409 for the external_id of an order with a different total', async () => {
    const values = await newValues();
    const rows = ['"10.00"', '"11.00"'].map((total) => ({ title: '', body: order({ total }) }));
    const [create, conflict] = withDefaults(rows, operation, bearer).map((row) => prepare(row, values));
    const created = await create!<Order>();
    expectCreation(created);
    const problem = expectProblem(await conflict!(), 409, 'external_id_conflict');
    expect(problem).toMatchObject({ existing_id: created.body.id, next_action: 'read_existing' });
    expect(problem.errors.map(({ pointer }) => pointer)).toEqual(['/total']);
    expect(await merchant.order(created.body)).toEqual(created.body);
  });

  const invalidOrder = (
    title: string,
    members: Record<string, string | undefined>,
    errors: Record<string, string>,
  ): RefusedRow => invalid(title, order(members), errors);
  const inQuotes = (example: string): string => `must be a string, in quotes, such as "${example}"`;
  const POINT = 'must have a point as decimal separator';
  const DECIMALS = 'must have at most two decimals, and no thousands separator';
  const MONEY = 'must be a decimal string such as "49.90", at most "999999999.99"';
  const DOCUMENT =
    'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)';
  const REPEATED = 'must not be one digit repeated: it would be the same customer for all';
  const CURRENCY = 'must be "BRL", the only currency';
  const ITEMS = 'must be an array of 1 to 500 items';
  const ALL_REQUIRED = { '/external_id': REQUIRED, '/document': REQUIRED, '/items': REQUIRED, '/total': REQUIRED };

  const unauthorized = (
    title: string,
    headers: Row['headers'],
    code: 'missing_token' | 'invalid_token',
    next_action: string,
    detail: string,
  ): RefusedRow => ({ title, headers, status: 401, code, next_action, detail });
  const SEND_TOKEN = 'send the access token in the header: Authorization: Bearer <access_token>';
  const UNKNOWN_TOKEN = 'the access token (cbat_…) is unknown, expired or revoked: refresh it or log in again';
  const NO_ACCESS_TOKEN = 'that is not an access token (cbat_…): send the header Authorization: Bearer <access_token>';
  const A_REFRESH_TOKEN = 'that is a refresh token: send the header Authorization: Bearer <access_token>';
  const NOBODY = 'cbat_00000000-0000-4000-8000-000000000000';

  const refused = withDefaults<RefusedRow>(
    [
      ...UNREADABLE,
      ...NO_OBJECT,
      { title: 'no body', body: '', status: 400, code: 'validation_failed', errors: ALL_REQUIRED },
      { title: '{}', body: '{}', status: 400, code: 'validation_failed', errors: ALL_REQUIRED },
      {
        title: 'null as each member',
        body: '{"external_id":null,"items":null,"document":null,"total":null,"payment_methods":null}',
        status: 400,
        code: 'validation_failed',
        errors: ALL_REQUIRED,
      },
      {
        title: 'a description in Latin-1',
        body: order({ items: anItem('"price":"10.00","description":"Pão"') }),
        bytes: (text) => Buffer.from(text, 'latin1'),
        status: 400,
        code: 'malformed_json',
        detail: NOT_UTF_8,
      },
      invalidOrder('the total "10,00"', { total: '"10,00"' }, { '/total': POINT }),
      invalidOrder('the number 10 as the total', { total: '10' }, { '/total': inQuotes('49.90') }),
      invalidOrder('the number 10.00 as the total', { total: '10.00' }, { '/total': inQuotes('49.90') }),
      invalidOrder('the total "1.000,00"', { total: '"1.000,00"' }, { '/total': `${POINT}, and no other separator` }),
      invalidOrder('the total "1,000.00"', { total: '"1,000.00"' }, { '/total': `${POINT}, and no other separator` }),
      invalidOrder('the total "10.000"', { total: '"10.000"' }, { '/total': DECIMALS }),
      invalidOrder('the total "R$ 10,00"', { total: '"R$ 10,00"' }, { '/total': MONEY }),
      invalidOrder('the total " 10.00"', { total: '" 10.00"' }, { '/total': MONEY }),
      invalidOrder('an empty total', { total: '""' }, { '/total': MONEY }),
      invalidOrder('the total "-10.00"', { total: '"-10.00"' }, { '/total': 'must not be negative' }),
      invalidOrder('no total', { total: undefined }, { '/total': REQUIRED }),
      invalidOrder('null as the total', { total: 'null' }, { '/total': REQUIRED }),
      invalidOrder('the price "10,00"', { items: anItem('"price":"10,00"') }, { '/items/0/price': POINT }),
      invalidOrder(
        'a number as the price',
        { items: anItem('"price":10.00') },
        { '/items/0/price': inQuotes('49.90') },
      ),
      invalidOrder(
        'an item without a price',
        { items: anItem('"description":"Coffee"') },
        { '/items/0/price': REQUIRED },
      ),
      invalidOrder(
        'a number as the id of an item',
        { items: '[{"id":1,"price":"10.00"}]' },
        { '/items/0/id': 'must be a string, in quotes' },
      ),
      invalidOrder('an empty list of items', { items: '[]' }, { '/items': ITEMS }),
      invalidOrder('an object as the items', { items: '{"id":"sku-1","price":"10.00"}' }, { '/items': ITEMS }),
      invalidOrder('no items', { items: undefined }, { '/items': REQUIRED }),
      invalidOrder(
        'the payment amount "10,00"',
        { payment_methods: aPayment('"10,00"') },
        { '/payment_methods/0/amount': POINT },
      ),
      invalidOrder(
        'a number as the payment amount',
        { payment_methods: aPayment('10') },
        { '/payment_methods/0/amount': inQuotes('49.90') },
      ),
      invalidOrder(
        'the payment amount "0.00"',
        { payment_methods: aPayment('"0.00"') },
        { '/payment_methods/0/amount': 'must be greater than zero' },
      ),
      invalidOrder(
        'a number as the id of a payment method',
        { payment_methods: '[{"id":1,"amount":"10.00"}]' },
        { '/payment_methods/0/id': 'must be a string, in quotes' },
      ),
      invalidOrder(
        'a text as the payment_methods',
        { payment_methods: '"pix"' },
        { '/payment_methods': 'must be an array of 0 to 20 payment methods' },
      ),
      invalidOrder('a number as the document', { document: CPF }, { '/document': inQuotes(CPF) }),
      invalidOrder('a document of 10 digits', { document: '"5299822472"' }, { '/document': DOCUMENT }),
      invalidOrder('a document with a blank', { document: `" ${CPF}"` }, { '/document': DOCUMENT }),
      invalidOrder('a document with misplaced punctuation', { document: '"5299822472.5"' }, { '/document': DOCUMENT }),
      invalidOrder(
        'a CNPJ in lower case',
        { document: '"12abc34501de35"' },
        { '/document': 'must have capital letters' },
      ),
      invalidOrder('the document 00000000000', { document: '"00000000000"' }, { '/document': REPEATED }),
      invalidOrder('the document 11111111111', { document: '"11111111111"' }, { '/document': REPEATED }),
      invalidOrder('the document 000.000.000-00', { document: '"000.000.000-00"' }, { '/document': REPEATED }),
      invalidOrder('the document 00000000000000', { document: '"00000000000000"' }, { '/document': REPEATED }),
      invalidOrder('no document', { document: undefined }, { '/document': REQUIRED }),
      invalidOrder(
        'a number as the external_id',
        { external_id: '1001' },
        { '/external_id': 'must be a string, in quotes' },
      ),
      invalidOrder('an empty external_id', { external_id: '""' }, { '/external_id': 'must not be empty' }),
      invalidOrder('no external_id', { external_id: undefined }, { '/external_id': REQUIRED }),
      invalidOrder('the currency "USD"', { currency: '"USD"' }, { '/currency': CURRENCY }),
      invalidOrder('the currency "brl"', { currency: '"brl"' }, { '/currency': CURRENCY }),
      invalidOrder('an empty currency', { currency: '""' }, { '/currency': CURRENCY }),
      invalidOrder('an extra member', { customer_name: '"Ana"' }, { '/customer_name': NO_MEMBER }),
      invalidOrder('the member status', { status: '"pending"' }, { '/status': NO_MEMBER }),
      invalidOrder(
        'an extra member of an item',
        { items: anItem('"price":"10.00","sku":"1"') },
        { '/items/0/sku': NO_MEMBER },
      ),
      invalidOrder(
        'an extra member of a payment method',
        { payment_methods: '[{"id":"pix","amount":"10.00","installments":1}]' },
        { '/payment_methods/0/installments': NO_MEMBER },
      ),
      invalidOrder(
        'members in camel case',
        { external_id: undefined, externalId: '"$ID"', payment_methods: undefined, paymentMethods: '[]' },
        {
          '/external_id': REQUIRED,
          '/externalId': `${NO_MEMBER}; did you mean "external_id"?`,
          '/paymentMethods': `${NO_MEMBER}; did you mean "payment_methods"?`,
        },
      ),
      {
        title: 'a query parameter',
        path: '/orders?external_id=$ID',
        status: 400,
        code: 'validation_failed',
        errors: { external_id: 'is not a query parameter of this operation' },
      },
      {
        title: 'payments above the total',
        body: order({ payment_methods: aPayment('"10.01"') }),
        status: 422,
        code: 'payments_exceed_total',
        errors: { '/payment_methods': 'must add up to at most 10.00' },
      },
      {
        title: 'payments on the total "0.00"',
        body: order({ total: '"0.00"', payment_methods: aPayment('"0.01"') }),
        status: 422,
        code: 'payments_exceed_total',
        errors: { '/payment_methods': 'must add up to at most 0.00' },
      },
      unauthorized('no Authorization header', { authorization: undefined }, 'missing_token', 'log_in', SEND_TOKEN),
      unauthorized('an empty Authorization header', { authorization: '' }, 'missing_token', 'log_in', SEND_TOKEN),
      unauthorized(
        'the access token in X-Access-Token',
        { authorization: undefined, 'x-access-token': '$ACCESS_TOKEN' },
        'missing_token',
        'log_in',
        SEND_TOKEN,
      ),
      unauthorized(
        'the access token in a cookie',
        { authorization: undefined, cookie: 'access_token=$ACCESS_TOKEN' },
        'missing_token',
        'log_in',
        SEND_TOKEN,
      ),
      {
        ...unauthorized(
          'the access token in the body',
          { authorization: undefined },
          'missing_token',
          'log_in',
          SEND_TOKEN,
        ),
        body: order({ access_token: '"$ACCESS_TOKEN"' }),
      },
      ...['Token $ACCESS_TOKEN', 'JWT $ACCESS_TOKEN', 'Bearer', 'Basic YXBpOnB3', 'Bearer$ACCESS_TOKEN'].map(
        (authorization) =>
          unauthorized(
            `Authorization: ${authorization.replace('$ACCESS_TOKEN', 'cbat_…')}`,
            { authorization },
            'missing_token',
            'fix_request',
            NO_ACCESS_TOKEN,
          ),
      ),
      unauthorized(
        'a refresh token without a scheme',
        { authorization: '$REFRESH_TOKEN' },
        'missing_token',
        'fix_request',
        A_REFRESH_TOKEN,
      ),
      unauthorized(
        'a refresh token',
        { authorization: 'Bearer $REFRESH_TOKEN' },
        'invalid_token',
        'fix_request',
        A_REFRESH_TOKEN,
      ),
      ...['Bearer undefined', 'Bearer "$ACCESS_TOKEN"', 'Bearer Bearer $ACCESS_TOKEN'].map((authorization) =>
        unauthorized(
          `Authorization: ${authorization.replace('$ACCESS_TOKEN', 'cbat_…')}`,
          { authorization },
          'invalid_token',
          'fix_request',
          NO_ACCESS_TOKEN,
        ),
      ),
      unauthorized(
        'an access token that does not exist',
        { authorization: `Bearer ${NOBODY}` },
        'invalid_token',
        'refresh_token',
        UNKNOWN_TOKEN,
      ),
      unauthorized(
        'an access token that does not exist, without a scheme',
        { authorization: NOBODY },
        'invalid_token',
        'refresh_token',
        UNKNOWN_TOKEN,
      ),
      ...guessed(
        ['/orders/', '/v1/orders', '/v2/orders/'],
        ['/api/orders', '/order', '/Orders', '/api/v1/orders'],
        'PATCH',
        '/orders',
        'GET, HEAD, POST',
      ),
    ],
    operation,
    bearer,
  );

  it.each(refused)('$method $path returns $status for $title', (row) => expectRefusal(row));
});
