import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { answerWith, deliver, type Receiver, startReceiver } from '../support/receiver.js';
import { useService } from '../support/use-service.js';
import { anEndpoint, endpointOf, loggedInAgain, rowOf, sequence, someEvents } from '../support/webhooks.js';
import type { Endpoint } from '../support/shop.js';

const { service } = useService({ env: { ACCESS_TOKEN_TTL_SECONDS: '86400' } });
let merchant: TestMerchant;
let receiver: Receiver;

beforeEach(async () => {
  merchant = await aMerchant(service);
  receiver = await startReceiver(answerWith(500));
});
afterEach(async () => {
  await receiver.stop();
  await service.dataSource.query('DELETE FROM webhook_endpoints');
});

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];

/** How long the endpoint pauses after its last attempt, in milliseconds. */
async function pauseOf(endpoint: { id: string }): Promise<number> {
  const { last_attempt, next_attempt_at } = await endpointOf(merchant, endpoint);
  return Date.parse(next_attempt_at!) - Date.parse(last_attempt!.at);
}

/** Moves the clock until the next attempt is due, or `ms` before. */
async function skipTo(endpoint: { id: string }, ms = 0): Promise<void> {
  const { next_attempt_at } = await rowOf(service, endpoint);
  service.clock.skip(Math.max(0, Number(next_attempt_at) - Number(service.clock.now()) - ms));
}

/** Moves the clock by days, and logs in again. */
async function skipHours(hours: number): Promise<void> {
  service.clock.skip(hours * HOUR);
  merchant = await loggedInAgain(service, merchant);
}

/** What an attempt takes beyond the pause: how long the machine needs to store it. */
const SLACK = 5000;

describe('the attempts after a failure', () => {
  it('the pauses are 5 s, 30 s, 2 min, 10 min, 30 min and then 1 h, each 20 % shorter or longer, and none is cut', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    const pauses = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, HOUR, HOUR];
    for (const [index, pause] of pauses.entries()) {
      await deliver(service);
      expect(receiver.received).toHaveLength(index + 1);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: index + 1, cursor: 0, status: 'active' });
      const actual = await pauseOf(endpoint);
      expect(actual).toBeGreaterThanOrEqual(0.8 * pause);
      expect(actual).toBeLessThanOrEqual(1.2 * pause + SLACK);
      await skipTo(endpoint, 0.3 * pause);
      await deliver(service);
      expect(receiver.received).toHaveLength(index + 1);
      await skipTo(endpoint);
    }
    receiver.answer = answerWith(204);
    await deliver(service);
    expect(receiver.sequences()).toEqual([...pauses.map(() => 1), 1, 2]);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 0, next_attempt_at: null, behind: 0 });
    receiver.answer = answerWith(500);
    await someEvents(merchant, 1);
    await deliver(service);
    expect(await pauseOf(endpoint)).toBeLessThanOrEqual(6 * SECOND + SLACK);
  });

  it('endpoints that fail together are not tried again together', async () => {
    for (let n = 0; n < 8; n++) await anEndpoint(merchant, { url: `${receiver.url}/${n}` });
    await someEvents(merchant, 1);
    await deliver(service);
    const { body } = await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints');
    const pauses = body.data.map(
      ({ last_attempt, next_attempt_at }) => Date.parse(next_attempt_at!) - Date.parse(last_attempt!.at),
    );
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(100);
  });

  it.each<[string, (now: Date) => string, number, number]>([
    ['seconds', () => '600', 600 * SECOND, 600 * SECOND],
    ['a date', (now) => new Date(+now + 20 * MINUTE).toUTCString(), 20 * MINUTE - SECOND, 20 * MINUTE],
    ['fewer seconds than the pause', () => '1', 4 * SECOND, 6 * SECOND],
    ['0', () => '0', 4 * SECOND, 6 * SECOND],
    ['a date in the past', () => 'Wed, 21 Oct 2015 07:28:00 GMT', 4 * SECOND, 6 * SECOND],
    ['more than an hour', () => '86400', HOUR, HOUR],
    ['a date in ten years', (now) => new Date(+now + 3650 * 24 * HOUR).toUTCString(), HOUR, HOUR],
    ['a huge number', () => '99999999999999999999', HOUR, HOUR],
    ['a number of ten digits', () => '4000000000', HOUR, HOUR],
    ['garbage', () => 'soon', 4 * SECOND, 6 * SECOND],
    ['a negative number', () => '-600', 4 * SECOND, 6 * SECOND],
    ['nothing', () => '', 4 * SECOND, 6 * SECOND],
  ])('Retry-After with %s only lengthens the pause, up to an hour', async (_, valueAt, least, most) => {
    receiver.answer = (_received, response) =>
      void response.writeHead(503, { 'retry-after': valueAt(service.clock.now()) }).end();
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 1);
    await deliver(service);
    const pause = await pauseOf(endpoint);
    expect(pause).toBeGreaterThanOrEqual(least);
    expect(pause).toBeLessThanOrEqual(most + SLACK);
  });
});

