import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { answerWith, deliver, type Receiver, startReceiver } from '../support/receiver.js';
import { useService } from '../support/use-service.js';
import { anEndpoint, endpointOf, rowOf, sequence, settled, someEvents, until } from '../support/webhooks.js';

const { service } = useService();
const admin = new AdminCommandLine(service);
let merchant: TestMerchant;
let receiver: Receiver;

beforeEach(async () => {
  merchant = await aMerchant(service);
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.stop();
  await service.dataSource.query('DELETE FROM webhook_endpoints');
});

const erase = async (document: string): Promise<void> => {
  const args = ['customer', 'erase', '--merchant', merchant.id, '--document-stdin'];
  await admin.builtJson(args, `${document}\n`);
};
const documents = (): string[] => receiver.received.map(({ event }) => event.data.wallet.document);

describe('an erasure and webhooks', () => {
  it('after an erasure, deliveries and replays have the pseudonym', async () => {
    const document = aDocument();
    const { id } = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2, document);
    await deliver(service);
    expect(documents()).toEqual([document, document]);
    await erase(document);
    await merchant.client.post(`/webhook-endpoints/${id}/seek`, { after: 0 });
    receiver.received.splice(0);
    await deliver(service);
    expect(documents().length).toBeGreaterThanOrEqual(2);
    expect(receiver.received.map(({ raw }) => raw).join()).not.toContain(document);
  });

  it('events that were read before an erasure are not sent 5 seconds later with the document', async () => {
    const document = aDocument();
    const ends: (() => void)[] = [];
    receiver.answer = (_, response) => void ends.push(() => response.writeHead(204).end());
    await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3, document);
    await sequence(service);
    await until('the first event arrives', () => ends.length === 1);
    await erase(document);
    service.clock.skip(5000);
    receiver.answer = answerWith(204);
    ends[0]!();
    await settled(service);
    await deliver(service);
    const [first, ...later] = documents();
    expect(first).toBe(document);
    expect(later.length).toBeGreaterThanOrEqual(2);
    expect(later).not.toContain(document);
  });

  it('the response of a receiver that repeats the request does not keep the document after an erasure', async () => {
    const document = aDocument();
    receiver.answer = ({ raw }, response) => void response.writeHead(500).end(raw);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 1, document);
    await deliver(service);
    expect((await endpointOf(merchant, endpoint)).last_attempt?.response).toContain('cashback.granted');
    await erase(document);
    expect(JSON.stringify(await rowOf(service, endpoint))).not.toContain(document);
  });
});
