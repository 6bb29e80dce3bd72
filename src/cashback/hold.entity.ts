import { Entity, ForeignKey, Index } from 'typeorm';
import { CentsColumn, IdColumn, PrimaryId } from '../database/columns.js';
import { Credit } from './credit.entity.js';

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
