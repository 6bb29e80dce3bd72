import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/**
 * A customer's cashback with one merchant. Its row is the lock of everything in it; what it is worth
 * are its credits.
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

  /** Number of the last entry of the statement. */
  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}
