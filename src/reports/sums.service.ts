import { Injectable } from '@nestjs/common';
import { type EntityManager, LessThanOrEqual } from 'typeorm';
import { Merchant, SumPosition, type SumsName } from '../merchants/merchant.entity.js';
import { ALL_MERCHANTS, sweptMerchants } from '../platform/database/by-merchant.js';
import { DatabaseServer } from '../platform/database/database-server.js';
import { LOCKED_IF_FREE } from '../platform/database/rows.js';
import { doEach, type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { addDays, after, Clock, dayOf, MINUTE_MS, startOfDay } from '../platform/values/time.js';
import { ALL_SUMS } from './sums.js';

/** How old rows are of which no transaction that writes them is open any more. The clocks of instances may differ. */
const LATEST_COMMIT_MS = 10 * MINUTE_MS;

/** When to look again for rows, if there were some and if there were none. */
const BUSY_MS = 5 * MINUTE_MS;
const IDLE_MS = 30 * MINUTE_MS;

const POSITIONS_PER_RUN = 100;

/** How many rows are added up in one transaction. */
const ROWS = 5000;

const due = (merchants: string): string => `/* ${ALL_MERCHANTS} */
  SELECT merchant_id AS id, due_at FROM sum_positions
   WHERE due_at <= ? AND ${merchants} ORDER BY due_at LIMIT ${POSITIONS_PER_RUN}`;

/**
 * Adds up rows by local day when they are old enough, so that reports need not read them. No use case changes a sum: a
 * merchant's orders would wait for each other.
 */
@Injectable()
export class SumsService implements SweepTask {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly server: DatabaseServer,
  ) {}

  /**
   * Adds up a part of a day of each sum that is due, those of a merchant in one transaction. The position is moved in
   * the same transaction, so each row is added once.
   */
  async run(merchantId?: string): Promise<SweepProgress> {
    const now = this.clock.now(merchantId);
    // After the clock was read, because it can jump at any time. One that stands still is not this machine's.
    if (merchantId === undefined) await this.server.check();
    const [merchants, parameters] = sweptMerchants(merchantId);
    const found = await this.unitOfWork.statement((manager) =>
      manager.query<{ id: string; due_at: Date }[]>(due(merchants), [now, ...parameters]),
    );
    let hasMore = found.length === POSITIONS_PER_RUN;
    await doEach([...new Set(found.map(({ id }) => id))], async (id) => {
      if (await this.unitOfWork.transaction((manager) => sumNext(manager, id, now))) hasMore = true;
    });
    const [first] = found;
    return hasMore && first !== undefined ? { hasMore, doneUntil: first.due_at } : { hasMore };
  }
}

/** @returns whether more is due of a merchant. What another instance adds up is left to it. */
async function sumNext(manager: EntityManager, merchantId: string, now: Date): Promise<boolean> {
  const where = { merchantId, dueAt: LessThanOrEqual(now) };
  const positions = await manager.find(SumPosition, { where, lock: LOCKED_IF_FREE });
  if (positions.length === 0) return false;
  const { timeZone } = (await manager.findOneByOrFail(Merchant, { id: merchantId })).policy;
  let hasMore = false;
  for (const position of positions) {
    const moved = await sumPart(manager, position, timeZone, now);
    await manager.update(SumPosition, { merchantId, sums: position.sums }, moved);
    if (moved.dueAt === undefined) hasMore = true;
  }
  return hasMore;
}

/** Adds up a part of a day. @returns where the position is then, and when it is due if that was all. */
async function sumPart(
  manager: EntityManager,
  { merchantId, sums: name, summedUntil }: SumPosition,
  timeZone: string,
  now: Date,
): Promise<{ summedUntil: Date; dueAt?: Date }> {
  const sums = ALL_SUMS[name as SumsName];
  const until = after(now, -LATEST_COMMIT_MS);
  const endOf = (instant: Date): Date => startOfDay(addDays(dayOf(instant, timeZone), 1), timeZone);
  const first = await sums.firstFrom(manager, merchantId, summedUntil);
  if (first === undefined || first >= until) {
    // A day is closed soon after it is over.
    const dueAt = earlier(after(now, first === undefined ? IDLE_MS : BUSY_MS), after(endOf(until), LATEST_COMMIT_MS));
    // The clock may have been corrected.
    return { summedUntil: until > summedUntil ? until : summedUntil, dueAt };
  }
  const next = await sums.firstFrom(manager, merchantId, first, ROWS);
  // At least one instant, however many rows it has.
  const part = next === undefined ? until : next > first ? next : after(first, 1);
  const to = earlier(earlier(endOf(first), until), part);
  await sums.add(manager, merchantId, dayOf(first, timeZone), first, to);
  return { summedUntil: to };
}

const earlier = (one: Date, other: Date): Date => (one < other ? one : other);
