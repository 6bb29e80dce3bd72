import { Injectable } from '@nestjs/common';
import { Between, type EntityManager, In } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Grant } from '../cashback/grant.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { type Fault, notFound, Problem, validationFailed } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { EventFeed } from '../merchants/event-feed.entity.js';
import { Order } from '../orders/order.entity.js';
import type { EventDataDto, EventDto, EventPageDto, ListEventsDto } from './dto/event.dto.js';
import { FeedEvent } from './event.entity.js';

/** How many events are looked through for a page of some types, however few of them are found. */
const READ_FOR_TYPES = 2000;

/** A response ends here, in characters, because metadata can be large. It has at least one event. */
const MAX_PAGE_SIZE = 1024 * 1024;

const ID = /^evt_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

@Injectable()
export class EventsService {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** Returns a page of at most about 1 MiB. */
  async list(merchantId: string, query: ListEventsDto): Promise<EventPageDto> {
    const page = await this.read(merchantId, query);
    let size = 0;
    const end = page.data.findIndex((event, at) => (size += JSON.stringify(event).length) > MAX_PAGE_SIZE && at > 0);
    if (end === -1) return page;
    return { data: page.data.slice(0, end), next_after: page.data[end - 1]!.sequence, has_more: true };
  }

  /**
   * Returns a page of a merchant's feed: at most `limit` events.
   *
   * @throws Problem events_expired if what follows `after` is no longer kept; validation_failed.
   */
  read(merchantId: string, { after, limit, types }: ListEventsDto): Promise<EventPageDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const feed = await manager.findOneByOrFail(EventFeed, { merchantId });
      refusePosition(after, feed, { parameter: 'after' });
      const { lastSequence } = feed;
      const upto = types === undefined ? lastSequence : Math.min(after + READ_FOR_TYPES, lastSequence);
      const found = await manager.find(FeedEvent, {
        where: { merchantId, sequence: Between(after + 1, upto), ...(types && { type: In(types) }) },
        order: { sequence: 'ASC' },
        take: limit + 1,
      });
      const data = await toEventDtos(manager, merchantId, found.slice(0, limit));
      const next_after = data.length < found.length ? data.at(-1)!.sequence : upto;
      return { data, next_after, has_more: next_after < lastSequence };
    });
  }

  /** @param id such as `evt_0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10`. */
  get(merchantId: string, id: string): Promise<EventDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const found = await manager.findBy(FeedEvent, { merchantId, id: ID.exec(id)?.[1] ?? '' });
      const [event] = await toEventDtos(manager, merchantId, found);
      if (event === undefined) throw notFound('no event has this ID, or it is no longer kept');
      return event;
    });
  }
}

/** @param place where the request has `after`. @throws Problem events_expired; validation_failed. */
export function refusePosition(after: number, feed: EventFeed, place: Omit<Fault, 'detail'>): void {
  const { lastSequence, oldestSequence: oldest } = feed;
  if (after < oldest - 1) throw new Problem('events_expired', { oldest });
  if (after <= lastSequence) return;
  const detail = `must be at most ${lastSequence}, the sequence of the latest event; if you have read later events, the service was restored from a backup`;
  throw validationFailed([{ ...place, detail }]);
}

/**
 * Builds the responses for events of one merchant, in a constant number of statements. Call it in a snapshot. It adds
 * what is not stored in events, because an erasure removes it: documents, metadata and reasons.
 */
async function toEventDtos(
  manager: EntityManager,
  merchantId: string,
  events: readonly FeedEvent[],
): Promise<EventDto[]> {
  if (events.length === 0) return [];
  const where = { merchantId, id: In(events.map(({ subjectId }) => subjectId)) };
  const orders = await manager.find(Order, { select: { id: true, document: true, metadata: true }, where });
  const wallets = await manager.find(Wallet, { select: { id: true, document: true }, where });
  const documents = new Map([...orders, ...wallets].map(({ id, document }) => [id, document]));
  const metadata = new Map(orders.map((order) => [order.id, order.metadata]));
  const reasons = new Map<string, string | null>();
  const creditIds = events.flatMap(({ data }) => ('grant' in data ? data.grant.id : []));
  if (creditIds.length > 0) {
    for (const { id, reason } of await manager.findBy(Credit, { merchantId, id: In(creditIds) }))
      reasons.set(id, reason);
    const grants = await manager.findBy(Grant, { merchantId, creditId: In(creditIds) });
    for (const grant of grants) metadata.set(grant.creditId, grant.metadata);
  }
  const dataOf = ({ subjectId, data }: FeedEvent): EventDataDto => {
    const { id: walletId, ...sums } = data.wallet;
    const wallet = { id: walletId, document: documents.get(subjectId)!, ...sums };
    if ('order' in data) return { ...data, order: { ...data.order, metadata: metadata.get(subjectId) ?? {} }, wallet };
    if (!('grant' in data)) return { ...data, wallet };
    const { id } = data.grant;
    const added = { reason: reasons.get(id) ?? null, metadata: metadata.get(id) ?? {} };
    return { ...data, grant: { ...data.grant, ...added }, wallet };
  };
  return events.map((event) => {
    const { id, type, sequence, occurredAt: timestamp } = event;
    return { id: `evt_${id}`, type, sequence, timestamp, data: dataOf(event) };
  });
}
