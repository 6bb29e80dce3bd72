import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import {
  ByColumn,
  CentsColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  TextColumn,
  WordColumn,
} from '../platform/database/columns.js';
import type { By } from '../platform/values/caller.js';
import { Credit } from './credit.entity.js';
import { Wallet } from './wallet.entity.js';

/**
 * The kinds of movement and their signs. `debt` and `repay` change the debt, all others change a credit. What a void of
 * a debit or a refund undoes has the opposite sign.
 */
export const ENTRY_KINDS = {
  earn: +1,
  grant: +1,
  redeem: -1,
  return: +1,
  take_back: -1,
  void: -1,
  debit: -1,
  expire: -1,
  move_out: -1,
  move_in: +1,
  debt: +1,
  repay: -1,
} as const;

export type EntryKind = keyof typeof ENTRY_KINDS;

/** A ledger entry: one movement of one credit or of the debt. Entries never change; a correction is a new entry. */
@Entity('cashback_entries')
@Index('ix_cashback_entries_credit', ['creditId'])
@Index('ix_cashback_entries_order', ['orderId'])
@Index('ix_cashback_entries_refund', ['refundId'])
@Index('ix_cashback_entries_created', ['merchantId', 'createdAt'])
export class Entry {
  @PrimaryId('wallet_id')
  @ForeignKey(() => Wallet, { name: 'fk_cashback_entries_wallet' })
  walletId!: string;

  /** The merchant of the wallet. */
  @IdColumn('merchant_id')
  merchantId!: string;

  /** The number in the wallet's statement, from 1 without gaps. */
  @PrimaryColumn({ name: 'seq', type: 'bigint' })
  seq!: number;

  @WordColumn('kind')
  kind!: EntryKind;

  /** Signed. */
  @CentsColumn('amount_cents')
  amountCents!: number;

  /** The sum of all credits after this entry. */
  @CentsColumn('balance_cents')
  balanceCents!: number;

  /** The debt after this entry. */
  @CentsColumn('debt_cents')
  debtCents!: number;

  @IdColumn('credit_id', { nullable: true })
  @ForeignKey(() => Credit, { name: 'fk_cashback_entries_credit' })
  creditId!: string | null;

  /** No foreign key: each entry would check a row that its transaction has locked. */
  @IdColumn('order_id', { nullable: true })
  orderId!: string | null;

  @IdColumn('refund_id', { nullable: true })
  @ForeignKey('Refund', { name: 'fk_cashback_entries_refund' })
  refundId!: string | null;

  /** The debit that took it, or whose void restored it. No index: a debit knows its lines. */
  @IdColumn('debit_id', { nullable: true })
  debitId!: string | null;

  /** When it took effect. For an expiry this is earlier than `createdAt`. */
  @InstantColumn('effective_at')
  effectiveAt!: Date;

  @InstantColumn('created_at')
  createdAt!: Date;

  /** Null for what a date does, as each `expire`, also if a request happens to write it. */
  @ByColumn('made_by', { nullable: true })
  madeBy!: By;

  /** Where it happened; null for an `expire`, and if it is not known. */
  @TextColumn('store', 100)
  store!: string | null;
}
