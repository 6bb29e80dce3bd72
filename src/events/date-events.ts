import type { EntityManager } from 'typeorm';
import { expiresOn } from '../cashback/validity.js';
import { walletData } from '../cashback/wallet-events.js';
import { sumWallets } from '../cashback/wallet-summary.js';
import { after, type Clock, DAY_MS, MINUTE_MS } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { formatMoney } from '../common/money.js';
import type { SharedWork } from '../common/sweep.js';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import { byMerchant } from '../database/by-merchant.js';
import type { UnitOfWork } from '../database/unit-of-work.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { EventSweep } from './event.entity.js';

/** The dates that are announced: the column, its index, and how long before the date. */
const KINDS = {
  available: { column: 'available_at', index: 'ix_cashback_credits_start', aheadMs: 0 },
  expiring: { column: 'expires_at', index: 'ix_cashback_credits_due', aheadMs: 7 * DAY_MS },
} as const;

/** How many wallets are announced in one transaction. */
const LIMIT = 200;

/**
 * A date is announced when no transaction that adds a credit with this date is open any more. The clocks of instances
 * may differ by a minute.
 */
const MARGIN_MS = 2 * MINUTE_MS;

/** The position where all wallets of an instant have been announced. No ID is greater. */
const LAST_WALLET = '~';

/** The open credits of a date, except those that were available at once: their order or grant has announced them. */
const CREDITS = `cashback_credits c FORCE INDEX (:index)
   WHERE c.is_open = 1 AND c.created_at < c.available_at AND`;

const DUE = `/* ${ALL_MERCHANTS} */
  SELECT c.wallet_id AS walletId, c.merchant_id AS merchantId, SUM(c.remaining_cents) AS cents
    FROM ${CREDITS} c.:column = ? AND c.wallet_id > ?
   GROUP BY c.wallet_id, c.merchant_id ORDER BY c.wallet_id LIMIT ${LIMIT}`;

const NEXT_DATE = `/* ${ALL_MERCHANTS} */
  SELECT c.:column AS at FROM ${CREDITS} c.:column > ? AND c.:column <= ? ORDER BY c.:column LIMIT 1`;

interface DueWallet {
  walletId: string;
  merchantId: string;
  cents: string;
}

/**
 * Announces what dates change: cashback that becomes available, and cashback that expires in seven days. Dates are days
 * of the merchant, so a wallet has at most one event of each kind per day.
 */
export class DateEvents implements SharedWork {
  readonly #aheadMs: number;
  readonly #due: string;
  readonly #nextDate: string;

  constructor(
    private readonly kind: keyof typeof KINDS,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {
    const { column, index, aheadMs } = KINDS[kind];
    this.#aheadMs = aheadMs;
    [this.#due, this.#nextDate] = [DUE, NEXT_DATE].map((sql) =>
      sql.replaceAll(':column', column).replaceAll(':index', index),
    ) as [string, string];
  }

  /**
   * Announces the next wallets, in the order of their dates. The position is stored in the transaction of the events,
   * so each wallet is announced once.
   *
   * @returns the instant up to which everything has been announced.
   */
  async next(): Promise<Date> {
    const until = after(this.clock.now(), this.#aheadMs - MARGIN_MS);
    const doneUntil = await this.unitOfWork.transaction(async (manager, record) => {
      const position = await this.#lock(manager, until);
      if (position === null || position.doneUntil >= until) return until;
      const { doneUntil: at, afterWallet } = position;
      const due = await manager.query<DueWallet[]>(this.#due, [at, afterWallet]);
      for (const [merchantId, wallets] of byMerchant(due, (wallet) => wallet))
        await this.#announce(manager, record, merchantId, at, wallets);
      const reached = due.length < LIMIT ? await this.#firstAfter(manager, at, until) : at;
      const wallet = due.length === LIMIT ? due.at(-1)!.walletId : reached === until ? LAST_WALLET : '';
      await manager.update(EventSweep, { kind: this.kind }, { doneUntil: reached, afterWallet: wallet });
      return reached;
    });
    return after(doneUntil, MARGIN_MS - this.#aheadMs);
  }

  /** Locks the position. It begins with the first sweep. @returns null if another instance has it. */
  async #lock(manager: EntityManager, until: Date): Promise<EventSweep | null> {
    const { kind } = this;
    const isNew = !(await manager.existsBy(EventSweep, { kind }));
    const first = { kind, doneUntil: until, afterWallet: LAST_WALLET };
    if (isNew) await manager.createQueryBuilder().insert().into(EventSweep).values(first).orIgnore().execute();
    return manager.findOne(EventSweep, {
      where: { kind },
      lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' },
    });
  }

  /** @returns the next date that has credits; `until` if none has. */
  async #firstAfter(manager: EntityManager, at: Date, until: Date): Promise<Date> {
    const [next] = await manager.query<{ at: Date }[]>(this.#nextDate, [at, until]);
    return next?.at ?? until;
  }

  async #announce(
    manager: EntityManager,
    record: Recorder,
    merchantId: string,
    date: Date,
    wallets: DueWallet[],
  ): Promise<void> {
    const { timeZone } = (await manager.findOneByOrFail(Merchant, { id: merchantId })).policy;
    const now = this.clock.now();
    const ids = wallets.map(({ walletId }) => walletId);
    const sums = await sumWallets(manager, merchantId, 'id', ids, now);
    const dates =
      this.kind === 'available' ? { available_at: date } : { expires_at: date, expires_on: expiresOn(date, timeZone) };
    for (const { walletId: subjectId, cents } of wallets) {
      const data = { amount: formatMoney(Number(cents)), ...dates, wallet: walletData(sums.get(subjectId)) };
      record({ type: `cashback.${this.kind}`, merchantId, subjectId, at: now, data });
    }
  }
}
