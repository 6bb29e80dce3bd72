import { Column, Entity, type EntityManager, ForeignKey, PrimaryColumn } from 'typeorm';
import { Merchant, SumPosition } from '../merchants/merchant.entity.js';
import { ASCII, CentsColumn, PrimaryId } from '../platform/database/columns.js';
import { DaySums } from '../platform/database/day-sums.js';
import { LOCKED } from '../platform/database/rows.js';
import { dayOf } from '../platform/values/time.js';
import { type EntryKind } from './entry.entity.js';

/** The sum of the ledger's entries of a kind in a local day of the merchant, by stores; no store is an empty text. */
@Entity('ledger_days')
export class LedgerDay {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_ledger_days_merchant' })
  merchantId!: string;

  @PrimaryColumn({ name: 'day', length: 10, ...ASCII })
  day!: string;

  /** Where it happened. */
  @PrimaryColumn({ name: 'store', type: 'varchar', length: 100 })
  store!: string;

  /** The store that owes the credit; empty for the debt, too. */
  @PrimaryColumn({ name: 'credit_store', type: 'varchar', length: 100 })
  creditStore!: string;

  @PrimaryColumn({ name: 'kind', length: 32, ...ASCII })
  kind!: EntryKind;

  /** The number of entries. */
  @Column({ name: 'entries', type: 'bigint' })
  entries!: number;

  @CentsColumn('amount_cents')
  amountCents!: number;
}

/** The ledger: what was earned, redeemed and so on, where it happened, and which store owes it. */
export const LEDGER_SUMS = new DaySums({
  name: 'ledger',
  table: 'ledger_days',
  source: 'cashback_entries e',
  index: 'ix_cashback_entries_created',
  instant: 'e.created_at',
  dimensions: {
    store: "COALESCE(e.store, '')",
    credit_store: {
      sql: "COALESCE(c.store, '')",
      join: 'LEFT JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id',
    },
    kind: 'e.kind',
  },
  measures: { entries: 'COUNT(*)', amount_cents: 'SUM(e.amount_cents)' },
});

/** What a user granted with the same reason in a local day, and what was voided of the user's grants in that day. */
@Entity('grant_days')
export class GrantDay {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_grant_days_merchant' })
  merchantId!: string;

  @PrimaryColumn({ name: 'day', length: 10, ...ASCII })
  day!: string;

  /** Who granted it. */
  @PrimaryColumn({ name: 'user_id', length: 36, ...ASCII })
  userId!: string;

  /** Empty if there is none, or it was erased. */
  @PrimaryColumn({ name: 'reason', type: 'varchar', length: 500 })
  reason!: string;

  @Column({ name: 'grants', type: 'bigint' })
  grants!: number;

  @CentsColumn('amount_cents')
  amountCents!: number;

  @CentsColumn('voided_cents')
  voidedCents!: number;
}

const sumOf = (kind: string, sql: string): string => `SUM(CASE e.kind WHEN '${kind}' THEN ${sql} ELSE 0 END)`;

const JOIN_GRANT = `JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id
    JOIN cashback_grants g ON g.credit_id = COALESCE(c.from_credit_id, c.id) AND g.merchant_id = e.merchant_id`;
const JOIN_ORIGIN = 'JOIN cashback_credits o ON o.id = g.credit_id AND o.merchant_id = e.merchant_id';

/**
 * The grants of each user by reason. A void counts on its own day, so that no day that is over changes. What a refund
 * returned of a grant has a credit of its own, and is the grant's.
 */
export const GRANT_SUMS = new DaySums({
  name: 'grants',
  table: 'grant_days',
  source: 'cashback_entries e',
  index: 'ix_cashback_entries_created',
  instant: 'e.created_at',
  only: "e.kind IN ('grant', 'void')",
  dimensions: {
    user_id: { sql: 'g.created_by', join: JOIN_GRANT },
    reason: { sql: "COALESCE(o.reason, '')", join: JOIN_ORIGIN },
  },
  measures: {
    grants: sumOf('grant', '1'),
    amount_cents: sumOf('grant', 'e.amount_cents'),
    voided_cents: sumOf('void', '-e.amount_cents'),
  },
});

const WITH_REASON = `
  SELECT e.created_at AS at, e.kind, e.amount_cents, g.created_by AS user_id, o.reason
    FROM cashback_entries e ${JOIN_GRANT} ${JOIN_ORIGIN}
   WHERE e.wallet_id = ? AND e.merchant_id = ? AND e.kind IN ('grant', 'void') AND e.created_at < ? AND o.reason IS NOT NULL`;

interface Granted {
  at: Date;
  kind: EntryKind;
  amount_cents: number;
  user_id: string;
  reason: string;
}

const ADD_TO_DAY = `
  INSERT INTO grant_days (merchant_id, day, user_id, reason, grants, amount_cents, voided_cents) VALUES ?
      ON DUPLICATE KEY UPDATE grants = grant_days.grants + VALUES(grants),
         amount_cents = grant_days.amount_cents + VALUES(amount_cents), voided_cents = grant_days.voided_cents + VALUES(voided_cents)`;

const FORGET =
  'DELETE FROM grant_days WHERE merchant_id = ? AND (day, user_id, reason) IN (?) AND grants = 0 AND amount_cents = 0 AND voided_cents = 0';

/** Lets a customer's grants count without their reasons, before an erasure deletes these. The wallet is locked. */
export async function forgetReasons(manager: EntityManager, merchantId: string, walletId: string): Promise<void> {
  // While it is locked, nothing is summed.
  const where = { merchantId, sums: GRANT_SUMS.name };
  const { summedUntil } = await manager.findOneOrFail(SumPosition, { where, lock: LOCKED });
  const { timeZone } = (await manager.findOneByOrFail(Merchant, { id: merchantId })).policy;
  const rows = await manager.query<Granted[]>(WITH_REASON, [walletId, merchantId, summedUntil]);
  for (const { at, kind, amount_cents: cents, user_id: user, reason } of rows) {
    const day = dayOf(at, timeZone);
    const amounts = kind === 'grant' ? [1, cents, 0] : [0, 0, -cents];
    const moved = [
      [merchantId, day, user, reason, ...amounts.map((amount) => -amount)],
      [merchantId, day, user, '', ...amounts],
    ];
    await manager.query(ADD_TO_DAY, [moved]);
    await manager.query(FORGET, [merchantId, [[day, user, reason]]]);
  }
}
