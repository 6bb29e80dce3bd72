import { setTimeout as sleep } from 'node:timers/promises';
import { DeliveryService } from '../../src/webhooks/delivery.service.js';
import { Client } from './client.js';
import { numberEvents } from './events.js';
import { aDocument, logIn, type TestMerchant } from './factories.js';
import type { Service } from './service.js';
import { type Row, rowsOf } from './wallets.js';
import type { Endpoint, EndpointWithSecret, EventPage, FeedEvent } from './shop.js';

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

/** Numbers the events, so that they are in the feed. It also begins to deliver. */
export const sequence = numberEvents;

/** Waits until this instance delivers nothing. */
export const settled = (service: Service): Promise<void> => service.app.get(DeliveryService).settled();

/** All events in a merchant's feed. */
export async function feedOf(merchant: TestMerchant, after = 0): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  for (let position = after; ;) {
    const { status, body } = await merchant.client.get<EventPage>(`/events?after=${position}`);
    if (status !== 200) throw new Error(`the feed was answered ${status}: ${JSON.stringify(body)}`);
    events.push(...body.data);
    if (!body.has_more) return events;
    position = body.next_after;
  }
}

/** Waits for something that happens soon. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let wait = 0; wait < 9000; wait++) {
    if (await isTrue()) return;
    await sleep(10);
  }
  throw new Error(`waited in vain until ${what}`);
}

/** Logs in again, after the clock was moved by more than the access token lasts. */
export async function loggedInAgain(service: Service, merchant: TestMerchant): Promise<TestMerchant> {
  const tokens = await logIn(service, merchant.email);
  return merchant.with(new Client(service, tokens.access_token), tokens);
}
