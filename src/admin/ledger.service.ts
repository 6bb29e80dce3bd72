import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { EntryKind } from '../cashback/entry.entity.js';
import { addDays, startOfDay } from '../common/calendar-days.js';
import { after, Clock, MINUTE_MS } from '../common/clock.js';
import { exactCents } from '../common/money.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { walletPages } from './wallet-pages.js';

/** The clocks of two instances may differ, and an entry is committed after its `created_at`. */
const LATEST_COMMIT_MS = 2 * MINUTE_MS;

/** What a merchant's customers owned at the beginning and the end of a month, and why it changed, in centavos. */
const ZERO_SUMS = {
  /** Credits less debts, at the beginning. */
  openingCents: 0,
  earnedCents: 0,
  grantedCents: 0,
  redeemedCents: 0,
  returnedCents: 0,
  takenBackCents: 0,
  voidedCents: 0,
  expiredCents: 0,
  closingCents: 0,
  /** The debt that `closingCents` is reduced by. */
  closingDebtCents: 0,
};
type Sums = typeof ZERO_SUMS;

/**
 * The member that an entry counts in, and its sign there. Cashback that repays a debt is taken from a credit
 * (`take_back`) and from the debt (`repay`), so these two cancel out: a refund takes back what it takes from credits,
 * and what it leaves as a debt.
 */
const MEMBERS: Record<EntryKind, [member: keyof Sums, sign: 1 | -1]> = {
  earn: ['earnedCents', 1],
  grant: ['grantedCents', 1],
  redeem: ['redeemedCents', -1],
  return: ['returnedCents', 1],
  take_back: ['takenBackCents', -1],
  debt: ['takenBackCents', 1],
  repay: ['takenBackCents', 1],
  void: ['voidedCents', -1],
  expire: ['expiredCents', -1],
  // From one customer to another at the same instant.
  move_out: ['earnedCents', 1],
  move_in: ['earnedCents', 1],
};

export interface LedgerMonth extends Sums {
  merchantId: string;
  name: string;
  timeZone: string;
  /** Whether the month is over, so that no entry can be added to it. */
  isClosed: boolean;
}

/** Adds up the ledger of a month. The database adds, so memory does not grow with the entries. */
@Injectable()
export class LedgerService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports a month of all merchants, or of one. Entries belong to the month of their `created_at` in the merchant's
   * time zone. They never change and none is added to the past, so the report of a closed month never changes either.
   *
   * @param month such as `2026-11`.
   * @throws Problem not_found for an unknown merchant.
   */
  async report(month: string, merchantId?: string): Promise<LedgerMonth[]> {
    const rows: LedgerMonth[] = [];
    for (const merchant of await this.merchants.select(merchantId)) rows.push(await this.#monthOf(merchant, month));
    return rows;
  }

  async #monthOf({ id, name, policy: { timeZone } }: Merchant, month: string): Promise<LedgerMonth> {
    const first = `${month}-01`;
    const [from, to] = [startOfDay(first, timeZone), startOfDay(`${addDays(first, 31).slice(0, 7)}-01`, timeZone)];
    const isClosed = after(to, LATEST_COMMIT_MS) <= this.clock.now(id);
    const sums = await this.unitOfWork.snapshot((manager) => sumsOf(manager, id, { from, to }));
    return { merchantId: id, name, timeZone, isClosed, ...sums };
  }
}

/** Without the hint, a server may read the table once per page. */
const SUMS = `
  SELECT kind, created_at < ? AS is_before, SUM(amount_cents) AS cents FROM cashback_entries FORCE INDEX (PRIMARY)
   WHERE wallet_id IN (?) AND merchant_id = ? AND created_at < ? GROUP BY kind, is_before`;

/** The sum of the entries of a kind, before a month or in it. */
interface SumRow {
  kind: EntryKind;
  is_before: string | number;
  cents: string;
}

async function sumsOf(
  manager: EntityManager,
  merchantId: string,
  { from, to }: { from: Date; to: Date },
): Promise<Sums> {
  const sums = { ...ZERO_SUMS };
  for await (const walletIds of walletPages(manager, merchantId))
    for (const row of await manager.query<SumRow[]>(SUMS, [from, walletIds, merchantId, to])) addTo(sums, row);
  return sums;
}

function addTo(sums: Sums, { kind, is_before: isBefore, cents: sum }: SumRow): void {
  const add = (member: keyof Sums, cents: number): void => void (sums[member] = exactCents(sums[member] + cents));
  const cents = exactCents(sum);
  const isDebt = kind === 'debt' || kind === 'repay';
  const [member, sign] = MEMBERS[kind];
  if (isDebt) add('closingDebtCents', cents);
  const ownedCents = isDebt ? -cents : cents;
  add('closingCents', ownedCents);
  if (Number(isBefore) === 1) add('openingCents', ownedCents);
  else add(member, sign * cents);
}
