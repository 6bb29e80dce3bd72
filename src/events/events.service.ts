import { Injectable } from '@nestjs/common';
import { Between, type EntityManager, In, MoreThanOrEqual } from 'typeorm';
import { UserNames } from '../auth/user-names.service.js';
import { EventFeed } from '../merchants/merchant.entity.js';
import { firstMebibyte } from '../platform/database/lists.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { type Fault, notFound, Problem, validationFailed } from '../platform/values/problem.js';
import { after } from '../platform/values/time.js';
import { MARGIN_MS } from './date-events.js';
import { type EventDto, type EventPageDto, type ListEventsDto } from './event.dto.js';
import { FeedEvent } from './event.entity.js';
import { toEventDtos } from './event.mapper.js';

/**
 * Returns the position before the first event that happened at an instant or later, or that of the newest event. No
 * index has the instants: a binary search by sequence, which reads 24 of ten million events, finds where they begin to
 * be later than the margin before the instant. So the first event is among those of the next two minutes.
 */
export async function positionBefore(manager: EntityManager, feed: EventFeed, instant: Date): Promise<number> {
  const { merchantId, oldestSequence, lastSequence } = feed;
  const select = { merchantId: true, sequence: true, occurredAt: true } as const;
  const early = after(instant, -MARGIN_MS);
  let [low, high] = [oldestSequence, lastSequence + 1];
  while (low < high) {
    const sequence = Math.floor((low + high) / 2);
    const { occurredAt } = await manager.findOneOrFail(FeedEvent, { select, where: { merchantId, sequence } });
    if (occurredAt < early) low = sequence + 1;
    else high = sequence;
  }
  const where = { merchantId, sequence: Between(low, lastSequence), occurredAt: MoreThanOrEqual(instant) };
  const first = await manager.findOne(FeedEvent, { select, where, order: { sequence: 'ASC' } });
  return (first?.sequence ?? lastSequence + 1) - 1;
}

/** How many events are looked through for a page of some types, however few of them are found. */
const READ_FOR_TYPES = 2000;

/** What is around the events in the JSON of a page. */
const FRAME_BYTES = 100;

const ID = /^evt_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

@Injectable()
export class EventsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly names: UserNames,
  ) {}

  /** Returns a page of at most 1 MiB. */
  async list(merchantId: string, query: ListEventsDto): Promise<EventPageDto> {
    const page = await this.read(merchantId, query);
    const data = firstThatFit(page.data);
    if (data.length === page.data.length) return page;
    return { data, next_after: data.at(-1)!.sequence, has_more: true };
  }

  /**
   * Returns a page of a merchant's feed: at most `limit` events.
   *
   * @throws Problem events_expired if what follows `after` is no longer kept; validation_failed.
   */
  async read(merchantId: string, query: ListEventsDto): Promise<EventPageDto> {
    const { limit, types } = query;
    const page = this.unitOfWork.snapshot(async (manager) => {
      const feed = await manager.findOneByOrFail(EventFeed, { merchantId });
      const { lastSequence } = feed;
      const after = await startOf(manager, feed, query);
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
    return this.names.fillIn(await page);
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

/** Returns the position that a page follows. */
async function startOf(manager: EntityManager, feed: EventFeed, query: ListEventsDto): Promise<number> {
  const { after = 0, from, last, types } = query;
  const [first, ...others] = (['after', 'from', 'last'] as const).filter((name) => query[name] !== undefined);
  if (others.length > 0)
    throw validationFailed(others.map((parameter) => ({ parameter, detail: `cannot be combined with ${first}` })));
  if (from !== undefined) return positionBefore(manager, feed, new Date(from));
  if (last === undefined) {
    refusePosition(after, feed, { parameter: 'after' });
    return after;
  }
  const { merchantId, lastSequence } = feed;
  const latest = await manager.find(FeedEvent, {
    select: { merchantId: true, sequence: true },
    where: {
      merchantId,
      sequence: Between(lastSequence - READ_FOR_TYPES + 1, lastSequence),
      ...(types && { type: In(types) }),
    },
    order: { sequence: 'DESC' },
    take: last,
  });
  return (latest.at(-1)?.sequence ?? lastSequence + 1) - 1;
}

/** Returns the first events whose JSON has at most 1 MiB. */
export const firstThatFit = (events: readonly EventDto[]): EventDto[] =>
  firstMebibyte(events, (event) => Buffer.byteLength(JSON.stringify(event)) + ','.length, FRAME_BYTES);

/** @param place where the request has `after`. @throws Problem events_expired; validation_failed. */
export function refusePosition(after: number, feed: EventFeed, place: Omit<Fault, 'detail'>): void {
  const { lastSequence, oldestSequence: oldest } = feed;
  if (after < oldest - 1) throw new Problem('events_expired', { oldest });
  if (after <= lastSequence) return;
  const detail = `must be at most ${lastSequence}, the sequence of the latest event; if you have read later events, the service was restored from a backup`;
  throw validationFailed([{ ...place, detail }]);
}
