import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { LedgerPosition, Merchant } from '../merchants/merchant.entity.js';
import { ALL_MERCHANTS, sweptMerchants } from '../platform/database/by-merchant.js';
import { DatabaseServer } from '../platform/database/database-server.js';
import { doEach, type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { addDays, after, Clock, dayOf, MINUTE_MS, startOfDay } from '../platform/values/time.js';
import { LEDGER_SUMS } from './sums.js';

/** When no transaction that writes an entry of a day is open any more. The clocks of instances may differ. */
const LATEST_COMMIT_MS = 10 * MINUTE_MS;

const MERCHANTS_PER_RUN = 100;

/** How many entries are added up in one transaction. */
const ENTRIES = 5000;

const due = (merchants: string): string => `/* ${ALL_MERCHANTS} */
  SELECT merchant_id AS id, due_at FROM ledger_positions
   WHERE due_at <= ? AND ${merchants} ORDER BY due_at LIMIT ${MERCHANTS_PER_RUN}`;

/**
 * Adds up the ledger by day, after the day's end, so that reports need not read its entries. No use case changes a sum:
 * a merchant's orders would wait for each other.
 */
@Injectable()
export class SumsService implements SweepTask {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly server: DatabaseServer,
  ) {}

  /**
   * Adds up a part of a day of each merchant that is due. The position is moved in the same transaction, so each entry
   * is added once.
   */
  async run(merchantId?: string): Promise<SweepProgress> {
    const now = this.clock.now(merchantId);
    // After the clock was read, because it can jump at any time. One that stands still is not this machine's.
    if (merchantId === undefined) await this.server.check();
    const [merchants, parameters] = sweptMerchants(merchantId);
    const found = await this.unitOfWork.statement((manager) =>
      manager.query<{ id: string; due_at: Date }[]>(due(merchants), [now, ...parameters]),
    );
    let hasMore = false;
    await doEach(found, async ({ id }) => {
      if (await this.unitOfWork.transaction((manager) => this.#sumNext(manager, id, now))) hasMore = true;
    });
    const [first] = found;
    return hasMore && first !== undefined ? { hasMore, doneUntil: first.due_at } : { hasMore };
  }

  /** @returns whether something was due, and no other instance does it. */
  async #sumNext(manager: EntityManager, merchantId: string, now: Date): Promise<boolean> {
    const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
    const position = await manager.findOne(LedgerPosition, { where: { merchantId }, lock });
    const overSince = after(now, -LATEST_COMMIT_MS);
    if (position === null || position.dueAt > now) return false;
    const { timeZone } = (await manager.findOneByOrFail(Merchant, { id: merchantId })).policy;
    const moveTo = (moved: Partial<LedgerPosition>): Promise<unknown> =>
      manager.update(LedgerPosition, { merchantId }, moved);

    const [first, today] = [
      await LEDGER_SUMS.firstFrom(manager, merchantId, position.summedUntil),
      dayOf(overSince, timeZone),
    ];
    const day = first === undefined || dayOf(first, timeZone) > today ? today : dayOf(first, timeZone);
    const [start, end] = [startOfDay(day, timeZone), startOfDay(addDays(day, 1), timeZone)];
    // Days without entries are passed at once.
    const from = start < position.summedUntil ? position.summedUntil : start;
    if (day === today) {
      await moveTo({ summedUntil: from, dueAt: after(end, LATEST_COMMIT_MS) });
      return true;
    }
    const next = await LEDGER_SUMS.firstFrom(manager, merchantId, from, ENTRIES);
    const to = next === undefined || next > end ? end : new Date(Math.max(+next, +from + 1));
    await LEDGER_SUMS.add(manager, merchantId, day, from, to);
    await moveTo({ summedUntil: to });
    return true;
  }
}
