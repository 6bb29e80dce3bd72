import dns from 'node:dns';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { deliver, type RawReceiver, startRawReceiver } from '../support/receiver.js';
import type { EndpointWithSecret } from '../support/shop.js';
import { startedLater, useService } from '../support/use-service.js';
import { anEndpoint, endpointOf, someEvents } from '../support/webhooks.js';

const LOOPBACK = [
  ...['127.0.0.1', '127.1', '0x7f000001', '2130706433', '017700000001', '0177.0.0.1', '0x7f.1', '127.0.0.1.'],
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[0:0:0:0:0:0:0:1]', '0.0.0.0', '0'],
  ...['localhost', 'LOCALHOST.', 'foo.localhost', 'ip6-loopback', 'localhost.localdomain', '%6c%6fcalhost'],
  ...['１２７.０.０.１', '127。0。0。1', '①②⑦.0.0.1', 'loc\u00adalhost', 'ⓛocalhost', 'localhost..'],
];
const PRIVATE = [
  ...[
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
  ],
  ...[
    '169.254.169.254',
    '0xa9fea9fe',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[fc00::1]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
  ],
  ...['8.8.8.8', '[2001:4860:4860::8888]', 'metadata', 'metadata.google.internal', 'instance-data.ec2.internal'],
  ...['database', 'printer.local', 'router.lan', 'nas.home.arpa', 'x.internal'],
];
const OTHER: [string, string][] = [
  ['http://shop.example/webhooks', 'https://'],
  ['ftp://shop.example/', 'https://'],
  ['javascript:alert(1)', 'https://'],
  ['file:///etc/passwd', 'https://'],
  ['data:text/plain,x', 'https://'],
  ['https://shop.example:8443/', '443'],
  ['https://shop.example:80/', '443'],
  ['https://user@shop.example/', 'user'],
  ['https://user:secret@shop.example/', 'user'],
  ['https://:secret@shop.example/', 'user'],
  ['https://shop.example/#top', 'fragment'],
  ['', 'must be a URL'],
  ['//shop.example/', 'must be a URL'],
  ['shop.example', 'must be a URL'],
  ['https://', 'must be a URL'],
  ['https://shop.example:99999/', 'must be a URL'],
  ['https://sh op.example/', 'must be a URL'],
  [`https://shop.example/${'é'.repeat(500)}`, '2000'],
];

describe('without WEBHOOK_ALLOW_PRIVATE', () => {
  const { service, merchant } = useService({ env: { WEBHOOK_ALLOW_PRIVATE: 'false' } });
  const receiver = startedLater<RawReceiver>('the receiver');
  const existing = startedLater<EndpointWithSecret>('the endpoint');

  beforeAll(async () => {
    receiver.set(await startRawReceiver((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n')));
    existing.set(await anEndpoint(merchant, { url: 'https://existing.example/' }));
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(() => receiver.get()?.stop());

  it.each([...[...LOOPBACK, ...PRIVATE].map((host) => [`https://${host}/`, '']), ...OTHER] as [string, string][])(
    'the URL %s is refused with 422, in a creation and in a replacement',
    async (url, detail) => {
      const path = `/webhook-endpoints/${existing.object.id}`;
      for (const answer of [
        await merchant.client.post('/webhook-endpoints', { url }),
        await merchant.client.put(path, { url }),
      ]) {
        expectProblem(answer, 422, 'webhook_url_refused');
        expect(pointersOf(answer)).toEqual(['/url']);
        expect(answer.body.detail).toMatch(/^the url must /);
        expect(answer.body.detail).toContain(detail);
        expect(answer.body.detail).not.toContain('secret');
      }
      expect((await endpointOf(merchant, existing.object as { id: string })).url).toBe('https://existing.example/');
    },
  );

  it.each([
    ['https://shop.example/webhooks?key=1', 'https://shop.example/webhooks?key=1'],
    ['https://SHOP.example:443/a/../b', 'https://shop.example/b'],
    ['HTTPS://loja.exemplo.com.br', 'https://loja.exemplo.com.br/'],
    ['https://café.example/', 'https://xn--caf-dma.example/'],
    ['https://127.0.0.1.example/', 'https://127.0.0.1.example/'],
  ])('the URL %s is accepted', async (url, stored) => {
    const { id, url: shown } = await anEndpoint(merchant, { url });
    expect(shown).toBe(stored);
    expect((await endpointOf(merchant, { id })).url).toBe(stored);
  });

  it.each([
    ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '168.63.129.16', '0.0.0.0', '::', '::1', '::127.0.0.1'],
    ...['::7f00:1', '::a9fe:a9fe', '::10.0.0.1', '::ffff:7f00:1', '::ffff:168.63.129.16', '64:ff9b::a9fe:a9fe'],
    ...['2002:7f00:1::', 'fe80::1', 'fd00:ec2::254', ''],
  ])(
    'a name with the address %j, also beside a public one, gets the answer of a name that does not exist',
    async (address) => {
      const one = await aMerchant(service);
      const { id } = await anEndpoint(one, { url: 'https://rebound.example/' });
      const family = address.includes(':') ? 6 : 4;
      const found = [
        { address: '192.0.2.1', family: 4 },
        { address, family },
      ];
      jest.spyOn(dns, 'lookup').mockImplementation(((
        _host: string,
        { all }: { all?: boolean },
        done: (...result: unknown[]) => void,
      ) => {
        const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), {
          code: 'ENOTFOUND',
          syscall: 'getaddrinfo',
        });
        if (address === '') done(unknown);
        else if (all) done(null, found);
        else done(null, address, family);
      }) as unknown as typeof dns.lookup);
      const { body: ping } = await one.client.post(`/webhook-endpoints/${id}/ping`);
      expect(ping).toMatchObject({ status: null, error: 'the host name has no address, or one that is not public' });
    },
  );

  it.each(['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', 'ip6-localhost', '2130706433'])(
    'no connection is made to an address that is not public, whatever its name: https and http of %s',
    async (host) => {
      const one = await aMerchant(service);
      const endpoint = await anEndpoint(one, { url: 'https://rebound.example/' });
      const before = receiver.object.connections();
      for (const scheme of ['https', 'http']) {
        const url = new URL(`${scheme}://${host}:${receiver.object.port}/`).href;
        await service.dataSource.query(
          'UPDATE webhook_endpoints SET url = ?, failures = 0, next_attempt_at = ? WHERE id = ?',
          [...[url, new Date(0), endpoint.id]],
        );
        await someEvents(one, 1);
        await deliver(service);
        const { body: ping } = await one.client.post(`/webhook-endpoints/${endpoint.id}/ping`);
        const { last_attempt, failures } = await endpointOf(one, endpoint);
        expect(failures).toBe(1);
        for (const attempt of [last_attempt, ping]) {
          expect(attempt).toMatchObject({ status: null, response: null });
          expect(attempt!.error).toBe('the host name has no address, or one that is not public');
        }
      }
      expect(receiver.object.connections()).toBe(before);
    },
  );
});
