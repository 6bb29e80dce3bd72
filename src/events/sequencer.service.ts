import { Injectable } from '@nestjs/common';
import { Clock, SECOND_MS } from '../common/clock.js';
import type { SharedWork } from '../common/sweep.js';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import { UnitOfWork } from '../database/unit-of-work.js';

/** How many merchants' events are numbered at a time, and how many of each. */
const MERCHANTS = 50;
const EVENTS_OF_ONE = 200;

/** How many waiting events are counted. */
const MOST_COUNTED = 10_000;

const WAITING = `/* ${ALL_MERCHANTS} */
  SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM event_outbox LIMIT ${MOST_COUNTED}) some) AS count,
         (SELECT occurred_at FROM event_outbox ORDER BY id LIMIT 1) AS since`;

const MERCHANTS_WAITING = `/* ${ALL_MERCHANTS} */
  SELECT DISTINCT merchant_id AS id FROM event_outbox WHERE merchant_id > ? ORDER BY merchant_id LIMIT ${MERCHANTS}`;

/** Creates the feeds of some merchants that have none. */
export const CREATE_FEEDS = `
  INSERT IGNORE INTO event_feeds (merchant_id, last_sequence, oldest_sequence, kept_since)
  SELECT m.id, 0, 1, m.created_at FROM merchants m
   WHERE m.id IN (?) AND NOT EXISTS (SELECT 1 FROM event_feeds f WHERE f.merchant_id IN (?) AND f.merchant_id = m.id)`;

const LOCK = 'SELECT merchant_id AS id FROM event_feeds WHERE merchant_id IN (?) FOR UPDATE SKIP LOCKED';

const FIRST_OF_ONE = `(SELECT id FROM event_outbox WHERE merchant_id = ? ORDER BY id LIMIT ${EVENTS_OF_ONE})`;

const NUMBER = `
  INSERT INTO events (merchant_id, sequence, id, type, subject_id, data, occurred_at)
  SELECT o.merchant_id, f.last_sequence + ROW_NUMBER() OVER (PARTITION BY o.merchant_id ORDER BY o.id),
         o.event_id, o.type, o.subject_id, o.data, o.occurred_at
    FROM event_outbox o JOIN event_feeds f ON f.merchant_id = o.merchant_id
   WHERE o.merchant_id IN (?) AND o.id IN (?)`;

const ADVANCE = `
  UPDATE event_feeds f
    JOIN (SELECT merchant_id, COUNT(*) AS count, MIN(occurred_at) AS since
            FROM event_outbox WHERE merchant_id IN (?) AND id IN (?) GROUP BY merchant_id) o
      ON f.merchant_id = o.merchant_id
     SET f.last_sequence = f.last_sequence + o.count, f.oldest_at = COALESCE(f.oldest_at, o.since)`;

const REMOVE = 'DELETE FROM event_outbox WHERE merchant_id IN (?) AND id IN (?)';

/**
 * Numbers the events of committed use cases. A number that a use case took itself would be visible before a lower one
 * of a longer transaction, and a reader would miss that; a counter in each use case would queue a merchant's orders.
 */
@Injectable()
export class SequencerService implements SharedWork {
  #waiting = { count: 0, since: null as Date | null };
  /** The merchant whose events were numbered last: merchants take turns. */
  #after = '';

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /** The events that waited for a number when the last round began, up to 10,000. */
  get waiting(): number {
    return this.#waiting.count;
  }

  /** How long the oldest of them has waited. */
  get lagSeconds(): number {
    const { since } = this.#waiting;
    return since === null ? 0 : Math.max(0, (+this.clock.now() - +since) / SECOND_MS);
  }

  /**
   * Numbers waiting events. What another instance numbers at the moment is left to it.
   *
   * @returns an instant in the past if there may be more; not that of an event, because the clocks of instances differ.
   */
  async next(): Promise<Date> {
    const now = this.clock.now();
    const [{ count, since }] = await this.#query<[{ count: string; since: Date | null }]>(WAITING);
    this.#waiting = { count: Number(count), since };
    if (since === null) return now;
    const merchants = (await this.#query<{ id: string }[]>(MERCHANTS_WAITING, [this.#after])).map(({ id }) => id);
    const isMore = merchants.length === MERCHANTS || this.#after !== '';
    this.#after = merchants.length === MERCHANTS ? merchants.at(-1)! : '';
    const mayBeMore = merchants.length > 0 && (await this.#number(merchants));
    return isMore || mayBeMore ? new Date(0) : now;
  }

  /** @returns whether these merchants may have more. */
  async #number(merchants: string[]): Promise<boolean> {
    const { locked, numbered } = await this.unitOfWork.transaction(async (manager, record) => {
      const feeds = (await manager.query<{ id: string }[]>(LOCK, [merchants])).map(({ id }) => id);
      const first = feeds.map(() => FIRST_OF_ONE).join(' UNION ALL ');
      const rows = feeds.length === 0 ? [] : await manager.query<{ id: number }[]>(first, feeds);
      const ids = rows.map(({ id }) => id);
      if (ids.length > 0) {
        for (const sql of [NUMBER, ADVANCE, REMOVE]) await manager.query(sql, [feeds, ids]);
        record({ type: 'feed.advanced' });
      }
      return { locked: feeds.length, numbered: ids.length };
    });
    if (locked === merchants.length) return numbered >= EVENTS_OF_ONE;
    // Another instance has locked the others, or they have no feed yet.
    const { affectedRows: created } = await this.#query<{ affectedRows: number }>(CREATE_FEEDS, [merchants, merchants]);
    return created > 0 || numbered >= EVENTS_OF_ONE;
  }

  #query<Result>(sql: string, parameters: unknown[] = []): Promise<Result> {
    return this.unitOfWork.statement((manager) => manager.query<Result>(sql, parameters));
  }
}
