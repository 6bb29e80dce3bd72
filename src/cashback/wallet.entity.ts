import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/**
 * A customer's cashback with one merchant. Its row is the lock of everything in it; its value is in its credits.
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

  /** What refunds could not claw back; new cashback pays it first. */
  @CentsColumn('debt_cents')
  debtCents!: number;

  /** The sum of all entries on credits so far: the running balance of the statement. */
  @CentsColumn('balance_cents')
  balanceCents!: number;

  /** What could be spent at `availableAsOf`, in centavos. Dates have changed it since; `balance-sql.ts` adds them up. */
  @CentsColumn('available_cents', { nullable: true })
  availableCents!: number | null;

  /** The instant of the entry `availableSeq`. */
  @InstantColumn('available_as_of', { nullable: true })
  availableAsOf!: Date | null;

  /** Number of the last entry that `availableCents` includes. If it is not `lastSeq`, the three members mean nothing. */
  @Column({ name: 'available_seq', type: 'bigint', nullable: true })
  availableSeq!: number | null;

  /** Number of the last entry of the statement. */
  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}
