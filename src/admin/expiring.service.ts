import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { addDays, dayOf, startOfDay } from '../common/calendar-days.js';
import { Clock } from '../common/clock.js';
import { exactCents } from '../common/money.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { walletPages } from './wallet-pages.js';

/** What expires in a month if nobody spends it, in centavos. */
export interface ExpiringMonth {
  merchantId: string;
  name: string;
  month: string;
  expiringCents: number;
  /** The part that orders hold. */
  heldCents: number;
}

const CREDITS = `
  SELECT expires_at, SUM(remaining_cents) AS cents, SUM(held_cents) AS held FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
   WHERE wallet_id IN (?) AND merchant_id = ? AND is_open IN (0, 1) AND expires_at < ? AND remaining_cents > 0 GROUP BY expires_at`;

@Injectable()
export class ExpiringService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports the current month and the following ones, of all merchants or of one, in each merchant's time zone. An
   * amount counts in the month in which the ledger will have its expiry: what has expired and is still held or not yet
   * written counts in the current month.
   *
   * @param months the number of months.
   * @throws Problem not_found for an unknown merchant.
   */
  async report(months: number, merchantId?: string): Promise<ExpiringMonth[]> {
    const rows: ExpiringMonth[] = [];
    for (const merchant of await this.merchants.select(merchantId))
      rows.push(...(await this.unitOfWork.snapshot((manager) => this.#monthsOf(manager, merchant, months))));
    return rows;
  }

  async #monthsOf(manager: EntityManager, { id, name, policy }: Merchant, months: number): Promise<ExpiringMonth[]> {
    const { timeZone } = policy;
    const listed = monthsFrom(dayOf(this.clock.now(id), timeZone), months + 1);
    const end = startOfDay(`${listed.pop()}-01`, timeZone);
    const rows = listed.map((month) => ({ merchantId: id, name, month, expiringCents: 0, heldCents: 0 }));
    const rowOf = (at: Date): ExpiringMonth => {
      const month = dayOf(at, timeZone).slice(0, 7);
      return rows.find((row) => row.month === month) ?? rows[0]!;
    };
    for await (const walletIds of walletPages(manager, id)) {
      const sums = await manager.query<ExpiringRow[]>(CREDITS, [walletIds, id, end]);
      for (const { expires_at: at, cents, held } of sums) add(rowOf(at), exactCents(cents), exactCents(held));
    }
    return rows;
  }
}

interface ExpiringRow {
  expires_at: Date;
  cents: string;
  held: string;
}

function add(row: ExpiringMonth, expiringCents: number, heldCents: number): void {
  row.expiringCents = exactCents(row.expiringCents + expiringCents);
  row.heldCents = exactCents(row.heldCents + heldCents);
}

/** Returns months such as `2026-11`, from that of a day on. */
function monthsFrom(day: string, count: number): string[] {
  const months: string[] = [];
  for (let first = `${day.slice(0, 7)}-01`; months.length < count; first = `${addDays(first, 31).slice(0, 7)}-01`)
    months.push(first.slice(0, 7));
  return months;
}
