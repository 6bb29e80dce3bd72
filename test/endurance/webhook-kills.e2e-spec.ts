import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBuiltService } from '../support/built-service.js';
import { answerWith, deliver, hang, type Receiver, startReceiver } from '../support/receiver.js';
import { startedLater, useService } from '../support/use-service.js';
import { anEndpoint, endpointOf, feedOf, rowOf, sequence, settled, someEvents, until } from '../support/webhooks.js';

const { service, merchant } = useService();
const receiver = startedLater<Receiver>('the receiver');

beforeAll(async () => void receiver.set(await startReceiver()));
afterAll(() => receiver.get()?.stop());

describe('an instance that is killed between sending an event and storing that it was accepted', () => {
  it('another instance sends the same event after the lease, nothing is lost and nothing overtakes', async () => {
    const endpoint = await anEndpoint(merchant, receiver.object);
    await someEvents(merchant, 6);
    const held = 3;
    receiver.object.answer = (received, response) =>
      (received.event.sequence === held ? hang : answerWith(204))(received, response);
    const built = await startBuiltService(service.databaseUrl);
    try {
      await until('the third event arrives', () => receiver.object.sequences().at(-1) === held);
      // The other instance leaves it to the one that has the lease.
      await deliver(service);
      expect(receiver.object.sequences()).toEqual([1, 2, 3]);
    } finally {
      await built.kill();
    }
    receiver.object.answer = answerWith(204);
    await deliver(service);
    expect(receiver.object.sequences()).toEqual([1, 2, 3]);
    const { leased_until: leasedUntil } = await rowOf(service, endpoint);
    expect(Number(leasedUntil) - Date.now()).toBeLessThanOrEqual(60_000);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 2, failures: 0 });
    await service.dataSource.query('UPDATE webhook_endpoints SET leased_until = ? WHERE id = ?', [
      new Date(0),
      endpoint.id,
    ]);
    await deliver(service);
    expect(receiver.object.sequences()).toEqual([1, 2, 3, 3, 4, 5, 6]);
    const ids = receiver.object.received.map(({ headers }) => headers['webhook-id']);
    expect(ids[2]).toBe(ids[3]);
    expect([...new Set(ids)]).toEqual((await feedOf(merchant)).map(({ id }) => id));
  });

  it('an instance that lost its lease while it waited stores nothing, and the events after it come once', async () => {
    const endpoint = await anEndpoint(merchant, { url: `${receiver.object.url}/lost` });
    receiver.object.received.splice(0);
    const ends: (() => void)[] = [];
    receiver.object.answer = (_, response) => void ends.push(() => response.writeHead(500).end());
    await service.dataSource.query('DELETE FROM webhook_endpoints WHERE id <> ?', [endpoint.id]);
    await someEvents(merchant, 3);
    await sequence(service);
    await until('the event arrives', () => ends.length === 1);
    receiver.object.answer = answerWith(204);
    service.clock.skip(61_000);
    await sequence(service);
    await until('the events arrive', async () => (await endpointOf(merchant, endpoint)).behind === 0);
    ends[0]!();
    await settled(service);
    expect(receiver.object.sequences()).toEqual([7, 7, 8, 9]);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({
      failures: 0,
      behind: 0,
      last_attempt: { status: 204 },
    });
  });
});
