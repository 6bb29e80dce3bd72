import { Column, Entity, ForeignKey, Index } from 'typeorm';
import type { Metadata } from '../platform/values/texts.js';
import {
  ByColumn,
  CentsColumn,
  DigestColumn,
  ExactTextColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  TextColumn,
} from '../platform/database/columns.js';
import { Voidable } from '../platform/database/voidable.js';

/** What a refund is for, if it is not for an amount. */
export interface Returned {
  items: { id: string; quantity: number }[];
  /** Whether also for what the total has beyond the items, such as shipping. */
  rest: boolean;
}

/** A return, whole or in part, of a completed order. */
@Entity('refunds')
@Index('ix_refunds_order_created', ['orderId', 'createdAt', 'id'])
@Index('ix_refunds_merchant_created', ['merchantId', 'createdAt', 'id'])
@Index('ix_refunds_user', ['merchantId', 'createdBy', 'createdAt', 'id'])
@Index('ix_refunds_voided', ['merchantId', 'voidedAt'])
@Index('uq_refunds_order_external_id', ['orderId', 'merchantId', 'externalId'], { unique: true })
export class Refund extends Voidable {
  @PrimaryId()
  id!: string;

  @IdColumn('order_id')
  @ForeignKey('Order', { name: 'fk_refunds_order' })
  orderId!: string;

  /** The merchant of the order. */
  @IdColumn('merchant_id')
  merchantId!: string;

  @ExactTextColumn('external_id')
  externalId!: string;

  /** The version of the order that the refund made. */
  @Column({ name: 'version', type: 'int' })
  version!: number;

  @CentsColumn('amount_cents')
  amountCents!: number;

  /** What came back, with quantities; null if the request has an amount. */
  @Column({ name: 'returned_items', type: 'json', nullable: true })
  returned!: Returned | null;

  /** The part of the amount that concerns what the order earned cashback on. */
  @CentsColumn('eligible_cents')
  eligibleCents!: number;

  /** That part as the request has it; null if a refund without `eligible_amount` has the same. */
  @CentsColumn('requested_eligible_cents', { nullable: true })
  requestedEligibleCents!: number | null;

  /** What the customer loses of the earned cashback: it is taken back, apart from what has expired unspent. */
  @CentsColumn('due_cents')
  dueCents!: number;

  /** That as the request has it; null if a refund without `take_back` has the same. */
  @CentsColumn('requested_take_back_cents', { nullable: true })
  requestedTakeBackCents!: number | null;

  /** Redeemed cashback returned to the customer's wallet. */
  @CentsColumn('returned_cents')
  returnedCents!: number;

  /** Earned cashback taken back. */
  @CentsColumn('taken_back_cents')
  takenBackCents!: number;

  /** Why it was made; null like the store and the metadata if the request had none. */
  @TextColumn('reason', 500)
  reason!: string | null;

  /** Where it was made. */
  @TextColumn('store', 100)
  store!: string | null;

  @Column({ name: 'metadata', type: 'json', nullable: true })
  metadata!: Metadata | null;

  @InstantColumn('created_at')
  createdAt!: Date;

  @ByColumn('created_by')
  createdBy!: string;

  /** The HMAC of what was requested: it recognizes a replay after the customer was erased. Null in earlier releases. */
  @DigestColumn('content_digest', { nullable: true })
  contentDigest!: Buffer | null;
}
