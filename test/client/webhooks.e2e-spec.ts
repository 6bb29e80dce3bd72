import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { verify, WebhookError } from '../../clients/typescript/src/webhooks.js';
import { deliver, type Received, type Receiver, startReceiver } from '../support/receiver.js';
import { anOrderOf, clientOf } from '../support/typescript-client.js';
import { useService } from '../support/use-service.js';

describe('verification of webhooks by the TypeScript client', () => {
  const { service, merchant } = useService();
  let receiver: Receiver;
  let request: Received;
  let secret: string;

  const headersOf = ({ headers }: Received) => headers as Record<string, string>;
  const expectRefused = async (work: Promise<unknown>, because: string) => {
    await expect(work).rejects.toThrow(WebhookError);
    await expect(work).rejects.toThrow(because);
  };

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  beforeEach(async () => {
    receiver.received.length = 0;
    const cashback = clientOf(merchant, service);
    for (const { id } of (await cashback.webhookEndpoints.list()).data) await cashback.webhookEndpoints.delete(id);
    ({ secret } = await cashback.webhookEndpoints.create({ url: receiver.url }));
    await cashback.orders.create(anOrderOf());
    await deliver(service);
    request = receiver.received[0]!;
  });
  afterAll(() => receiver.stop());

  it('returns the event of a delivery, from text and from bytes, with plain headers and with Headers', async () => {
    const event = await verify(request.raw, headersOf(request), secret);
    expect(event).toEqual(JSON.parse(request.raw));
    expect('type' in event && event.type === 'order.created' && event.data.order.status).toBe('pending');
    const bytes = new TextEncoder().encode(request.raw);
    expect(await verify(bytes, new Headers(headersOf(request)), secret)).toEqual(event);
    const capitals = Object.entries(headersOf(request)).map(([name, value]) => [name.toUpperCase(), value]);
    expect(
      await verify(Buffer.from(request.raw), Object.fromEntries(capitals) as Record<string, string>, secret),
    ).toEqual(event);
  });

  it('returns the events of a batch', async () => {
    const cashback = clientOf(merchant, service);
    for (const { id } of (await cashback.webhookEndpoints.list()).data) await cashback.webhookEndpoints.delete(id);
    const endpoint = await cashback.webhookEndpoints.create({ url: receiver.url, batch: 10 });
    receiver.received.length = 0;
    for (let at = 0; at < 3; at++) await cashback.orders.create(anOrderOf());
    await deliver(service);
    const [batch] = receiver.received;
    const received = await verify(batch!.raw, headersOf(batch!), endpoint.secret);
    expect('type' in received ? [] : received.data.map(({ type }) => type)).toEqual(Array(3).fill('order.created'));
  });

  it('accepts the old and the new secret while a secret is replaced', async () => {
    const cashback = clientOf(merchant, service);
    for (const { id } of (await cashback.webhookEndpoints.list()).data) {
      const rotated = await cashback.webhookEndpoints.rotateSecret(id);
      receiver.received.length = 0;
      await cashback.orders.create(anOrderOf());
      await deliver(service);
      const [latest] = receiver.received;
      const event = JSON.parse(latest!.raw) as object;
      expect(await verify(latest!.raw, headersOf(latest!), rotated.secret)).toEqual(event);
      expect(await verify(latest!.raw, headersOf(latest!), secret)).toEqual(event);
    }
  });

  it('refuses another body, another secret, another ID, and a signature that is missing or no signature', async () => {
    const { raw } = request;
    const headers = headersOf(request);
    const with_ = (changed: Record<string, string>) => verify(raw, { ...headers, ...changed }, secret);
    await expectRefused(verify(`${raw} `, headers, secret), 'no signature');
    await expectRefused(verify(raw, headers, `whsec_${btoa('another secret of 32 characters!')}`), 'no signature');
    await expectRefused(with_({ 'webhook-id': 'evt_other' }), 'no signature');
    for (const signature of ['', 'v1', 'v1,', 'v1,!!!', `v2${headers['webhook-signature']!.slice(2)}`])
      await expectRefused(with_({ 'webhook-signature': signature }), 'no signature');
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      await expectRefused(verify(raw, { ...headers, [name]: undefined }, secret), `${name} is missing`);
  });

  it.each<[string, unknown]>([
    ['an object', { type: 'ping' }],
    ['an empty object', {}],
    ['a list', []],
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['a view of its numbers', new DataView(new ArrayBuffer(8))],
    ['words', new Uint16Array(4)],
  ])('says of a body that is %s that the program has to give the bytes', async (_, body) => {
    const refused = verify(body as string, headersOf(request), secret);
    await expectRefused(refused, 'the body was parsed or not read: give its bytes, as express.raw()');
    await expect(refused).rejects.toMatchObject({ status: 500 });
  });

  it('says of a secret that is missing, empty, cut or of something else what a secret is, and does not show it', async () => {
    const key = secret.slice('whsec_'.length);
    const wrong = [
      undefined,
      null,
      '',
      'x',
      'whsec_',
      `whsec_${key.slice(0, -1)}`,
      `whsec_${key}${key}`,
      `"${secret}"`,
    ];
    for (const given of [...wrong, `whsec_${key.slice(4)}`, `whsec_${'!'.repeat(43)}=`, 7, {}]) {
      const refused = verify(request.raw, headersOf(request), given as string);
      await expectRefused(refused, 'give `whsec_` and the 44 characters');
      await expect(refused).rejects.toMatchObject({ status: 500 });
      await expect(refused).rejects.not.toThrow(key.slice(4, -1));
    }
    // As a file or a vault gives it.
    for (const given of [`${secret}\n`, ` ${secret} `, key])
      expect(await verify(request.raw, headersOf(request), given)).toEqual(JSON.parse(request.raw));
  });

  it('calls a request without headers, or a signature that is wrong, 400', async () => {
    for (const headers of [undefined, null, {}, { ...headersOf(request), 'webhook-signature': 'v1,x' }])
      await expect(verify(request.raw, headers as object as Record<string, string>, secret)).rejects.toMatchObject({
        name: 'WebhookError',
        status: 400,
      });
  });

  it.each([NaN, 'x', -1, {}])('says of the tolerance %p that it is no number of seconds', async (tolerance) => {
    const refused = verify(request.raw, headersOf(request), secret, { tolerance: tolerance as number });
    await expectRefused(refused, 'the tolerance is not a number of seconds');
    await expect(refused).rejects.toMatchObject({ status: 500 });
  });

  it('takes options that are null, as other programs write that there are none', async () => {
    for (const options of [null, undefined, {}, { tolerance: undefined }])
      expect(await verify(request.raw, headersOf(request), secret, options as object)).toEqual(JSON.parse(request.raw));
  });

  it('refuses a request that is older or newer than the tolerance, or whose timestamp is no number', async () => {
    const { raw } = request;
    const headers = headersOf(request);
    const sentAt = Number(headers['webhook-timestamp']);
    const { now } = Date;
    const at = (seconds: number) => {
      Date.now = () => (sentAt + seconds) * 1000;
      return verify(raw, headers, secret);
    };
    try {
      await at(299);
      await at(-299);
      await expectRefused(at(301), 'too far from now');
      await expectRefused(at(-301), 'too far from now');
      await verify(raw, headers, secret, { tolerance: 302 });
    } finally {
      Date.now = now;
    }
    await expectRefused(verify(raw, { ...headers, 'webhook-timestamp': '1e9' }, secret), 'not a number');
  });
});
