import type { EntityManager } from 'typeorm';
import { expiresOn } from '../cashback/validity.js';
import { walletData } from '../cashback/wallet-events.js';
import { FREE } from '../cashback/wallet-sums.js';
import { lockAndSum } from '../cashback/wallet.store.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { ALL_MERCHANTS, byMerchant, sweptMerchants } from '../platform/database/by-merchant.js';
import { LOCKED_IF_FREE, readInstant } from '../platform/database/rows.js';
import type { DatedTask, SweepProgress } from '../platform/database/sweep.js';
import type { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { NewFeedEvent } from '../platform/values/domain-event.js';
import { formatMoney } from '../platform/values/money.js';
import { after, type Clock, DAY_MS, dayOf, HOUR_MS, MINUTE_MS, SECOND_MS } from '../platform/values/time.js';
import { EventSweep, RUNNING_CLOCKS } from './event.entity.js';

/** How many wallets are announced in one transaction. */
const LIMIT = 50;

/** Which credits are announced on one of their dates. */
interface Announced {
  date: 'available_at' | 'expires_at';
  index: string;
  /** When it can be spent, or exists, at the latest if it is announced. */
  since: string;
  /** How long before the date. */
  aheadMs: number;
}

const from = ({ index, date, since, aheadMs }: Announced, merchants: string): string => `
    FROM cashback_credits FORCE INDEX (${index})
   WHERE is_open = 1 AND (${date} = ? AND wallet_id > ? OR ${date} > ?)
     AND ${since} < ${date} - INTERVAL ${aheadMs / SECOND_MS} SECOND AND ${merchants}`;

const dueCredits = (announced: Announced, merchants: string): string => `/* ${ALL_MERCHANTS} */
  SELECT ${announced.date} AS date, wallet_id AS walletId, merchant_id AS merchantId, SUM${FREE} AS cents
    ${from(announced, merchants)} AND ${announced.date} <= ?
   GROUP BY ${announced.date}, wallet_id, merchant_id ORDER BY ${announced.date}, wallet_id LIMIT ${LIMIT}`;

const nextDate = (announced: Announced, merchants: string): string =>
  `SELECT ${announced.date} AS at ${from(announced, merchants)} ORDER BY ${announced.date} LIMIT 1`;

/**
 * The dates that are announced, and how long before. Cashback that is available at once was announced by its order or
 * grant. Seven days less an hour: a change of the clocks within them does not move the announcement to another day.
 */
const KINDS: Record<EventSweep['kind'], Announced> = {
  available: {
    date: 'available_at',
    index: 'ix_cashback_credits_start',
    since: 'created_at',
    aheadMs: 0,
  },
  expiring: {
    date: 'expires_at',
    index: 'ix_cashback_credits_due',
    since: 'GREATEST(created_at, available_at)',
    aheadMs: 7 * DAY_MS - HOUR_MS,
  },
};

/**
 * How much later than its instant a change is committed, at most: a transaction takes seconds, and the clocks of
 * instances may differ by a minute. A date is announced when no transaction that adds a credit with it is open.
 */
export const MARGIN_MS = 2 * MINUTE_MS;

/** The position where all wallets of an instant have been announced. No ID is greater. */
const LAST_WALLET = '~';

interface DueCredits {
  date: Date;
  walletId: string;
  merchantId: string;
  cents: string;
}

/**
 * Announces what dates change: cashback that becomes available, and cashback that expires in seven days. Dates are days
 * of the merchant, so a wallet has at most one event of each kind per day.
 */
export class DateEvents implements DatedTask {
  constructor(
    private readonly kind: EventSweep['kind'],
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Announces the next wallets, in the order of their dates. The position is stored in the transaction of the events,
   * so each wallet is announced once. A clock that stands still is moved while its merchant has no other transaction.
   */
  async run(merchantId?: string): Promise<SweepProgress> {
    const key = { kind: this.kind, merchantId: merchantId ?? RUNNING_CLOCKS };
    const announced = KINDS[key.kind];
    const aheadMs = announced.aheadMs - (merchantId === undefined ? MARGIN_MS : 0);
    const until = after(this.clock.now(merchantId), aheadMs);
    const [merchants, parameters] = sweptMerchants(merchantId);
    const sql = dueCredits(announced, merchants);
    const { done, hasMore } = await this.unitOfWork.transaction(async (manager, record) => {
      const position = await manager.findOne(EventSweep, { where: key, lock: LOCKED_IF_FREE });
      if (position === null) return { done: until, hasMore: false };
      const { doneUntil: date, afterWallet } = position;
      if (date > until || (+date === +until && afterWallet === LAST_WALLET)) return { done: until, hasMore: false };
      const found = await manager.query<DueCredits[]>(sql, [date, afterWallet, date, ...parameters, until]);
      for (const [merchant, credits] of byMerchant(found, (credit) => credit))
        (await this.#eventsOf(manager, merchant, credits)).forEach(record);
      const last = found.length < LIMIT ? { date: until, walletId: LAST_WALLET } : found.at(-1)!;
      const moved = { doneUntil: last.date, afterWallet: last.walletId };
      const { affected } = await manager.update(EventSweep, { ...key, doneUntil: date, afterWallet }, moved);
      if (affected !== 1) throw new Error('a locked position was changed by another transaction');
      return { done: last.date, hasMore: found.length === LIMIT };
    });
    return { hasMore, doneUntil: after(done, -aheadMs) };
  }

  /** A position of its own is needed: the merchant's clock stands still. */
  async nextOf(merchantId: string): Promise<Date | undefined> {
    const { kind } = this;
    const [merchants, parameters] = sweptMerchants(merchantId);
    const sql = nextDate(KINDS[kind], merchants);
    const next = await this.unitOfWork.statement(async (manager) => {
      const { doneUntil, afterWallet } = await manager.findOneByOrFail(EventSweep, { kind, merchantId });
      return readInstant(manager, sql, [doneUntil, afterWallet, doneUntil, ...parameters]);
    });
    return next && after(next, -KINDS[kind].aheadMs);
  }

  async #eventsOf(manager: EntityManager, merchantId: string, found: DueCredits[]): Promise<NewFeedEvent[]> {
    const { timeZone } = (await manager.findOneByOrFail(Merchant, { id: merchantId })).policy;
    const ids = found.map(({ walletId }) => walletId);
    const occurredAt = this.clock.now(merchantId);
    const sums = await lockAndSum(manager, merchantId, ids, occurredAt);
    return found.map(({ walletId: subjectId, date, cents }) => {
      const about = { merchantId, subjectId, occurredAt, madeBy: null };
      const amount = formatMoney(Number(cents));
      const wallet = walletData(sums.get(subjectId)!);
      if (this.kind === 'available')
        return {
          type: 'cashback.available',
          ...about,
          data: { amount, available_at: date, available_on: dayOf(date, timeZone), wallet },
        };
      const expires_on = expiresOn(date, timeZone);
      return { type: 'cashback.expiring', ...about, data: { amount, expires_at: date, expires_on, wallet } };
    });
  }
}
