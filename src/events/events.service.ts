import { Injectable } from '@nestjs/common';
import { Between, In } from 'typeorm';
import { type Fault, notFound, Problem, validationFailed } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { EventFeed } from '../merchants/event-feed.entity.js';
import type { EventDto, EventPageDto, ListEventsDto } from './dto/event.dto.js';
import { FeedEvent } from './event.entity.js';
import { toEventDtos } from './event.mapper.js';

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