describe('an endpoint that is given up', () => {
  const attemptsIn = async (result: string): Promise<number> => {
    const { body } = await new Client(service).get<string>('/metrics');
    const found = new RegExp(`^webhook_attempts_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(body);
    return Number(found?.[1]);
  };
  const disabledLines = (id: string): unknown[] =>
    service.logged
      .flatMap((text) => text.split('\n'))
      .filter((line) => line.includes('webhook_endpoint_disabled') && line.includes(id))
      .map((line): unknown => JSON.parse(line));

  it('after 3 days of failures an endpoint is disabled, with a log line and a metric, and gets nothing more', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    await deliver(service);
    await skipTo(endpoint);
    await skipHours(71.9);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 2, status: 'active' });
    const before = await attemptsIn('disabled');
    await skipHours(2);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({
      ...{ failures: 3, status: 'disabled', next_attempt_at: null, cursor: 0, behind: 2 },
    });
    expect(await attemptsIn('disabled')).toBe(before + 1);
    expect(disabledLines(endpoint.id)).toEqual([
      expect.objectContaining({ endpoint_id: endpoint.id, merchant_id: merchant.id, status: 500 }),
    ]);
    expect(JSON.stringify(disabledLines(endpoint.id))).not.toContain('/webhooks');
    await skipHours(48);
    await deliver(service);
    expect(receiver.received).toHaveLength(3);
    receiver.answer = answerWith(204);
    for (let round = 0; round < 2; round++) {
      const { status, body } = await merchant.client.post(`/webhook-endpoints/${endpoint.id}/enable`);
      expect({ status, body }).toMatchObject({ status: 200, body: { status: 'active', failures: 0, cursor: 0 } });
    }
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 1, 1, 1, 2]);
  });

  it('a success in between starts the 3 days again', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    await deliver(service);
    await skipHours(71);
    receiver.answer = (received, response) => void response.writeHead(received.event.sequence === 1 ? 204 : 500).end();
    await deliver(service);
    await skipHours(2);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ status: 'active', failures: 2, cursor: 1 });
  });

  it('a 410 disables an endpoint at once; a ping, a seek and a replacement do not enable it', async () => {
    receiver.answer = answerWith(410);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    const before = await attemptsIn('disabled');
    await deliver(service);
    expect(await attemptsIn('disabled')).toBe(before + 1);
    expect(disabledLines(endpoint.id)).toHaveLength(1);
    receiver.answer = answerWith(204);
    const path = `/webhook-endpoints/${endpoint.id}`;
    expect((await merchant.client.post(`${path}/ping`)).body).toMatchObject({ status: 204 });
    expect((await merchant.client.post(`${path}/seek`, { after: 1 })).body).toMatchObject({ status: 'disabled' });
    expect((await merchant.client.put(path, { url: receiver.url })).body).toMatchObject({ status: 'disabled' });
    await deliver(service);
    expect(receiver.received.map(({ event }) => event.type)).toEqual(['cashback.granted', 'ping']);
    await merchant.client.post(`${path}/enable`);
    await deliver(service);
    expect(receiver.received.at(-1)!.event).toMatchObject({ sequence: 2 });
  });

  it('a 410 to a ping changes nothing', async () => {
    receiver.answer = answerWith(410, {}, 'gone');
    const endpoint = await anEndpoint(merchant, receiver);
    const row = await rowOf(service, endpoint);
    const { status, body } = await merchant.client.post(`/webhook-endpoints/${endpoint.id}/ping`);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 410, error: null, response: 'gone' } });
    expect(body.event_id).toBe(receiver.received[0]!.event.id);
    expect(await rowOf(service, endpoint)).toEqual(row);
  });

  it('attempts are counted by their result', async () => {
    const [delivered, failed] = [await attemptsIn('delivered'), await attemptsIn('failed')];
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await deliver(service);
    receiver.answer = answerWith(204);
    await skipTo(endpoint);
    await deliver(service);
    expect([await attemptsIn('delivered'), await attemptsIn('failed')]).toEqual([delivered + 3, failed + 1]);
  });
});

describe('events that are no longer kept', () => {
  it('an endpoint whose next event is no longer kept fails and says so; enable and seek return 410 with the oldest', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await deliver(service);
    await service.dataSource.query('UPDATE webhook_endpoints SET status = ? WHERE id = ?', ['disabled', endpoint.id]);
    await skipHours(91 * 24);
    const { client } = merchant;
    await sequence(service);
    await someEvents(merchant, 2);
    await sequence(service);
    const path = `/webhook-endpoints/${endpoint.id}`;
    const enabled = await client.post(`${path}/enable`);
    expectProblem(enabled, 410, 'events_expired');
    expect(enabled.body.oldest).toBe(4);
    const early = await client.post(`${path}/seek`, { after: 2 });
    expectProblem(early, 410, 'events_expired');
    const late = await client.post(`${path}/seek`, { after: 6 });
    expectProblem(late, 400, 'validation_failed');
    expect(pointersOf(late)).toEqual(['/after']);
    await service.dataSource.query("UPDATE webhook_endpoints SET status = 'active' WHERE id = ?", [endpoint.id]);
    await deliver(service);
    const { body } = await client.get(path);
    expect(body.last_attempt).toMatchObject({
      event_id: null,
      status: null,
      error: expect.stringContaining('the oldest event that is kept'),
    });
    expect(body).toMatchObject({ cursor: 0, failures: expect.any(Number) });
    receiver.answer = answerWith(204);
    receiver.received.splice(0);
    expect((await client.post(`${path}/seek`, { after: 3 })).status).toBe(200);
    expect((await client.post(`${path}/enable`)).status).toBe(200);
    await deliver(service);
    expect(receiver.sequences()).toEqual([4, 5]);
  });
});
