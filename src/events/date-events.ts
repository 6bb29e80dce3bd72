import type { EntityManager } from 'typeorm';
import { FREE } from '../cashback/balance-sql.js';
import { expiresOn } from '../cashback/validity.js';
import { walletData } from '../cashback/wallet-events.js';
import { lockAndSum } from '../cashback/wallet.store.js';
import { dayOf } from '../common/calendar-days.js';
import { after, type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../common/clock.js';
import type { NewFeedEvent } from '../common/domain-event.js';
import { formatMoney } from '../common/money.js';
import type { SweepProgress, SweepTask } from '../common/sweep.js';
import { ALL_MERCHANTS, byMerchant } from '../database/by-merchant.js';
import type { UnitOfWork } from '../database/unit-of-work.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { EventSweep } from './event.entity.js';

/** How many wallets are announced in one transaction. */
const LIMIT = 50;

const dueCredits = (date: string, index: string, condition = ''): string => `/* ${ALL_MERCHANTS} */
  SELECT ${date} AS date, wallet_id AS walletId, merchant_id AS merchantId, SUM${FREE} AS cents
    FROM cashback_credits FORCE INDEX (${index})
   WHERE is_open = 1 AND (${date} = ? AND wallet_id > ? OR ${date} > ?) AND ${date} <= ? ${condition}
   GROUP BY ${date}, wallet_id, merchant_id ORDER BY ${date}, wallet_id LIMIT ${LIMIT}`;

/**
 * The dates that are announced, and how long before. Cashback that is available at once was announced by its order or
 * grant. Seven days less an hour: a change of the clocks within them does not move the announcement to another day.
 */
const KINDS = {
  available: {
    due: dueCredits('available_at', 'ix_cashback_credits_start', 'AND created_at < available_at'),
    aheadMs: 0,
  },
  expiring: { due: dueCredits('expires_at', 'ix_cashback_credits_due'), aheadMs: 7 * DAY_MS - HOUR_MS },
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
export class DateEvents implements SweepTask {
  constructor(
    private readonly kind: keyof typeof KINDS,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Announces the next wallets, in the order of their dates. The position is stored in the transaction of the events,
   * so each wallet is announced once.
   */
  async run(): Promise<SweepProgress> {
    const { kind } = this;
    const aheadMs = KINDS[kind].aheadMs - MARGIN_MS;
    const until = after(this.clock.now(), aheadMs);
    const done = await this.unitOfWork.transaction(async (manager, record) => {
      const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
      const position = await manager.findOne(EventSweep, { where: { kind }, lock });
      if (position === null || position.doneUntil >= until) return until;
      const { doneUntil: date, afterWallet } = position;
      const found = await manager.query<DueCredits[]>(KINDS[kind].due, [date, afterWallet, date, until]);
      for (const [merchantId, credits] of byMerchant(found, (credit) => credit))
        (await this.#eventsOf(manager, merchantId, credits)).forEach(record);
      const last = found.length < LIMIT ? { date: until, walletId: LAST_WALLET } : found.at(-1)!;
      const moved = { doneUntil: last.date, afterWallet: last.walletId };
      const { affected } = await manager.update(EventSweep, { kind, doneUntil: date, afterWallet }, moved);
      if (affected !== 1) throw new Error('a locked position was changed by another transaction');
      return last.date;
    });
    return { hasMore: done < until, doneUntil: after(done, -aheadMs) };
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
