import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import { ASCII, CentsColumn, PrimaryId } from '../platform/database/columns.js';
import { DaySums } from '../platform/database/day-sums.js';
import { LATE_SECONDS } from './late-sales.js';
import { COMPLETED_STATUSES } from './order-transitions.js';

/** What sums of orders are kept by. What an order does not have is an empty text. */
class OrderDay {
  @PrimaryId('merchant_id')
  merchantId!: string;

  @PrimaryColumn({ name: 'day', length: 10, ...ASCII })
  day!: string;

  @PrimaryColumn({ name: 'store', type: 'varchar', length: 100 })
  store!: string;

  @PrimaryColumn({ name: 'user_id', length: 36, ...ASCII })
  userId!: string;

  @PrimaryColumn({ name: 'campaign_id', length: 36, ...ASCII })
  campaignId!: string;
}

/** The orders that were completed in a local day of the merchant, by store, user and campaign. */
@Entity('sales_days')
@ForeignKey(() => Merchant, ['merchantId'], ['id'], { name: 'fk_sales_days_merchant' })
export class SalesDay extends OrderDay {
  @Column({ name: 'orders', type: 'bigint' })
  orders!: number;

  /** Those that arrived late. */
  @Column({ name: 'late_orders', type: 'bigint' })
  lateOrders!: number;

  @CentsColumn('total_cents')
  totalCents!: number;

  @CentsColumn('eligible_cents')
  eligibleCents!: number;

  @CentsColumn('earned_cents')
  earnedCents!: number;

  @CentsColumn('redeemed_cents')
  redeemedCents!: number;
}

/** The refunds of a local day, less those that were undone in that day, by who made them. */
@Entity('refund_days')
@ForeignKey(() => Merchant, ['merchantId'], ['id'], { name: 'fk_refund_days_merchant' })
export class RefundDay extends OrderDay {
  @Column({ name: 'refunds', type: 'bigint' })
  refunds!: number;

  @CentsColumn('amount_cents')
  amountCents!: number;

  @CentsColumn('returned_cents')
  returnedCents!: number;

  @CentsColumn('taken_back_cents')
  takenBackCents!: number;
}

/** What an order had when it was completed never changes: what happens later is in its refunds. */
export const SALES_SUMS = new DaySums({
  name: 'sales',
  table: 'sales_days',
  source: 'orders o',
  index: 'ix_orders_completion',
  instant: 'o.completed_at',
  parts: COMPLETED_STATUSES.map((status) => `o.status = '${status}'`),
  dimensions: {
    store: "COALESCE(o.store, '')",
    user_id: "COALESCE(o.completed_by, '')",
    campaign_id: "COALESCE(o.campaign_id, '')",
  },
  measures: {
    orders: 'COUNT(*)',
    late_orders: `SUM(COALESCE(o.sold_at < o.created_at - INTERVAL ${LATE_SECONDS} SECOND, FALSE))`,
    total_cents: 'SUM(o.total_cents)',
    eligible_cents: 'SUM(COALESCE(o.eligible_total_cents, o.total_cents))',
    earned_cents: 'SUM(o.earned_cents)',
    redeemed_cents: 'SUM(o.redeemed_cents)',
  },
});

const OF_ORDER = 'JOIN orders o ON o.id = r.order_id AND o.merchant_id = r.merchant_id';

const refundSums = (name: string, index: string, instant: string, sign: '' | '-') =>
  new DaySums({
    ...{ name, table: 'refund_days', source: 'refunds r', index, instant },
    dimensions: {
      store: { sql: "COALESCE(r.store, o.store, '')", join: OF_ORDER },
      user_id: 'r.created_by',
      campaign_id: { sql: "COALESCE(o.campaign_id, '')", join: OF_ORDER },
    },
    measures: {
      refunds: `${sign}COUNT(*)`,
      amount_cents: `${sign}SUM(r.amount_cents)`,
      returned_cents: `${sign}SUM(r.returned_cents)`,
      taken_back_cents: `${sign}SUM(r.taken_back_cents)`,
    },
  });

export const REFUND_SUMS = refundSums('refunds', 'ix_refunds_merchant_created', 'r.created_at', '');

/** A refund that is undone counts on that day with the opposite sign, so that no day that is over changes. */
export const REFUND_VOID_SUMS = refundSums('refund_voids', 'ix_refunds_voided', 'r.voided_at', '-');
