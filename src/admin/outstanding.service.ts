import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { after, Clock, DAY_MS } from '../common/clock.js';
import { exactCents } from '../common/money.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';

/** The days from now of which `expiringCents` is the sum. */
const EXPIRING_DAYS = 30;

/** What a merchant owes its customers, in centavos. */
const ZERO_SUMS = {
  wallets: 0,
  availableCents: 0,
  pendingCents: 0,
  heldCents: 0,
  debtCents: 0,
  /** The part of the available and pending cashback that expires within 30 days if nobody spends it. */
  expiringCents: 0,
};
export type Outstanding = typeof ZERO_SUMS;
const MEMBERS = Object.keys(ZERO_SUMS) as (keyof Outstanding)[];

export interface MerchantOutstanding extends Outstanding {
  merchantId: string;
  name: string;
}

const WALLETS =
  'SELECT COUNT(*) AS wallets, SUM(debt_cents) AS debt, SUM(held_cents) AS held FROM wallets WHERE merchant_id = ?';

const CREDITS = `
  SELECT SUM(IF(c.available_at > ?, c.remaining_cents - c.held_cents, 0)) AS pending,
         SUM(IF(c.available_at <= ? AND c.expires_at > ?, c.remaining_cents - c.held_cents, 0)) AS available,
         SUM(IF(c.expires_at > ? AND c.expires_at <= ?, c.remaining_cents - c.held_cents, 0)) AS expiring
    FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id AND c.merchant_id = w.merchant_id AND c.is_open = 1
   WHERE w.merchant_id = ?`;

/** Adds up what merchants owe their customers. The database adds, so memory does not grow with the wallets. */
@Injectable()
export class OutstandingService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports all merchants, or one, from one consistent snapshot.
   *
   * @returns the instant of the report, a row per merchant, and the sums of all of them.
   * @throws Problem not_found for an unknown merchant.
   */
  async report(
    merchantId: string | undefined,
  ): Promise<{ asOf: Date; rows: MerchantOutstanding[]; sums: Outstanding }> {
    const merchants = await this.merchants.select(merchantId);
    return this.unitOfWork.snapshot(async (manager) => {
      const asOf = this.clock.now();
      const rows: MerchantOutstanding[] = [];
      for (const { id, name } of merchants)
        rows.push({ merchantId: id, name, ...(await outstandingOf(manager, id, asOf)) });
      const sums = { ...ZERO_SUMS };
      for (const row of rows) for (const member of MEMBERS) sums[member] = exactCents(sums[member] + row[member]);
      return { asOf, rows, sums };
    });
  }
}

async function outstandingOf(manager: EntityManager, merchantId: string, now: Date): Promise<Outstanding> {
  const soon = after(now, EXPIRING_DAYS * DAY_MS);
  const sums = async (sql: string, parameters: unknown[]): Promise<(column: string) => number> => {
    const [row = {}] = await manager.query<Record<string, string | null>[]>(sql, parameters);
    return (column) => exactCents(row[column] ?? 0);
  };
  const wallets = await sums(WALLETS, [merchantId]);
  const credits = await sums(CREDITS, [now, now, now, now, soon, merchantId]);
  return {
    wallets: wallets('wallets'),
    availableCents: credits('available'),
    pendingCents: credits('pending'),
    heldCents: wallets('held'),
    debtCents: wallets('debt'),
    expiringCents: credits('expiring'),
  };
}
