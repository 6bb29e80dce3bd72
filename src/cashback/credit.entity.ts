import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, InstantColumn, PrimaryId, TextColumn } from '../platform/database/columns.js';
import { Wallet } from './wallet.entity.js';

/** The amount of one credit that a pending order holds. Deleted when it is redeemed or released. */
@Entity('cashback_holds')
@Index('ix_cashback_holds_credit', ['creditId'])
export class Hold {
  @PrimaryId('order_id')
  @ForeignKey('Order', { name: 'fk_cashback_holds_order' })
  orderId!: string;

  @PrimaryId('credit_id')
  @ForeignKey(() => Credit, { name: 'fk_cashback_holds_credit' })
  creditId!: string;

  /** The merchant of the order. */
  @IdColumn('merchant_id')
  merchantId!: string;

  @CentsColumn('amount_cents')
  amountCents!: number;
}

/** One amount of cashback with its own dates: spendable from `availableAt` until just before `expiresAt`. */
@Entity('cashback_credits')
@Index('ix_cashback_credits_expiry', [
  'walletId',
  'merchantId',
  'isOpen',
  'expiresAt',
  'seq',
  'availableAt',
  'remainingCents',
  'heldCents',
])
@Index('ix_cashback_credits_release', [
  'walletId',
  'merchantId',
  'isOpen',
  'availableAt',
  'expiresAt',
  'remainingCents',
  'heldCents',
])
@Index('ix_cashback_credits_due', ['isOpen', 'expiresAt', 'walletId', 'merchantId'])
@Index('ix_cashback_credits_start', ['isOpen', 'availableAt', 'walletId', 'merchantId'])
@Index('ix_cashback_credits_merchant', ['merchantId', 'isOpen', 'expiresAt', 'id'])
@Index('ix_cashback_credits_refund', ['refundId'])
@Index('ix_cashback_credits_from', ['fromCreditId'])
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

  /**
   * The number of the ledger entry that created it. Of the credits of a wallet with the same expiry, the one with the
   * lowest number comes first.
   */
  @Column({ name: 'seq', type: 'bigint' })
  seq!: number;

  /** The order that earned it; null for a grant, and for an amount that a refund returned. */
  @IdColumn('order_id', { nullable: true })
  @ForeignKey('Order', { name: 'fk_cashback_credits_order' })
  orderId!: string | null;

  /** The order that earned it, if its customer was corrected since: another credit has what was left then. */
  @IdColumn('moved_order_id', { nullable: true })
  movedOrderId!: string | null;

  /** The refund that returned it, because the credit that it came from ended too soon. */
  @IdColumn('refund_id', { nullable: true })
  @ForeignKey('Refund', { name: 'fk_cashback_credits_refund' })
  refundId!: string | null;

  /** The earned or granted credit that a returned amount first came from, also over several refunds. */
  @IdColumn('from_credit_id', { nullable: true })
  @ForeignKey(() => Credit, { name: 'fk_cashback_credits_from' })
  fromCreditId!: string | null;

  @Column({ name: 'reason', type: 'varchar', length: 500, nullable: true })
  reason!: string | null;

  /** Where it was earned or granted; a returned amount has the store of the credit that it came from. */
  @TextColumn('store', 100)
  store!: string | null;

  @CentsColumn('amount_cents')
  amountCents!: number;

  /** The sum of its entries. */
  @CentsColumn('remaining_cents')
  remainingCents!: number;

  /** The part of what remains that pending orders hold. */
  @CentsColumn('held_cents')
  heldCents!: number;

  /** The part of what is held that refunds of its order have claimed: they take it back when it is released. */
  @CentsColumn('claimed_cents', { default: 0 })
  claimedCents!: number;

  /** 1 while something remains that is not held, otherwise 0. The database computes it, for indexes. */
  @Column({
    name: 'is_open',
    type: 'tinyint',
    nullable: true,
    asExpression: 'remaining_cents > held_cents',
    generatedType: 'STORED',
    insert: false,
    update: false,
  })
  readonly isOpen?: number;

  @InstantColumn('available_at')
  availableAt!: Date;

  @InstantColumn('expires_at')
  expiresAt!: Date;

  @InstantColumn('created_at')
  createdAt!: Date;
}
