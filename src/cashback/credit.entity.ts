import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId } from '../database/columns.js';
import { Wallet } from './wallet.entity.js';

/** One amount of cashback with its own dates: spendable from `availableAt` until just before `expiresAt`. */
@Entity('cashback_credits')
@Index('ix_cashback_credits_expiry', [
  'walletId',
  'merchantId',
  'isOpen',
  'expiresAt',
  'id',
  'availableAt',
  'remainingCents',
])
@Index('ix_cashback_credits_release', [
  'walletId',
  'merchantId',
  'isOpen',
  'availableAt',
  'expiresAt',
  'remainingCents',
])
@Index('ix_cashback_credits_due', ['isOpen', 'expiresAt', 'walletId', 'merchantId'])
@Index('ix_cashback_credits_start', ['isOpen', 'availableAt', 'walletId', 'merchantId'])
@Index('uq_cashback_credits_order', ['orderId', 'merchantId'], { unique: true })
export class Credit {
  @PrimaryId()
  id!: string;

  @IdColumn('wallet_id')
  @ForeignKey(() => Wallet, { name: 'fk_cashback_credits_wallet' })
  walletId!: string;

  /** The merchant of the wallet. */
  @IdColumn('merchant_id')
  merchantId!: string;

  /** The order that earned it; null for a grant by the operator. */
  @IdColumn('order_id', { nullable: true })
  @ForeignKey('Order', { name: 'fk_cashback_credits_order' })
  orderId!: string | null;

  @Column({ name: 'reason', type: 'varchar', length: 500, nullable: true })
  reason!: string | null;

  @CentsColumn('amount_cents')
  amountCents!: number;

  @CentsColumn('remaining_cents')
  remainingCents!: number;

  /**
   * 1 while something remains, otherwise 0. The database computes it, for indexes that skip spent credits.
   */
  @Column({
    name: 'is_open',
    type: 'tinyint',
    nullable: true,
    asExpression: 'remaining_cents > 0',
    generatedType: 'STORED',
    insert: false,
    update: false,
  })
  readonly isOpen?: number;

  @InstantColumn('available_at')
  availableAt!: Date;

  @InstantColumn('expires_at')
  expiresAt!: Date;

  /**
   * When a reinstated credit first expired: an amount then returned to it, and `expiresAt` is when that amount expires.
   * A credit is reinstated once, so amounts that return later expire at once.
   */
  @InstantColumn('original_expires_at', { nullable: true })
  originalExpiresAt!: Date | null;

  @InstantColumn('created_at')
  createdAt!: Date;
}
