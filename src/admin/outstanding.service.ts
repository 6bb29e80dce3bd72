import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { after, Clock, DAY_MS } from '../common/clock.js';
import { exactCents } from '../common/money.js';
import { notFound } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';

/** The days from now of which `expiringCents` is the sum. */
const EXPIRING_DAYS = 30;

/** The number of merchants that are read at a time. */
const PAGE_SIZE = 500;

/** What a merchant owes its customers, in centavos. */
export interface Outstanding {
  wallets: number;
  availableCents: number;
  pendingCents: number;
  heldCents: number;
  debtCents: number;
  /** The part of the available and pending cashback that expires within 30 days if nobody spends it. */
  expiringCents: number;
}

export interface MerchantOutstanding extends Outstanding {
  merchantId: string;
  name: string;
}

const WALLETS = 'SELECT COUNT(*) AS wallets, SUM(debt_cents) AS debt FROM wallets WHERE merchant_id = ?';

const CREDITS = `
  SELECT SUM(IF(c.available_at > ?, c.remaining_cents, 0)) AS pending,
         SUM(IF(c.available_at <= ? AND c.expires_at > ?, c.remaining_cents, 0)) AS available,
         SUM(IF(c.expires_at > ? AND c.expires_at <= ?, c.remaining_cents, 0)) AS expiring
    FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id AND c.merchant_id = w.merchant_id AND c.is_open = 1
   WHERE w.merchant_id = ?`;

const HELD = `
  SELECT SUM(h.amount_cents) AS held
    FROM wallets w JOIN cashback_holds h ON h.wallet_id = w.id AND h.merchant_id = w.merchant_id
   WHERE w.merchant_id = ?`;

/** Adds up what merchants owe their customers. The database adds, so memory does not grow with the wallets. */
@Injectable()
export class OutstandingService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports all merchants, or one, from one consistent snapshot.
   *
   * @param report is called for each merchant, ordered by ID.
   * @returns the instant of the report, the number of merchants, and the sums of all of them.
   * @throws Problem not_found for an unknown merchant.
   */
  async report(
    merchantId: string | undefined,
    report: (row: MerchantOutstanding) => void,
  ): Promise<Outstanding & { asOf: Date; merchants: number }> {
    return this.unitOfWork.snapshot(async (manager) => {
      const now = this.clock.now();
      const total = { asOf: now, merchants: 0, ...NOTHING };
      for await (const { id, name } of merchantsOf(manager, merchantId)) {
        const row = await outstandingOf(manager, id, now);
        report({ merchantId: id, name, ...row });
        total.merchants++;
        for (const member of MEMBERS) total[member] = exactCents(total[member] + row[member]);
      }
      if (merchantId !== undefined && total.merchants === 0) throw notFound('no merchant has this ID');
      return total;
    });
  }
}

const NOTHING: Outstanding = {
  wallets: 0,
  availableCents: 0,
  pendingCents: 0,
  heldCents: 0,
  debtCents: 0,
  expiringCents: 0,
};
const MEMBERS = Object.keys(NOTHING) as (keyof Outstanding)[];

async function* merchantsOf(
  manager: EntityManager,
  merchantId: string | undefined,
): AsyncGenerator<{ id: string; name: string }> {
  const [condition, parameters] = merchantId === undefined ? ['', []] : ['AND id = ?', [merchantId]];
  for (let last = ''; ;) {
    const page = await manager.query<{ id: string; name: string }[]>(
      `SELECT id, name FROM merchants WHERE id > ? ${condition} ORDER BY id LIMIT ?`,
      [last, ...parameters, PAGE_SIZE],
    );
    yield* page;
    if (page.length < PAGE_SIZE) return;
    last = page.at(-1)!.id;
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
  const held = await sums(HELD, [merchantId]);
  return {
    wallets: wallets('wallets'),
    availableCents: credits('available'),
    pendingCents: credits('pending'),
    heldCents: held('held'),
    debtCents: wallets('debt'),
    expiringCents: credits('expiring'),
  };
}
