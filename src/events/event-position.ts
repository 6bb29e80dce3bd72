import { Between, type EntityManager, MoreThanOrEqual } from 'typeorm';
import { after } from '../common/clock.js';
import type { EventFeed } from '../merchants/event-feed.entity.js';
import { MARGIN_MS } from './date-events.js';
import { FeedEvent } from './event.entity.js';

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
