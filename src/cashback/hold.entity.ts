import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, PrimaryId } from '../database/columns.js';
import { Credit } from './credit.entity.js';
import { Wallet } from './wallet.entity.js';

/** The amount of one credit that is held for a pending order. Deleted when it is captured or released. */
@Entity('cashback_holds')
@Index('ix_cashback_holds_wallet', ['walletId', 'merchantId', 'amountCents'])
@Index('ix_cashback_holds_credit', ['creditId'])
export class Hold {
  @PrimaryId('order_id')
  @ForeignKey('Order', { name: 'fk_cashback_holds_order' })
  orderId!: string;

  @PrimaryId('credit_id')
  @ForeignKey(() => Credit, { name: 'fk_cashback_holds_credit' })
  creditId!: string;

  @IdColumn('wallet_id')
  @ForeignKey(() => Wallet, { name: 'fk_cashback_holds_wallet' })
  walletId!: string;

  /** The merchant of the wallet. */
  @IdColumn('merchant_id')
  merchantId!: string;

  @CentsColumn('amount_cents')
  amountCents!: number;

  /**
   * The number of the ledger entry that began the hold. Earlier `hold` and `release` entries of the same order and
   * credit add up to zero.
   */
  @Column({ name: 'entry_seq', type: 'bigint' })
  entrySeq!: number;
}
