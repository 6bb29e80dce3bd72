import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';

/** A customer of a merchant. */
export interface WalletOwner {
  merchantId: string;
  document: string;
}

export const ownerKey = ({ merchantId, document }: WalletOwner): string => `${merchantId} ${document}`;

/**
 * A customer's cashback with one merchant. Its row is the lock for all of the wallet's credits, holds and entries.
 */
@Entity('wallets')
@Index('uq_wallets_merchant_document', ['merchantId', 'document'], { unique: true })
@Index('ix_wallets_merchant', ['merchantId', 'id'])
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

  /** The sum of all entries on credits: what is available, pending, held, or expired and not yet written off. */
  @CentsColumn('balance_cents')
  balanceCents!: number;

  /**
   * What could be spent at `availableAsOf`. Since then, only dates have changed it and what is pending:
   * `balance-sql.ts`.
   */
  @CentsColumn('available_cents')
  availableCents!: number;

  /** What was not available yet at `availableAsOf`. */
  @CentsColumn('pending_cents')
  pendingCents!: number;

  /** What pending orders hold. */
  @CentsColumn('held_cents')
  heldCents!: number;

  /** When the wallet was last written: by its last entry or hold or, before the first one, at its creation. */
  @InstantColumn('available_as_of')
  availableAsOf!: Date;

  /** When a date first changes what is available or pending: a credit becomes available or expires. */
  @InstantColumn('available_until')
  availableUntil!: Date;

  /** Number of the last entry of the statement. */
  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}
