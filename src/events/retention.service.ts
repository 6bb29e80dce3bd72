import { Injectable } from '@nestjs/common';
import { Between, LessThan, MoreThanOrEqual } from 'typeorm';
import { EventFeed } from '../merchants/merchant.entity.js';
import { Config } from '../platform/config/config.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { LOCKED_IF_FREE } from '../platform/database/rows.js';
import { doEach, type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { after, Clock, DAY_MS } from '../platform/values/time.js';
import { FeedEvent } from './event.entity.js';

/** How many feeds are looked up at a time, and how many events of each are deleted in one transaction. */
const FEEDS = 50;
const EVENTS = 1000;

const DUE = `/* ${ALL_MERCHANTS} */
  SELECT f.merchant_id AS id
    FROM event_feeds f JOIN events e ON e.merchant_id = f.merchant_id AND e.sequence = f.oldest_sequence
   WHERE e.occurred_at < ? LIMIT ${FEEDS}`;

/** Deletes the events that feeds no longer keep. */
@Injectable()
export class RetentionService implements SweepTask {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  async run(): Promise<SweepProgress> {
    const keptSince = after(this.clock.now(), -this.config.EVENT_RETENTION_DAYS * DAY_MS);
    const due = await this.unitOfWork.statement((manager) => manager.query<{ id: string }[]>(DUE, [keptSince]));
    await doEach(due, ({ id }) => this.#prune(id, keptSince));
    return { hasMore: due.length > 0 };
  }

  async #prune(merchantId: string, keptSince: Date): Promise<void> {
    await this.unitOfWork.transaction(async (manager) => {
      const feed = await manager.findOne(EventFeed, { where: { merchantId }, lock: LOCKED_IF_FREE });
      if (feed === null) return;
      const end = Math.min(feed.oldestSequence + EVENTS, feed.lastSequence + 1);
      const sequence = Between(feed.oldestSequence, end - 1);
      // No gaps: an event that is kept also keeps those after it.
      const where = { merchantId, sequence, occurredAt: MoreThanOrEqual(keptSince) };
      const kept = await manager.findOne(FeedEvent, { where, order: { sequence: 'ASC' } });
      const oldestSequence = kept?.sequence ?? end;
      await manager.delete(FeedEvent, { merchantId, sequence: LessThan(oldestSequence) });
      await manager.update(EventFeed, { merchantId }, { oldestSequence, keptSince });
    });
  }
}
