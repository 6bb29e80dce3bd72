import { expect } from '@jest/globals';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { newId } from '../../src/platform/values/ids.js';
import type { TestMerchant } from './factories.js';
import type { Service } from './service.js';
import { untilAvailable } from './until-available.js';
import { rowsOf } from './wallets.js';
import type { EventPage, FeedEvent } from './shop.js';

/** Does what is due, which numbers the events of all merchants last. */
export const numberEvents = (service: Service): Promise<void> =>
  untilAvailable(() => service.app.get(SweepsService).doAll());

/** Reads the feed of a merchant from a position to its end, as a consumer does. */
export async function readFeed(merchant: TestMerchant, after = 0, query = ''): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  for (let next = after; ;) {
    const { status, body } = await merchant.client.get<EventPage>(`/events?after=${next}${query}`);
    if (status !== 200) throw new Error(`the feed was answered ${status}: ${JSON.stringify(body)}`);
    events.push(...body.data);
    if (!body.has_more) return events;
    expect(body.next_after).toBeGreaterThan(next);
    next = body.next_after;
  }
}

/** Numbers and reads all events of a merchant. */
export async function eventsOf(service: Service, merchant: TestMerchant, query = ''): Promise<FeedEvent[]> {
  await numberEvents(service);
  return readFeed(merchant, 0, query);
}

/** Expects numbers from 1 without gaps, and exactly one event for each version of an order. */
export function expectComplete(
  events: (Pick<FeedEvent, 'id' | 'sequence'> & { data: { order?: { id: string; version: number } } })[],
): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const versions = new Map<string, number[]>();
  for (const { order } of events.map(({ data }) => data))
    if (order !== undefined) versions.set(order.id, [...(versions.get(order.id) ?? []), order.version]);
  for (const found of versions.values()) expect(found).toEqual(found.map((_, at) => at + 1));
}

/** The wallet of a customer as an event has it. */
export async function eventWalletOf(merchant: TestMerchant, document: string): Promise<object> {
  const { id, available, pending, held, debt, frozen } = await merchant.wallet(document);
  return { id, document, available, pending, held, debt, frozen };
}

/** Creates and cancels orders: two events each. */
export async function cancelOrders(service: Service, merchant: TestMerchant, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    const { id } = await merchant.create();
    await merchant.cancel({ id });
  }
  await numberEvents(service);
}

/** Appends copies of the latest event of a merchant, with another type. */
export function appendEvents(
  service: Service,
  merchant: TestMerchant,
  count: number,
  type: string,
  at = service.clock.now(),
): Promise<void> {
  return appendAt(service, merchant, Array<Date>(count).fill(at), type);
}

/** Appends a copy of the latest event of a merchant for each of these instants, in their order. */
export async function appendAt(
  service: Service,
  merchant: TestMerchant,
  instants: readonly Date[],
  type: string,
): Promise<void> {
  const latest = 'SELECT * FROM events WHERE merchant_id = ? ORDER BY sequence DESC LIMIT 1';
  const { merchant_id, subject_id, data } = (await rowsOf(service, latest, [merchant.id]))[0]!;
  const rows = instants.map((at) => [merchant_id, newId(at), type, subject_id, data, at]);
  const columns = 'merchant_id, event_id, type, subject_id, data, occurred_at';
  await rowsOf(service, `INSERT INTO event_outbox (${columns}) VALUES ?`, [rows]);
  await numberEvents(service);
}
