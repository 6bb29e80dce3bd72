import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { deliver, type Receiver, startReceiver } from '../support/receiver.js';
import { startedLater, useService } from '../support/use-service.js';
import { anEndpoint, endpointOf, rowOf, someEvents } from '../support/webhooks.js';
import { idsOf, type Endpoint, type EndpointWithSecret, type EventPage } from '../support/shop.js';

const { service } = useService();
const receiver = startedLater<Receiver>('the receiver');
let merchant: TestMerchant;
let other: TestMerchant;

beforeAll(async () => void receiver.set(await startReceiver()));
beforeEach(async () => {
  [merchant, other] = await Promise.all([aMerchant(service), aMerchant(service)]);
});
afterAll(() => receiver.get()?.stop());

const UNKNOWN = '01890000-0000-7000-8000-000000000000';
let path = 0;
const aUrl = (): string => `${receiver.object.url}/${++path}`;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

describe('POST /webhook-endpoints', () => {
  it('POST /webhook-endpoints returns 201 with Location, the secret and a cursor at the end of the feed', async () => {
    await someEvents(merchant, 2);
    await deliver(service);
    const url = aUrl();
    const { status, headers, body } = await merchant.client.post<EndpointWithSecret>('/webhook-endpoints', { url });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`/webhook-endpoints/${body.id}`);
    expect(body).toEqual({
      ...{ id: expect.any(String), url, types: null, batch: 1, status: 'active', cursor: 2, behind: 0 },
      ...{
        oldest_waiting_at: null,
        failures: 0,
        next_attempt_at: null,
        last_attempt: null,
        created_at: expect.any(String),
      },
      secret: expect.stringMatching(SECRET),
    });
    const { secret: _, ...shown } = body;
    expect(await endpointOf(merchant, body)).toEqual(shown);
  });

  it('no other response, no log line and no column of a webhook endpoint has its secret', async () => {
    const url = aUrl();
    const { secret, id } = await anEndpoint(merchant, { url });
    const { client } = merchant;
    const answers = [
      await client.post<EndpointWithSecret>('/webhook-endpoints', { url }),
      await client.get<{ data: Endpoint[] }>('/webhook-endpoints'),
      await client.get<Endpoint>(`/webhook-endpoints/${id}`),
      await client.put(`/webhook-endpoints/${id}`, { url }),
      await client.post(`/webhook-endpoints/${id}/ping`),
      await client.post(`/webhook-endpoints/${id}/enable`),
      await client.post(`/webhook-endpoints/${id}/seek`, { after: 0 }),
      await client.post<EndpointWithSecret>(`/webhook-endpoints/${id}/rotate-secret`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([409, 200, 200, 200, 200, 200, 200, 200]);
    const rotated = (answers.at(-1)!.body as EndpointWithSecret).secret;
    const row = JSON.stringify(await rowOf(service, { id }));
    const [first] = answers.splice(-1);
    expect(first!.body).toEqual({ ...(await endpointOf(merchant, { id })), secret: expect.stringMatching(SECRET) });
    const text = JSON.stringify(answers) + service.logged.join('') + row;
    for (const one of [secret, rotated]) {
      expect(text).not.toContain(one.slice('whsec_'.length));
      expect(text).not.toContain(Buffer.from(one.slice('whsec_'.length), 'base64').toString('hex'));
    }
    expect(rotated).not.toBe(secret);
  });

  it('POST /webhook-endpoints returns 409 with existing_id for a URL of this merchant, however it is written', async () => {
    const url = aUrl();
    const { id } = await anEndpoint(merchant, { url }, { types: ['order.completed'] });
    const spellings = [url, url.replace('http', 'HTTP'), url.replace('/webhooks', '/./webhooks')];
    for (const spelling of spellings) {
      const answer = await merchant.client.post<EndpointWithSecret>('/webhook-endpoints', { url: spelling });
      expectProblem(answer, 409, 'webhook_url_taken');
      expect(answer.body).toMatchObject({ existing_id: id, next_action: 'read_existing' });
    }
    expect((await endpointOf(merchant, { id })).types).toEqual(['order.completed']);
    expect((await anEndpoint(other, { url })).id).not.toBe(id);
  });

  it('of 16 creations at once with one URL, one returns 201 and the others 409 with its ID', async () => {
    const url = aUrl();
    const answers = await atOnce(16, () => merchant.client.post('/webhook-endpoints', { url }));
    for (const answer of answers) if (answer.status !== 201) expectProblem(answer, 409, 'webhook_url_taken');
    expect(
      new Set(answers.map(({ status, body }) => (status === 201 ? body.id : body.existing_id) as string)).size,
    ).toBe(1);
    // All are 409 if the one that created it was answered too late, and repeated.
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(created.length === 0 && answers.some(({ isRepeated }) => isRepeated) ? 0 : 1);
  });

  it('of 30 creations at once with different URLs, 20 return 201 and the others 422 with the maximum', async () => {
    const answers = await atOnce(30, () => merchant.client.post('/webhook-endpoints', { url: aUrl() }));
    // A creation that was answered too late, and repeated, is a 409.
    const isLate = ({ isRepeated, body }: Answer): boolean => !!isRepeated && body.code === 'webhook_url_taken';
    const refused = answers.filter((answer) => answer.status !== 201 && !isLate(answer));
    expect(refused).toHaveLength(10);
    for (const answer of refused) expectProblem(answer, 422, 'too_many_webhook_endpoints');
    expect(refused[0]!.body).toMatchObject({ maximum: 20 });
    const { body } = await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints');
    expect(body.data).toHaveLength(20);
    expect((await other.client.post('/webhook-endpoints', { url: aUrl() })).status).toBe(201);
  });

  it('a repeat of the creation of the 20th endpoint returns 409 with its ID', async () => {
    const urls = Array.from({ length: 20 }, aUrl);
    for (const url of urls) await anEndpoint(merchant, { url });
    const answer = await merchant.client.post<EndpointWithSecret>('/webhook-endpoints', { url: urls[19] });
    expectProblem(answer, 409, 'webhook_url_taken');
  });

  it('creations and deletions of one URL at once end with 201, 204, 404 or 409', async () => {
    const url = aUrl();
    const statuses = new Set<number>();
    let id = (await anEndpoint(merchant, { url })).id;
    for (let round = 0; round < 12; round++) {
      const answers = await Promise.all([
        ...(await Promise.resolve([merchant.client.send('DELETE', `/webhook-endpoints/${id}`)])),
        ...[1, 2, 3].map(() => merchant.client.post<EndpointWithSecret>('/webhook-endpoints', { url })),
      ]);
      for (const { status } of answers) statuses.add(status);
      id = (await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints')).body.data[0]?.id ?? id;
    }
    expect([...statuses].filter((status) => ![201, 204, 404, 409].includes(status))).toEqual([]);
  });
});

describe('reading webhook endpoints', () => {
  it('GET /webhook-endpoints lists the endpoints of the merchant, the oldest first', async () => {
    expect((await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints')).body).toEqual({ data: [] });
    const ids = [];
    for (let n = 0; n < 3; n++) ids.push((await anEndpoint(merchant, { url: aUrl() })).id);
    await anEndpoint(other, { url: aUrl() });
    const { status, body } = await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints');
    expect(status).toBe(200);
    expect(idsOf(body)).toEqual(ids);
    expect(body.data[0]).toEqual(await endpointOf(merchant, body.data[0]!));
  });

  it('an endpoint shows how many events wait and since when', async () => {
    const { id } = await anEndpoint(merchant, { url: aUrl() }, { types: ['order.expired'] });
    receiver.object.answer = (_, response) => void response.writeHead(500).end();
    try {
      await merchant.client.put(`/webhook-endpoints/${id}`, { url: aUrl() });
      await someEvents(merchant, 3);
      await deliver(service);
      const events = (await merchant.client.get<EventPage>('/events')).body.data;
      expect(await endpointOf(merchant, { id })).toMatchObject({
        ...{ cursor: 0, behind: 3, oldest_waiting_at: events[0]?.timestamp, failures: 1 },
      });
    } finally {
      receiver.object.answer = (_, response) => void response.writeHead(204).end();
    }
  });

  it.each([
    ['GET', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['POST', '/ping'],
    ['POST', '/rotate-secret'],
    ['POST', '/enable'],
    ['POST', '/seek'],
  ])(
    '%s /webhook-endpoints/{id}%s returns 404 for an endpoint of another merchant and for an unknown one',
    async (method, suffix) => {
      const { id } = await anEndpoint(other, { url: aUrl() });
      const before = await rowOf(service, { id });
      const sent = receiver.object.received.length;
      const body = { PUT: { url: aUrl() }, '/seek': { after: 0 } }[suffix === '' ? method : suffix];
      for (const one of [id, UNKNOWN]) {
        const answer = await merchant.client.send(method, `/webhook-endpoints/${one}${suffix}`, body && { body });
        expectProblem(answer, 404, 'not_found');
      }
      expect(await rowOf(service, { id })).toEqual(before);
      expect(receiver.object.received).toHaveLength(sent);
      expect((await merchant.client.send(method, '/webhook-endpoints/x', body && { body })).status).not.toBe(500);
    },
  );
});

describe('the members of a webhook endpoint', () => {
  let valid: EndpointWithSecret;
  beforeEach(async () => {
    valid = await anEndpoint(merchant, { url: aUrl() });
  });

  it.each<[unknown, string[]]>([
    [{}, ['/url']],
    [{ url: null }, ['/url']],
    [{ url: 5 }, ['/url']],
    [{ url: ['http://127.0.0.1/'] }, ['/url']],
    [{ url: `http://127.0.0.1/${'x'.repeat(2000)}` }, ['/url']],
    [{ url: 'http://127.0.0.1/', types: [] }, ['/types']],
    [{ url: 'http://127.0.0.1/', types: 'order.completed' }, ['/types']],
    [{ url: 'http://127.0.0.1/', types: ['order.read'] }, ['/types']],
    [{ url: 'http://127.0.0.1/', types: ['order.completed', 5] }, ['/types']],
    [{ url: 'http://127.0.0.1/', types: [null] }, ['/types']],
    [{ url: 'http://127.0.0.1/', types: Array(101).fill('order.completed') }, ['/types']],
    [{ url: 'http://127.0.0.1/', types: { 0: 'order.completed' } }, ['/types']],
    ...[0, 101, -1, 1.5, '5', true, [5]].map((batch): [unknown, string[]] => [
      { url: 'http://127.0.0.1/', batch },
      ['/batch'],
    ]),
    [{ url: 'http://127.0.0.1/', secret: 'whsec_x' }, ['/secret']],
    [{ url: 'http://127.0.0.1/', cursor: 0, status: 'disabled' }, ['/cursor', '/status']],
    [{ url: 'http://127.0.0.1/', merchant_id: 'x' }, ['/merchant_id']],
  ])('%j is refused with 400, in a creation and in a replacement', async (body, pointers) => {
    for (const answer of [
      await other.client.post<EndpointWithSecret>('/webhook-endpoints', body),
      await merchant.client.put(`/webhook-endpoints/${valid.id}`, body),
    ]) {
      expectProblem(answer, 400, 'validation_failed');
      expect([...new Set(pointersOf(answer))]).toEqual(pointers);
    }
    expect((await other.client.get<{ data: Endpoint[] }>('/webhook-endpoints')).body.data).toEqual([]);
  });

  it.each<[unknown, string]>([
    [{}, '/after'],
    [{ after: null }, '/after'],
    [{ after: -1 }, '/after'],
    [{ after: 1.5 }, '/after'],
    [{ after: '0' }, '/after'],
    [{ after: 1e15 }, '/after'],
    [{ after: 1 }, '/after'],
    [{ after: 0, before: 1 }, '/before'],
    [{ after: 0, from: '2026-11-20T00:00:00Z' }, '/from'],
    [{ from: '2026-11-20' }, '/from'],
    [{ from: 0 }, '/from'],
    [{ from: null }, '/after'],
  ])('a seek with %j is refused with 400', async (body, pointer) => {
    const answer = await merchant.client.post(`/webhook-endpoints/${valid.id}/seek`, body);
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual([pointer]);
  });

  it('an endpoint has a batch of 1 unless the request says otherwise, also after a replacement', async () => {
    const url = aUrl();
    const { id, batch } = await anEndpoint(other, { url }, { batch: 100 });
    expect([batch, (await endpointOf(other, { id })).batch]).toEqual([100, 100]);
    const replaced = async (members: object): Promise<unknown> => {
      const { body } = await other.client.put<Endpoint>(`/webhook-endpoints/${id}`, { url, ...members });
      expect(await endpointOf(other, { id })).toEqual(body);
      return body.batch;
    };
    expect(await replaced({ batch: 7 })).toBe(7);
    expect(await replaced({})).toBe(1);
    expect([await replaced({ batch: 2 }), await replaced({ batch: null })]).toEqual([2, 1]);
    expect((await anEndpoint(other, { url: aUrl() }, { batch: null })).batch).toBe(1);
  });

  it.each([0, 101])('the database refuses a batch of %i', async (batch) => {
    const update = 'UPDATE webhook_endpoints SET batch = ? WHERE id = ?';
    await expect(service.dataSource.query(update, [batch, valid.id])).rejects.toThrow('ck_webhook_endpoints_batch');
  });

  it('types of null mean all types, as does a body without them', async () => {
    const { types } = await anEndpoint(other, { url: aUrl() }, { types: null });
    expect(types).toBeNull();
  });
});
