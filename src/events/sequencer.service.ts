import { Injectable } from '@nestjs/common';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Clock, SECOND_MS } from '../platform/values/time.js';

/** How many merchants' events are numbered at a time, and how many of each. */
const MERCHANTS = 50;
const EVENTS_OF_ONE = 1000;

/** How many waiting events are counted. */
const MAX_COUNTED = 10_000;

const WAITING = `/* ${ALL_MERCHANTS} */
  SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM event_outbox LIMIT ${MAX_COUNTED}) some) AS count,
         (SELECT occurred_at FROM event_outbox ORDER BY id LIMIT 1) AS since`;

/** Some of the merchants, so that a long backlog of one delays nobody. */
const MERCHANTS_WAITING = `/* ${ALL_MERCHANTS} */
  SELECT merchant_id AS id FROM event_outbox GROUP BY merchant_id ORDER BY RAND() LIMIT ${MERCHANTS}`;

const LOCK = 'SELECT merchant_id AS id FROM event_feeds WHERE merchant_id IN (?) FOR UPDATE';

const FIRST_OF_ONE = `(SELECT id FROM event_outbox WHERE merchant_id = ? ORDER BY id LIMIT ${EVENTS_OF_ONE})`;

const NUMBER = `
  INSERT INTO events (merchant_id, sequence, id, type, subject_id, data, occurred_at, made_by)
  SELECT o.merchant_id, f.last_sequence + ROW_NUMBER() OVER (PARTITION BY o.merchant_id ORDER BY o.id),
         o.event_id, o.type, o.subject_id, o.data, o.occurred_at, o.made_by
    FROM event_outbox o JOIN event_feeds f ON f.merchant_id = o.merchant_id
   WHERE o.merchant_id IN (?) AND o.id IN (?)`;

const ADVANCE = `
  UPDATE event_feeds f
    JOIN (SELECT merchant_id, COUNT(*) AS count FROM event_outbox WHERE merchant_id IN (?) AND id IN (?) GROUP BY merchant_id) o
      ON f.merchant_id = o.merchant_id
     SET f.last_sequence = f.last_sequence + o.count`;

const REMOVE = 'DELETE FROM event_outbox WHERE merchant_id IN (?) AND id IN (?)';

/**
 * Numbers the events of committed use cases. A number that a use case took itself would be visible before a lower one
 * of a longer transaction, and a reader would miss that; a counter in each use case would queue a merchant's orders.
 */
@Injectable()
export class SequencerService implements SweepTask {
  /** The events that waited for a number when the last round began, up to 10,000, and since when the oldest did. */
  #waiting = { count: 0, since: null as Date | null };

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  get waiting(): number {
    return this.#waiting.count;
  }

  get lagSeconds(): number {
    const { since } = this.#waiting;
    return since === null ? 0 : Math.max(0, (+this.clock.now() - +since) / SECOND_MS);
  }

  /** Numbers waiting events. What another instance numbers at the moment is left to it. */
  async run(): Promise<SweepProgress> {
    const merchants = await this.#merchantsWaiting();
    if (merchants.length === 0) return { hasMore: false };
    const numbered = await this.#number(merchants, `${LOCK} SKIP LOCKED`);
    return { hasMore: numbered >= EVENTS_OF_ONE || (numbered > 0 && merchants.length === MERCHANTS) };
  }

  /** Numbers all waiting events of a merchant. What another instance numbers at the moment is waited for. */
  async runFor(merchantId: string): Promise<void> {
    while ((await this.#number([merchantId], LOCK)) > 0);
  }

  async #merchantsWaiting(): Promise<string[]> {
    const [{ count, since }] = await this.#query<[{ count: string; since: Date | null }]>(WAITING);
    this.#waiting = { count: Number(count), since };
    if (since === null) return [];
    return (await this.#query<{ id: string }[]>(MERCHANTS_WAITING)).map(({ id }) => id);
  }

  /** @returns how many events were numbered. */
  #number(merchants: readonly string[], lock: string): Promise<number> {
    return this.unitOfWork.transaction(async (manager, record) => {
      const feeds = (await manager.query<{ id: string }[]>(lock, [merchants])).map(({ id }) => id);
      if (feeds.length === 0) return 0;
      const first = feeds.map(() => FIRST_OF_ONE).join(' UNION ALL ');
      const ids = (await manager.query<{ id: number }[]>(first, feeds)).map(({ id }) => id);
      if (ids.length === 0) return 0;
      for (const sql of [NUMBER, ADVANCE, REMOVE]) await manager.query(sql, [feeds, ids]);
      record({ type: 'feed.advanced' });
      return ids.length;
    });
  }

  #query<Result>(sql: string, parameters: unknown[] = []): Promise<Result> {
    return this.unitOfWork.statement((manager) => manager.query<Result>(sql, parameters));
  }
}
