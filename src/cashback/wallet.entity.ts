import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';

/** A customer of a merchant. */
export interface WalletOwner {
  merchantId: string;
  document: string;
}

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

  /** The amount that refunds could not take back. New cashback repays it first. */
  @CentsColumn('debt_cents')
  debtCents!: number;

  /** The sum of all entries on credits so far: the running balance of the statement. */
  @CentsColumn('balance_cents')
  balanceCents!: number;

  /** The available centavos at `availableAsOf`. `balance-sql.ts` adds the changes since then. */
  @CentsColumn('available_cents')
  availableCents!: number;

  /** When the wallet was last written: the instant of its last entry or, before the first one, its creation. */
  @InstantColumn('available_as_of')
  availableAsOf!: Date;

  /** When a date first changes `availableCents`: a credit becomes available or expires. */
  @InstantColumn('available_until')
  availableUntil!: Date;

  /** Number of the last entry of the statement. */
  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}
