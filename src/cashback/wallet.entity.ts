import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/**
 * A customer's cashback with one merchant. Its row is the lock for all of the wallet's credits, holds and entries.
 */
@Entity('wallets')
@Index('uq_wallets_merchant_document', ['merchantId', 'document'], { unique: true })
export class Wallet {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_wallets_merchant' })
  merchantId!: string;

  @WordColumn('document', 36)
  document!: string;

  /** The amount that refunds could not claw back. New cashback repays it first. */
  @CentsColumn('debt_cents')
  debtCents!: number;

  /** The sum of all entries on credits so far: the running balance of the statement. */
  @CentsColumn('balance_cents')
  balanceCents!: number;

  /** The available centavos at `availableAsOf`. `balance-sql.ts` adds the changes since then. */
  @CentsColumn('available_cents', { nullable: true })
  availableCents!: number | null;

  /** The instant of the entry `availableSeq`. */
  @InstantColumn('available_as_of', { nullable: true })
  availableAsOf!: Date | null;

  /**
   * Number of the last entry that `availableCents` includes. If it differs from `lastSeq`, all three members are
   * invalid.
   */
  @Column({ name: 'available_seq', type: 'bigint', nullable: true })
  availableSeq!: number | null;

  /** When a date first changes `availableCents`: a credit is released or expires, or a hold lapses. */
  @InstantColumn('available_until', { nullable: true, insert: false, update: false, select: false })
  readonly availableUntil?: Date | null;

  /**
   * Number of the last entry that `availableUntil` includes. If it is not `lastSeq`, `availableUntil` means nothing.
   */
  @Column({ name: 'available_until_seq', type: 'bigint', nullable: true, insert: false, update: false, select: false })
  readonly availableUntilSeq?: number | null;

  /** Number of the last entry of the statement. */
  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}
