import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { CreditExpiryService } from '../cashback/credit-expiry.service.js';
import { DateEvents } from '../events/date-events.js';
import { EventSweep, RUNNING_CLOCKS } from '../events/event.entity.js';
import { SequencerService } from '../events/sequencer.service.js';
import { EventFeed } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { OrderExpiryService } from '../orders/order-expiry.service.js';
import { LOCKED } from '../platform/database/rows.js';
import { type DatedTask, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Problem, validationFailed } from '../platform/values/problem.js';
import { LONG_WORK_MS } from '../platform/values/time-limits.js';
import { after, DAY_MS, SECOND_MS, startOfDay } from '../platform/values/time.js';
import { SumsService } from '../reports/sums.service.js';
import { ClockLocks, MerchantClock, SandboxClock } from './clock-locks.service.js';

/** No part of a step begins later. What is left is for the next step. */
const STEP_MS = SECOND_MS / 2;

const LONGEST_MOVE_DAYS = 5 * 366;

/** No clock goes on: dates that follow from its orders have years of four digits, too. */
const LAST_INSTANT = new Date('2200-01-01T00:00:00.000Z');

/** When the next work of each task is due. */
type Dates = (Date | undefined)[];

const isDue = (date: Date | undefined, now: Date): boolean => date !== undefined && date <= now;

/** Where to move a clock: an instant, or the beginning of a local day. */
export interface ClockTarget {
  now?: string;
  on?: string;
}

/** A merchant's clock moves through all that is due, in order, and stands at each date while it happens. */
@Injectable()
export class ClockMoves {
  /** In the order in which the sweeps run. */
  readonly #tasks: DatedTask[];
  readonly #announcements: DateEvents[];

  constructor(
    orders: OrderExpiryService,
    credits: CreditExpiryService,
    private readonly sequencer: SequencerService,
    private readonly ledgerSums: SumsService,
    private readonly merchants: MerchantsService,
    private readonly locks: ClockLocks,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: SandboxClock,
  ) {
    this.#announcements = (['available', 'expiring'] as const).map((kind) => new DateEvents(kind, unitOfWork, clock));
    this.#tasks = [orders, credits, ...this.#announcements];
  }

  async read(merchantId: string): Promise<MerchantClock | null> {
    return this.unitOfWork.statement((manager) => manager.findOneBy(MerchantClock, { merchantId }));
  }

  /**
   * Moves a merchant's clock, or continues an earlier move, for some seconds. The same move again changes nothing.
   *
   * @throws Problem clock_backwards; validation_failed for a target that is too far away.
   */
  async move(merchantId: string, given: ClockTarget): Promise<MerchantClock> {
    const startedAt = performance.now();
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    const [target, pointer] =
      given.now === undefined ? [startOfDay(given.on!, timeZone), '/on'] : [new Date(given.now), '/now'];
    let moved = await this.locks.change(merchantId, (clock, manager) => this.#begin(clock, manager, target, pointer));
    const { firstSequence } = moved;
    let dates: Dates = [];
    const goOn = async (clock: MerchantClock): Promise<Partial<MerchantClock>> => {
      if (clock.standsAt! > target) throw clockBackwards(clock.standsAt!, pointer);
      await this.#runDue(clock, dates);
      dates = await this.#datesOf(merchantId);
      return { ...(await this.#next(clock, dates, target)), target, firstSequence };
    };
    // A step takes milliseconds, unless thousands of customers have the same date.
    while (!isDone(moved, target) && performance.now() - startedAt < LONG_WORK_MS)
      moved = await this.locks.change(merchantId, goOn);
    return moved;
  }

  /** Begins a move, unless the last one has the same target. The first one lets the clock stand still. */
  async #begin(
    { merchantId, standsAt, target: last }: MerchantClock,
    manager: EntityManager,
    target: Date,
    pointer: string,
  ): Promise<Partial<MerchantClock>> {
    const now = standsAt ?? this.clock.now();
    if (target < now) throw clockBackwards(now, pointer);
    if (+target === +(last ?? 0)) return {};
    const limits = [after(now, LONGEST_MOVE_DAYS * DAY_MS), LAST_INSTANT].map((limit) => limit.toISOString());
    if (limits.some((limit) => target > new Date(limit)))
      throw validationFailed([{ pointer, detail: `must be at most ${limits.toSorted()[0]}` }]);
    if (standsAt === null) await standStill(manager, merchantId);
    const firstSequence = (await this.#lastSequence(merchantId)) + 1;
    return { standsAt: now, target, firstSequence, lastSequence: null };
  }

  #datesOf(merchantId: string): Promise<Dates> {
    return Promise.all(this.#tasks.map((task) => task.nextOf(merchantId)));
  }

  /** Does what was due when the dates were read. What has become due since is in the next ones. */
  async #runDue({ merchantId, standsAt }: MerchantClock, dates: Dates): Promise<void> {
    // The announcements pass every instant, as where the clock runs, whether or not a customer has one: what an order
    // releases now is not announced for a date before.
    const before = after(standsAt!, -1);
    const pass = (): Promise<boolean> => runAll(this.#announcements, merchantId);
    if (dates.length > 0 && !(await this.clock.during(merchantId, before, pass))) return;
    const due = this.#tasks.filter((_, at) => isDue(dates[at], standsAt!));
    await this.clock.during(merchantId, standsAt, () => runAll(due, merchantId));
  }

  /** Sets the clock to the next date, or to the target, and ends the move there. */
  async #next({ merchantId, standsAt }: MerchantClock, dates: Dates, target: Date): Promise<Partial<MerchantClock>> {
    const left = dates.filter((date) => isDue(date, target));
    const next = new Date(Math.min(+target, ...left.map(Number)));
    if (next > standsAt!) return { standsAt: next, lastSequence: null };
    const isOver = left.length === 0 && (await this.#sum(merchantId, standsAt!));
    return { lastSequence: isOver ? await this.#lastSequence(merchantId) : null };
  }

  /** Adds up the days of the ledger that are over. @returns whether that is done. */
  #sum(merchantId: string, at: Date): Promise<boolean> {
    return this.clock.during(merchantId, at, () => runAll([this.ledgerSums], merchantId));
  }

  /** Returns the number of the last event that is committed. */
  async #lastSequence(merchantId: string): Promise<number> {
    await this.sequencer.runFor(merchantId);
    const feed = await this.unitOfWork.statement((manager) => manager.findOneByOrFail(EventFeed, { merchantId }));
    return feed.lastSequence;
  }
}

export const isMoving = ({ target, lastSequence }: MerchantClock): boolean => target !== null && lastSequence === null;

/** Another move at the same time can have another target. */
const isDone = (clock: MerchantClock, target: Date): boolean => +clock.target! === +target && !isMoving(clock);

/** Gives a merchant positions of its own in what is announced, where those of all others are. */
async function standStill(manager: EntityManager, merchantId: string): Promise<void> {
  const positions = await manager.find(EventSweep, { where: { merchantId: RUNNING_CLOCKS }, lock: LOCKED });
  await manager.insert(
    EventSweep,
    positions.map((position) => ({ ...position, merchantId })),
  );
}

/** @returns whether all is done. */
async function runAll(tasks: readonly SweepTask[], merchantId: string): Promise<boolean> {
  const endAt = performance.now() + STEP_MS;
  for (const task of tasks) while ((await task.run(merchantId)).hasMore) if (performance.now() > endAt) return false;
  return true;
}

function clockBackwards(now: Date, pointer: string): Problem {
  const errors = [{ pointer, detail: 'must not be before the clock' }];
  return new Problem('clock_backwards', { now: now.toISOString(), errors });
}
