import { beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { atOnce } from '../support/client.js';
import { aMerchant } from '../support/factories.js';
import { deliver, type Receiver } from '../support/receiver.js';
import { type Service, startService, TEST_SECRET } from '../support/service.js';
import { anEndpoint, endpointOf, rowOf, someEvents, useWebhooks } from '../support/webhooks.js';

const { service, merchant, aReceiver, logInAgain } = useWebhooks({ env: { ACCESS_TOKEN_TTL_SECONDS: '86400' } });
let receiver: Receiver;
beforeEach(async () => {
  receiver = await aReceiver();
});

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Which of some secrets signed the latest event, by their positions. Every signature must be from one of them. */
function signedBy(secrets: string[]): number[] {
  const { headers, raw } = receiver.received.at(-1)!;
  const signatures = String(headers['webhook-signature']).split(' ');
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  const expected = secrets.map((secret) => new Webhook(secret).sign(String(headers['webhook-id']), at, raw));
  expect(signatures.filter((signature) => !expected.includes(signature))).toEqual([]);
  return expected.flatMap((signature, index) => (signatures.includes(signature) ? [index] : []));
}

async function rotate({ id }: { id: string }): Promise<string> {
  const { status, body } = await merchant.client.post(`/webhook-endpoints/${id}/rotate-secret`);
  expect(status).toBe(200);
  return body.secret as string;
}

async function sendOne(to: Service = service): Promise<void> {
  await someEvents(merchant, 1);
  await deliver(to);
}

describe('POST /webhook-endpoints/{id}/rotate-secret', () => {
  it('after a rotation both secrets sign for 24 hours, the new one first, and then only the new one', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    const secrets = [endpoint.secret, await rotate(endpoint)];
    await sendOne();
    expect(signedBy(secrets)).toEqual([0, 1]);
    const [first] = String(receiver.received.at(-1)!.headers['webhook-signature']).split(' ');
    expect(first).toHaveLength(47);
    service.clock.skip(DAY - HOUR);
    await sendOne();
    expect(signedBy(secrets)).toEqual([0, 1]);
    await logInAgain();
    service.clock.skip(2 * HOUR);
    await sendOne();
    expect(signedBy(secrets)).toEqual([1]);
  });

  it('after 7 rotations the newest 5 secrets sign, and the same applies to a ping', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    const secrets = [endpoint.secret];
    for (let n = 0; n < 7; n++) secrets.push(await rotate(endpoint));
    await sendOne();
    expect(signedBy(secrets)).toEqual([3, 4, 5, 6, 7]);
    await merchant.client.post(`/webhook-endpoints/${endpoint.id}/ping`);
    expect(receiver.received.at(-1)!.event.type).toBe('ping');
    expect(signedBy(secrets)).toEqual([3, 4, 5, 6, 7]);
  });

  it('of 4 rotations at once each returns another secret, and all of them sign', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    const secrets = await atOnce(4, () => rotate(endpoint));
    expect(new Set(secrets).size).toBe(4);
    await sendOne();
    expect(signedBy([endpoint.secret, ...secrets])).toEqual([0, 1, 2, 3, 4]);
  });

  it('a rotation changes nothing but the secret', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    const { secrets: before, ...row } = await rowOf(service, endpoint);
    await rotate(endpoint);
    const { secrets: now, ...after } = await rowOf(service, endpoint);
    expect(after).toEqual(row);
    expect(now).not.toEqual(before);
  });
});

describe('the encryption of secrets', () => {
  it('a secret that is copied to another endpoint does not sign; last_attempt says to rotate, which helps', async () => {
    const other = await aMerchant(service);
    const [victim, attacker] = [await anEndpoint(other, receiver), await anEndpoint(merchant, receiver)];
    await service.dataSource.query(
      'UPDATE webhook_endpoints a JOIN webhook_endpoints v ON v.id = ? SET a.secrets = v.secrets WHERE a.id = ?',
      [victim.id, attacker.id],
    );
    await sendOne();
    expect(receiver.connections()).toBe(0);
    const { body: ping } = await merchant.client.post(`/webhook-endpoints/${attacker.id}/ping`);
    const shown = await endpointOf(merchant, attacker);
    for (const attempt of [ping, shown.last_attempt])
      expect(attempt).toMatchObject({ status: null, error: expect.stringContaining('rotate') });
    expect(shown.failures).toBe(1);
    const secret = await rotate(attacker);
    service.clock.skip(10_000);
    await deliver(service);
    expect(signedBy([secret])).toEqual([0]);
  });

  it('a bit that was changed in a stored secret is noticed', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    const row = await rowOf(service, endpoint);
    const stored = (typeof row.secrets === 'string' ? JSON.parse(row.secrets) : row.secrets) as { sealed: string }[];
    const bytes = Buffer.from(stored[0]!.sealed, 'base64');
    bytes[20]! ^= 1;
    const secrets = JSON.stringify([{ sealed: bytes.toString('base64'), until: null }]);
    await service.dataSource.query('UPDATE webhook_endpoints SET secrets = ? WHERE id = ?', [secrets, endpoint.id]);
    await sendOne();
    expect((await endpointOf(merchant, endpoint)).last_attempt?.error).toContain('rotate');
    expect(receiver.connections()).toBe(0);
  });

  it('after a change of JWT_SECRET earlier secrets sign, and after a sweep they do without the previous one', async () => {
    const NEW = 'another-signing-secret-of-the-tests-9876543210';
    const endpoint = await anEndpoint(merchant, receiver);
    const secrets = [endpoint.secret, await rotate(endpoint)];
    const start = (env: Record<string, string>): Promise<Service> =>
      startService({ databaseUrl: service.databaseUrl, clock: service.clock, env });
    // Instances in one process share Passport's strategy, so access tokens are not accepted while they run.
    await someEvents(merchant, 1);
    const without = await start({ JWT_SECRET: NEW });
    await deliver(without);
    await without.stop();
    expect((await rowOf(service, endpoint)).last_attempt).toContain('rotate');
    const stored = JSON.stringify((await rowOf(service, endpoint)).secrets);
    const both = await start({ JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: TEST_SECRET });
    service.clock.skip(10_000);
    await deliver(both);
    expect(signedBy(secrets)).toEqual([0, 1]);
    await both.stop();
    const sealed = JSON.stringify((await rowOf(service, endpoint)).secrets);
    expect(sealed).not.toBe(stored);
    await service.dataSource.query('UPDATE webhook_endpoints SET `cursor` = 0 WHERE id = ?', [endpoint.id]);
    receiver.received.splice(0);
    const after = await start({ JWT_SECRET: NEW });
    await deliver(after);
    await after.stop();
    expect(signedBy(secrets)).toEqual([0, 1]);
    expect(JSON.stringify((await rowOf(service, endpoint)).secrets)).toBe(sealed);
  });
});
