import { Injectable } from '@nestjs/common';
import { Between, In } from 'typeorm';
import { type Fault, notFound, Problem, validationFailed } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { EventFeed } from '../merchants/event-feed.entity.js';
import type { EventDto, EventPageDto, ListEventsDto } from './dto/event.dto.js';
import { FeedEntry } from './event.entity.js';
import { toEventDtos } from './event.mapper.js';

/** How many events are looked through for a page of some types, however few of them are found. */
const READ_FOR_TYPES = 2000;

/** A page ends here, in characters, because metadata can be large. It has at least one event. */
const MAX_PAGE_SIZE = 1024 * 1024;

const ID = /^evt_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

@Injectable()
export class EventsService {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /**
   * Returns a page of a merchant's feed: at most `limit` events, and about 1 MiB.
   *
   * @throws Problem events_expired, with the oldest `sequence` that is kept; validation_failed if `after` is a number
   *   that the feed has not reached.
   */
  list(merchantId: string, { after, limit, types }: ListEventsDto): Promise<EventPageDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const feed = await manager.findOneByOrFail(EventFeed, { merchantId });
      refusePosition(after, feed, { parameter: 'after' });
      const { lastSequence } = feed;
      const upto = types === undefined ? lastSequence : Math.min(after + READ_FOR_TYPES, lastSequence);
      const found = await manager.find(FeedEntry, {
        where: { merchantId, sequence: Between(after + 1, upto), ...(types && { type: In(types) }) },
        order: { sequence: 'ASC' },
        take: limit + 1,
      });
      let size = 0;
      const data = (await toEventDtos(manager, merchantId, found.slice(0, limit))).filter((event, at) => {
        size += JSON.stringify(event).length;
        return at === 0 || size <= MAX_PAGE_SIZE;
      });
      const next_after = data.length < found.length ? data.at(-1)!.sequence : upto;
      return { data, next_after, has_more: next_after < lastSequence };
    });
  }

  /** @param id such as `evt_0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10`. @throws Problem not_found. */
  get(merchantId: string, id: string): Promise<EventDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const found = await manager.findBy(FeedEntry, { merchantId, id: ID.exec(id)?.[1] ?? '' });
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
  const detail = `must be at most ${lastSequence}, the sequence of the latest event; if you have read later ones, a backup was restored`;
  throw validationFailed([{ ...place, detail }]);
}
