import { Column, Entity, ForeignKey, Index } from 'typeorm';
import type { Metadata } from '../common/metadata.js';
import {
  CentsColumn,
  DigestColumn,
  ExactTextColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  WordColumn,
} from '../database/columns.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { type Policy, policyTransformer } from '../merchants/policy.js';

/** An item as the client sent it, with money in centavos. */
export interface OrderItem {
  id: string;
  priceCents: number;
  description?: string;
  /** Absent for 1. */
  quantity?: number;
}

export interface OrderPaymentMethod {
  id: string;
  amountCents: number;
}

/** The statuses of an order. They are also in the check `ck_orders_status` and in the rules of `reconcile`. */
export const ORDER_STATUSES = [
  'pending',
  'completed',
  'cancelled',
  'expired',
  'partially_refunded',
  'refunded',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/**
 * An order of a customer. Content that a request can set must also go into the digest and the comparison of
 * `order-replay.ts`.
 */
@Entity('orders')
@Index('uq_orders_merchant_external_id', ['merchantId', 'externalId'], { unique: true })
@Index('ix_orders_merchant_created', ['merchantId', 'createdAt', 'id'])
@Index('ix_orders_completion', ['merchantId', 'status', 'completedAt', 'id'])
@Index('ix_orders_status', ['merchantId', 'status', 'createdAt', 'id'])
@Index('ix_orders_customer', ['merchantId', 'document', 'status', 'createdAt', 'id'])
@Index('ix_orders_expiry', ['status', 'expiresAt'])
export class Order {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_orders_merchant' })
  merchantId!: string;

  @ExactTextColumn('external_id')
  externalId!: string;

  @WordColumn('status')
  status!: OrderStatus;

  @WordColumn('document', 36)
  document!: string;

  @CentsColumn('total_cents')
  totalCents!: number;

  /** The part of the total on which cashback is earned and redeemed; null if that is the whole total. */
  @CentsColumn('eligible_total_cents', { nullable: true })
  eligibleTotalCents!: number | null;

  @Column({ name: 'items', type: 'json' })
  items!: OrderItem[];

  /** As sent when the order was created or last amended. A replay is compared with them. */
  @Column({ name: 'payment_methods', type: 'json' })
  paymentMethods!: OrderPaymentMethod[];

  /** The payment methods sent at completion, if any. */
  @Column({ name: 'final_payment_methods', type: 'json', nullable: true })
  finalPaymentMethods!: OrderPaymentMethod[] | null;

  /** What the caller keeps with the order; null if it is empty. */
  @Column({ name: 'metadata', type: 'json', nullable: true })
  metadata!: Metadata | null;

  /** The rules at the order's creation. Neither an amendment nor a later policy of the merchant changes them. */
  @Column({ name: 'policy', type: 'json', transformer: policyTransformer })
  policy!: Policy;

  /** The amount that is held while the order is pending, and redeemed when it is completed. */
  @CentsColumn('redemption_cents')
  redemptionCents!: number;

  /** The amount that an expired order held until it expired. */
  @CentsColumn('lapsed_cents')
  lapsedCents!: number;

  /** Cashback granted at completion. */
  @CentsColumn('earned_cents')
  earnedCents!: number;

  @CentsColumn('refunded_cents')
  refundedCents!: number;

  /** The part of `refundedCents` that concerned what the order earned cashback on. */
  @CentsColumn('refunded_eligible_cents')
  refundedEligibleCents!: number;

  /** Redeemed cashback that refunds returned to the customer. */
  @CentsColumn('returned_cents')
  returnedCents!: number;

  /** Granted cashback that refunds took back. */
  @CentsColumn('taken_back_cents')
  takenBackCents!: number;

  /** Digest of the content that the order was created with (`order-replay.ts`). */
  @DigestColumn('content_digest')
  contentDigest!: Buffer;

  /** Starts at 1 and increases with each change of the order. */
  @Column({ name: 'version', type: 'int' })
  version!: number;

  @InstantColumn('created_at')
  createdAt!: Date;

  /** When the order last changed. */
  @InstantColumn('updated_at')
  updatedAt!: Date;

  @InstantColumn('expires_at')
  expiresAt!: Date;

  /** The expiry that the order was created with, which a later hold can move; null if the request had none. */
  @InstantColumn('requested_expires_at', { nullable: true })
  requestedExpiresAt!: Date | null;

  @InstantColumn('completed_at', { nullable: true })
  completedAt!: Date | null;

  @InstantColumn('cancelled_at', { nullable: true })
  cancelledAt!: Date | null;

  /** When the cashback granted at completion becomes available; null before. */
  @InstantColumn('cashback_available_at', { nullable: true })
  cashbackAvailableAt!: Date | null;

  /** When that cashback expires; null like `cashbackAvailableAt`. */
  @InstantColumn('cashback_expires_at', { nullable: true })
  cashbackExpiresAt!: Date | null;
}
