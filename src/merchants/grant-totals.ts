import { Entity, type EntityManager } from 'typeorm';
import { inColumn } from '../platform/database/by-merchant.js';
import { CentsColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';
import { columnNames, insertRows, type Row, toEntity } from '../platform/database/rows.js';
import { formatMoney } from '../platform/values/money.js';
import { Problem } from '../platform/values/problem.js';
import { dayOf } from '../platform/values/time.js';
import type { Policy } from './policy.js';

/** What an API user, or all of a merchant, granted on the last day on which they granted anything. */
@Entity('grant_totals')
export class GrantTotal {
  @PrimaryId('merchant_id')
  merchantId!: string;

  /** The API user; the merchant's ID for all of its users. */
  @PrimaryId('subject_id')
  subjectId!: string;

  /** In the merchant's time zone. */
  @WordColumn('day', 10)
  day!: string;

  @CentsColumn('granted_cents')
  grantedCents!: number;
}

/** All users of a merchant together can grant this many times as much as one. */
const USERS = 4;

type Key = Pick<GrantTotal, 'merchantId' | 'subjectId'>;

/** A grant of an API user. */
interface UserGrant {
  merchantId: string;
  by: string;
  policy: Policy;
}

/** The totals of some users and of their merchants: for those that grant in a transaction, they are locked. */
export class GrantTotals {
  private constructor(private readonly totals: readonly GrantTotal[]) {}

  /** Locks the totals, after the wallets: of each merchant the one of all users first. */
  static async lock(manager: EntityManager, grants: readonly UserGrant[]): Promise<GrantTotals> {
    const keys = new Map<string, GrantTotal>();
    for (const { merchantId, by } of grants)
      for (const [order, subjectId] of [merchantId, by].entries())
        keys.set(`${merchantId} ${order} ${subjectId}`, { merchantId, subjectId, day: '', grantedCents: 0 });
    const sorted = [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, total]) => total);
    if (sorted.length === 0) return new GrantTotals([]);
    await insertRows(manager, GrantTotal, sorted, ['merchant_id']);
    return GrantTotals.#read(manager, sorted);
  }

  /** Returns what an API user can still grant on this day. */
  static async leftCentsOf(manager: EntityManager, grant: UserGrant, at: Date): Promise<number> {
    const { merchantId, by } = grant;
    const keys = [merchantId, by].map((subjectId) => ({ merchantId, subjectId }));
    return (await GrantTotals.#read(manager, keys)).#leftCents(grant, at);
  }

  static async #read(manager: EntityManager, keys: readonly Key[]): Promise<GrantTotals> {
    const [condition, parameters] = inColumn('subject_id', keys, ({ subjectId }) => subjectId);
    const sql = `SELECT ${columnNames(manager, GrantTotal).join(', ')} FROM grant_totals WHERE ${condition}`;
    const rows = await manager.query<Row[]>(sql, parameters);
    return new GrantTotals(rows.map((row) => toEntity(manager, GrantTotal, row)));
  }

  /** @throws Problem grant_exceeds_maximum if the user, or all of the merchant, would grant too much on this day. */
  refuseAboveMaximum(grant: UserGrant, amountCents: number, at: Date): void {
    const leftCents = this.#leftCents(grant, at);
    if (amountCents <= leftCents) return;
    const maximum = formatMoney(leftCents);
    const errors = [{ pointer: '/amount', detail: `must be at most ${maximum} today` }];
    throw new Problem('grant_exceeds_maximum', { maximum, limited_by: 'day', errors });
  }

  #leftCents(grant: UserGrant, at: Date): number {
    const { grantDailyMaximumCents: maximum } = grant.policy;
    const [all, own] = this.#of(grant, at).map(({ grantedCents }) => grantedCents) as [number, number];
    return Math.max(0, Math.min(USERS * maximum - all, maximum - own));
  }

  add(grant: UserGrant, amountCents: number, at: Date): void {
    for (const total of this.#of(grant, at)) total.grantedCents += amountCents;
  }

  /** The totals of the merchant and of the user on a day. */
  #of({ merchantId, by, policy }: UserGrant, at: Date): GrantTotal[] {
    const day = dayOf(at, policy.timeZone);
    return [merchantId, by].map((id) => {
      const total = this.totals.find((one) => one.merchantId === merchantId && one.subjectId === id);
      // A locked one exists.
      if (total === undefined) return { merchantId, subjectId: id, day, grantedCents: 0 };
      // The clocks of instances differ: a total of the next day counts for the day before, too.
      return total.day < day ? Object.assign(total, { day, grantedCents: 0 }) : total;
    });
  }

  async save(manager: EntityManager): Promise<void> {
    await insertRows(manager, GrantTotal, this.totals, ['day', 'granted_cents']);
  }
}
