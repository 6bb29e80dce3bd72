import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach } from '@jest/globals';
import { DeliveryService } from '../../src/events/webhook-delivery.service.js';
import { Client } from './client.js';
import { aDocument, aMerchant, logIn, type TestMerchant } from './factories.js';
import { type Answering, type RawReceiver, type Receiver, startRawReceiver, startReceiver } from './receiver.js';
import type { Service, ServiceOptions } from './service.js';
import type { Endpoint, EndpointWithSecret } from './shop.js';
import { startedLater, useService } from './use-service.js';
import { type Row, rowsOf } from './wallets.js';

/**
 * Starts a service before the tests of the calling file or `describe`. Each test has its own merchant, whose client may
 * be replaced, and its own receivers; no endpoint is left after it.
 */
export function useWebhooks(options: ServiceOptions = {}) {
  const { service } = useService(options);
  const merchant = startedLater<TestMerchant>('the merchant');
  const started: (Receiver | RawReceiver)[] = [];
  const untilEnd = <T extends Receiver | RawReceiver>(receiver: T): T => {
    started.push(receiver);
    return receiver;
  };
  beforeEach(async () => void merchant.set(await aMerchant(service)));
  afterEach(async () => {
    for (const one of started.splice(0)) await one.stop();
    await settled(service);
    await rowsOf(service, 'DELETE FROM webhook_endpoints');
  });
  return {
    service,
    merchant: merchant.object,
    aReceiver: async (answer?: Answering) => untilEnd(await startReceiver(answer)),
    aRawReceiver: async (answer: Parameters<typeof startRawReceiver>[0]) => untilEnd(await startRawReceiver(answer)),
    /** Logs in again, after the clock was moved by more than the access token lasts. */
    logInAgain: async () => {
      const { access_token: token } = await logIn(service, merchant.object.email);
      merchant.object.client = new Client(service, token);
    },
  };
}

let counter = 0;

/** Creates a webhook endpoint. @returns it with its secret. */
export async function anEndpoint(
  merchant: Pick<TestMerchant, 'client'>,
  { url }: { url: string },
  members: Record<string, unknown> = {},
): Promise<EndpointWithSecret> {
  const { status, body } = await merchant.client.post<EndpointWithSecret>('/webhook-endpoints', { url, ...members });
  if (status !== 201) throw new Error(`the endpoint was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** The current state of an endpoint. */
export async function endpointOf(merchant: TestMerchant, { id }: { id: string }): Promise<Endpoint> {
  const { status, body } = await merchant.client.get<Endpoint>(`/webhook-endpoints/${id}`);
  if (status !== 200) throw new Error(`the endpoint was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** The row of an endpoint. */
export async function rowOf(service: Service, { id }: { id: string }): Promise<Row> {
  const [row] = await rowsOf(service, 'SELECT * FROM webhook_endpoints WHERE id = ?', [id]);
  return row!;
}

/** Grants cashback to new customers: each grant is one event. @returns the documents. */
export async function someEvents(merchant: TestMerchant, count: number, document?: string): Promise<string[]> {
  const documents = Array.from({ length: count }, () => document ?? aDocument());
  for (const one of documents) {
    const body = { external_id: `EVENT-${process.pid}-${++counter}`, document: one, amount: '1.00' };
    const { status } = await merchant.client.post('/grants', body);
    if (status !== 201) throw new Error(`the grant was answered ${status}`);
  }
  return documents;
}

/** Waits until this instance delivers nothing. */
export const settled = (service: Service): Promise<void> => service.app.get(DeliveryService).settled();

/** Waits for something that happens soon. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let wait = 0; wait < 9000; wait++) {
    if (await isTrue()) return;
    await sleep(10);
  }
  throw new Error(`waited in vain until ${what}`);
}
