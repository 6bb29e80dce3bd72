import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { Wallet } from '../cashback/wallet.entity.js';
import { ByColumn, CentsColumn, IdColumn, InstantColumn, PrimaryId } from '../platform/database/columns.js';
import { Order } from './order.entity.js';

/** The correction of the customer of a completed order. An order has at most one. */
@Entity('customer_changes')
@Index('ix_customer_changes_user', ['merchantId', 'createdBy', 'createdAt'])
@Index('ix_customer_changes_previous_wallet', ['previousWalletId'])
@Index('ix_customer_changes_wallet', ['walletId'])
export class CustomerChange {
  @PrimaryId('order_id')
  @ForeignKey(() => Order, { name: 'fk_customer_changes_order' })
  orderId!: string;

  @IdColumn('merchant_id')
  merchantId!: string;

  /** The version of the order that it made. */
  @Column({ name: 'version', type: 'int' })
  version!: number;

  @IdColumn('previous_wallet_id')
  @ForeignKey(() => Wallet, { name: 'fk_customer_changes_previous_wallet' })
  previousWalletId!: string;

  @IdColumn('wallet_id')
  @ForeignKey(() => Wallet, { name: 'fk_customer_changes_wallet' })
  walletId!: string;

  @CentsColumn('moved_cents')
  movedCents!: number;

  @InstantColumn('created_at')
  createdAt!: Date;

  @ByColumn('created_by')
  createdBy!: string;
}
