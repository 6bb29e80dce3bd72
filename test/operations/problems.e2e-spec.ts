import { describe, expect, it } from '@jest/globals';
import { gzipSync, deflateSync, brotliCompressSync } from 'node:zlib';
import { type Answer, Client } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { anOrder } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { useService } from '../support/use-service.js';

const KIB = 1024;

const { service, merchant } = useService();
const anyone = new Client(service);

/** An order by other means than well-formed JSON in UTF-8. */
const order = (raw: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
  merchant.client.send('POST', '/orders', { raw, headers });

describe('a path that is not there', () => {
  it.each([
    '/nowhere',
    '/Orders/x/y',
    '/order',
    '/auth',
    '/auth/login/x',
    '/docs/none',
    '/docs/none.css',
    '/.env',
    '/v1/orders',
    '/favicon.ico',
  ])('such as %s is a 404 problem, with a token or without', async (path) => {
    for (const client of [anyone, merchant.client]) expectProblem(await client.get(path), 404, 'not_found');
  });

  it.each([
    '/orders/%',
    '/orders/%ff',
    '/orders/%c3%28',
    '/wallets/%e0%a4%a/entries',
    '/%ff',
    '/docs/%ff',
    '/docs/%00',
    '/docs/..%2f..%2fpackage.json',
  ])('because %s does not decode, or leads nowhere, is a 404 problem', async (path) => {
    expectProblem(await merchant.client.get(path), 404, 'not_found');
  });

  it('names the path alone as the instance, without the query', async () => {
    const answer = await anyone.get('/nowhere/at%20all?document=52998224725');
    expectProblem(answer, 404, 'not_found');
    expect(answer.body.instance).toBe('/nowhere/at%20all');
  });

  it('answers HEAD with the head alone', async () => {
    const answer = await sendBytes(service, aRequest('HEAD /nowhere'));
    expect(answer).toMatchObject({ status: 404, body: '' });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  it.each([
    '//orders',
    '/orders//x',
    '/orders/../orders/x/y',
    '/\\orders',
    '/orders;x',
    '/orders%2f',
    '*',
    'http://elsewhere/nowhere',
    '/"<script>',
  ])('is a problem for the raw target %s', async (target) => {
    expectProblem(await sendBytes(service, aRequest(`GET ${target}`)), 404, 'not_found');
  });
});

describe('a method that a path does not know', () => {
  it.each([
    ['GET', '/auth/login', 'POST'],
    ['DELETE', '/auth/refresh', 'POST'],
    ['GET', '/auth/logout', 'POST'],
    ['DELETE', '/orders', 'GET, HEAD, POST'],
    ['PUT', '/orders', 'GET, HEAD, POST'],
    ['PATCH', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', 'GET, HEAD'],
    ['POST', '/orders/x/redemption', 'PUT'],
    ['GET', '/orders/x/complete', 'POST'],
    ['GET', '/wallets/search', 'POST'],
    ['POST', '/health/live', 'GET, HEAD'],
    ['OPTIONS', '/orders', 'GET, HEAD, POST'],
  ])('%s %s is a 405 problem that allows %s', async (method, path, allow) => {
    const answer = await anyone.send(method, path);
    expect(answer.headers.get('allow')).toBe(allow);
    expectProblem(answer, 405, 'method_not_allowed');
  });

  it.each(['TRACE', 'PROPFIND', 'PURGE', 'LINK', 'M-SEARCH'])('is a 405 problem for %s, too', async (method) => {
    const answer = await sendBytes(service, aRequest(`${method} /auth/login`));
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it('on a path that is not there is a 404 problem all the same', async () => {
    expectProblem(await anyone.send('DELETE', '/nowhere'), 404, 'not_found');
    expectProblem(await anyone.send('OPTIONS', '/nowhere'), 404, 'not_found');
  });
});

describe('a body that is no JSON', () => {
  it.each([
    ['broken off', '{"external_id":'],
    ['a bare word', 'hello'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '{"a":1,}'],
    ['two documents', '{}{}'],
    ['a comment', '{} // end'],
    ['NaN', '{"total":NaN}'],
    ['a raw control character in a text', '{"external_id":"a\nb"}'],
    ['blanks alone', '   '],
    ['a NUL', '\0'],
    ['an unknown escape', '{"a":"\\x41"}'],
  ])('but %s is malformed_json', async (_, raw) => {
    expectProblem(await order(raw), 400, 'malformed_json');
  });

  it.each([
    ['a lone continuation byte', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0x80, 0x22, 0x7d])],
    ['ISO 8859-1', Buffer.from('{"external_id":"caf\xe9"}', 'latin1')],
    ['an overlong slash', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    [
      'an encoded surrogate',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from('{"a":"\u{1f600}é"}', 'utf16le')],
  ])('in UTF-8 but %s is malformed_json', async (_, raw) => {
    expectProblem(await order(raw), 400, 'malformed_json');
  });

  it.each([
    ['arrays', '['.repeat(65) + ']'.repeat(65)],
    ['objects', '{"a":'.repeat(65) + '1' + '}'.repeat(65)],
    ['a hundred thousand arrays', '['.repeat(100_000)],
    ['unknown members', `{"unknown":${'[{"a":'.repeat(40)}1${'}]'.repeat(40)}}`],
  ])('but nests %s too deep is malformed_json', async (_, raw) => {
    expectProblem(await order(raw), 400, 'malformed_json');
  });

  it('is not held against brackets within a text, or after an escaped quote', async () => {
    const { status } = await order(
      JSON.stringify(anOrder({ items: [{ id: 'a', price: '1', description: `\\"${'['.repeat(400)}\\` }] })),
    );
    expect(status).toBe(201);
  });

  it.each(['"text"', '1', 'true', 'null', '[]', '[{}]'])('object, but %s, is refused as a whole', async (raw) => {
    const answer = await order(raw);
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual(['']);
  });

  it('may begin with a byte order mark, as some clients put one', async () => {
    expect((await order(`\ufeff${JSON.stringify(anOrder())}`)).status).toBe(201);
  });

  it.each([undefined, '0'])('at all (content-length %j) lacks every member', async (length) => {
    const headers = {
      'content-length': length,
      authorization: `Bearer ${merchant.tokens.access_token}`,
      'content-type': 'application/json',
    };
    const answer = await sendBytes(service, aRequest('POST /orders', headers));
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual(['/document', '/external_id', '/items', '/payment_methods', '/total']);
  });
});

describe('a body in another form', () => {
  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonx',
    'application/vnd.api+json',
    'json',
    '',
    'application/json, text/plain',
    '*/*',
    ';;;',
  ])('of the media type %j is a 415 problem', async (type) => {
    expectProblem(await order(JSON.stringify(anOrder()), { 'content-type': type }), 415, 'unsupported_media_type');
  });

  it('without any media type is a 415 problem', async () => {
    const headers = { authorization: `Bearer ${merchant.tokens.access_token}` };
    expectProblem(await sendBytes(service, aRequest('POST /orders', headers, '{}')), 415, 'unsupported_media_type');
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json; profile=x',
  ])('of the media type %s is read', async (type) => {
    expect((await order(JSON.stringify(anOrder()), { 'content-type': type })).status).toBe(201);
  });

  it.each(['iso-8859-1', 'utf-16', 'utf-16le', 'utf-32', 'utf-7', 'us-ascii', 'klingon', 'x=utf-8', ''])(
    'in the charset %j is a 415 problem',
    async (charset) => {
      expectProblem(
        await order(JSON.stringify(anOrder()), { 'content-type': `application/json; charset=${charset}` }),
        415,
        'unsupported_media_type',
      );
    },
  );

  it('can not hide its depth in a charset', async () => {
    const utf7 = `{"a":${`+${Buffer.from('[', 'utf16le').swap16().toString('base64').replace(/=+$/, '')}-`.repeat(20_000)}`;
    expectProblem(
      await order(utf7, { 'content-type': 'application/json; charset=utf-7' }),
      415,
      'unsupported_media_type',
    );
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('compressed by %s is read, and refused where the compression is broken', async (encoding, compress) => {
    const raw = compress(JSON.stringify(anOrder()));
    expect((await order(raw, { 'content-encoding': encoding })).status).toBe(201);
    expectProblem(await order(raw.subarray(0, 20), { 'content-encoding': encoding }), 400, 'malformed_json');
    expectProblem(await order(JSON.stringify(anOrder()), { 'content-encoding': encoding }), 400, 'malformed_json');
  });

  it.each(['zip', 'gzip, gzip', 'compress'])('under the content-encoding %s is a 415 problem', async (encoding) => {
    expectProblem(
      await order(JSON.stringify(anOrder()), { 'content-encoding': encoding }),
      415,
      'unsupported_media_type',
    );
  });
});

describe('a body that is large', () => {
  const ofBytes = (bytes: number): string => {
    const body = JSON.stringify({ ...anOrder(), padding: '' });
    return body.replace('"padding":""', `"padding":"${'x'.repeat(bytes - Buffer.byteLength(body))}"`);
  };

  it('is read up to 256 KiB to the byte, and refused from there on', async () => {
    expect((await order(ofBytes(256 * KIB))).status).toBe(201);
    expectProblem(await order(ofBytes(256 * KIB + 1)), 413, 'payload_too_large');
  });

  it('is refused by what it unpacks to', async () => {
    expectProblem(
      await order(gzipSync(ofBytes(50_000 * KIB)), { 'content-encoding': 'gzip' }),
      413,
      'payload_too_large',
    );
  });

  it('is refused in chunks of unknown length too, and for the log-in as for orders', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked', 'content-type': 'application/json' };
    expectProblem(
      await sendBytes(service, aRequest('POST /auth/login', headers, `${chunk.repeat(5)}0\r\n\r\n`)),
      413,
      'payload_too_large',
    );
  });

  it('may be announced and need not come, to be refused', async () => {
    const headers = { 'content-length': '99999999999', 'content-type': 'application/json' };
    expectProblem(await sendBytes(service, aRequest('POST /auth/login', headers, '{}')), 413, 'payload_too_large');
  });
});

describe('a chunked body', () => {
  const chunked = (body: string): Promise<Answer> =>
    sendBytes(
      service,
      aRequest(
        'POST /auth/login',
        { 'content-length': undefined, 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
        body,
      ),
    );

  it('is read across its chunks', async () => {
    const pieces = JSON.stringify({ email: merchant.email, password: merchant.password }).match(/.{1,7}/g) ?? [];
    const body = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
    expect((await chunked(`${body}0\r\n\r\n`)).status).toBe(201);
  });

  it('that is empty lacks every member', async () => {
    expectProblem(await chunked('0\r\n\r\n'), 400, 'validation_failed');
  });
});
