import type { EntityManager } from 'typeorm';
import { expiresOn } from '../cashback/validity.js';
import { walletData } from '../cashback/wallet-events.js';
import { lockAndSum } from '../cashback/wallet-summary.js';
import { after, type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { formatMoney } from '../common/money.js';
import type { SharedWork } from '../common/sweep.js';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import { byMerchant } from '../database/by-merchant.js';
import type { UnitOfWork } from '../database/unit-of-work.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { EventSweep } from './event.entity.js';

/**
 * The dates that are announced: the column, its index, and how long before. Seven days less an hour: a change of the
 * clocks within them does not move the announcement to another day.
 */
const KINDS = {
  available: { column: 'available_at', index: 'ix_cashback_credits_start', aheadMs: 0 },
  expiring: { column: 'expires_at', index: 'ix_cashback_credits_due', aheadMs: 7 * DAY_MS - HOUR_MS },
} as const;
type Kind = keyof typeof KINDS;

/** How many wallets are announced in one transaction. */
const LIMIT = 50;

/**
 * A date is announced when no transaction that adds a credit with this date is open any more. The clocks of instances
 * may differ by a minute.
 */
const MARGIN_MS = 2 * MINUTE_MS;

/** The position where all wallets of an instant have been announced. No ID is greater. */
const LAST_WALLET = '~';

function dueCredits(kind: Kind): string {
  const { column, index } = KINDS[kind];
  // Cashback that is available at once was announced by its order or grant.
  const condition = kind === 'available' ? 'AND created_at < available_at' : '';
  const select = (range: string): string => `
    (SELECT ${column} AS date, wallet_id AS walletId, merchant_id AS merchantId, SUM(remaining_cents) AS cents
       FROM cashback_credits FORCE INDEX (${index}) WHERE is_open = 1 AND ${range} ${condition}
      GROUP BY ${column}, wallet_id, merchant_id ORDER BY ${column}, wallet_id LIMIT ${LIMIT})`;
  const [rest, later] = [`${column} = ? AND wallet_id > ?`, `${column} > ? AND ${column} <= ?`].map(select);
  return `/* ${ALL_MERCHANTS} */ SELECT * FROM (${rest} UNION ALL ${later}) found ORDER BY date, walletId LIMIT ${LIMIT}`;
}

/** The open credits of a wallet with the same date. */
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
export class DateEvents implements SharedWork {
  constructor(
    private readonly kind: Kind,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Announces the next wallets, in the order of their dates. The position is stored in the transaction of the events,
   * so each wallet is announced once.
   *
   * @returns the instant up to which everything has been announced.
   */
  async next(): Promise<Date> {
    const { kind } = this;
    const aheadMs = KINDS[kind].aheadMs - MARGIN_MS;
    const until = after(this.clock.now(), aheadMs);
    const doneUntil = await this.unitOfWork.transaction(async (manager, record) => {
      const position = await this.#lock(manager, until);
      if (position === null || position.doneUntil >= until) return until;
      const { doneUntil, afterWallet } = position;
      const found = await manager.query<DueCredits[]>(dueCredits(kind), [doneUntil, afterWallet, doneUntil, until]);
      for (const [merchantId, credits] of byMerchant(found, (credit) => credit))
        await this.#announce(manager, record, merchantId, credits);
      const last = found.length < LIMIT ? { date: until, walletId: LAST_WALLET } : found.at(-1)!;
      await manager.update(EventSweep, { kind }, { doneUntil: last.date, afterWallet: last.walletId });
      return last.date;
    });
    return after(doneUntil, -aheadMs);
  }

  /** Locks the position. It begins with the first sweep. @returns null if another instance has it. */
  async #lock(manager: EntityManager, until: Date): Promise<EventSweep | null> {
    const { kind } = this;
    const isNew = !(await manager.existsBy(EventSweep, { kind }));
    const first = { kind, doneUntil: until, afterWallet: LAST_WALLET };
    if (isNew) await manager.createQueryBuilder().insert().into(EventSweep).values(first).orIgnore().execute();
    const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
    return manager.findOne(EventSweep, { where: { kind }, lock });
  }

  async #announce(manager: EntityManager, record: Recorder, merchantId: string, found: DueCredits[]): Promise<void> {
    const { timeZone } = (await manager.findOneByOrFail(Merchant, { id: merchantId })).policy;
    const ids = found.map(({ walletId }) => walletId);
    const at = this.clock.now();
    const sums = await lockAndSum(manager, merchantId, 'id', ids, at);
    for (const { walletId: subjectId, date, cents } of found) {
      const dates =
        this.kind === 'available'
          ? { available_at: date }
          : { expires_at: date, expires_on: expiresOn(date, timeZone) };
      const data = { amount: formatMoney(Number(cents)), ...dates, wallet: walletData(sums.get(subjectId)!) };
      record({ type: `cashback.${this.kind}`, merchantId, subjectId, at, data });
    }
  }
}
