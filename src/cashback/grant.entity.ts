import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import {
  ByColumn,
  CentsColumn,
  DayColumn,
  DigestColumn,
  ExactTextColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  TextColumn,
} from '../platform/database/columns.js';
import { Voidable } from '../platform/database/voidable.js';
import type { Metadata } from '../platform/values/texts.js';
import { Credit } from './credit.entity.js';

/**
 * What a granted credit has in addition to an earned one: the external ID and the requested dates, which identify a
 * replay, and what was voided. The amount and the reason are in the credit, the document is in the wallet.
 */
@Entity('cashback_grants')
@Index('uq_cashback_grants_external_id', ['merchantId', 'externalId'], { unique: true })
@Index('ix_cashback_grants_merchant', ['merchantId', 'creditId'])
@Index('ix_cashback_grants_user', ['merchantId', 'createdBy', 'creditId'])
export class Grant extends Voidable {
  @PrimaryId('credit_id')
  @ForeignKey(() => Credit, { name: 'fk_cashback_grants_credit' })
  creditId!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_cashback_grants_merchant' })
  merchantId!: string;

  @ByColumn('created_by')
  createdBy!: string;

  /** The credit's ID if the request had none. */
  @ExactTextColumn('external_id')
  externalId!: string;

  /** Null where the request left it out. */
  @InstantColumn('requested_available_at', { nullable: true })
  requestedAvailableAt!: Date | null;

  /** Null where the request left it out. */
  @InstantColumn('requested_expires_at', { nullable: true })
  requestedExpiresAt!: Date | null;

  /** Null if the request did not set it. */
  @DayColumn('requested_available_on')
  requestedAvailableOn!: string | null;

  /** Null if the request did not set it. */
  @DayColumn('requested_expires_on')
  requestedExpiresOn!: string | null;

  /** For staff: customers see the reason, which is in the credit. */
  @TextColumn('note', 500)
  note!: string | null;

  /** What the caller keeps with the grant; null if it is empty. */
  @Column({ name: 'metadata', type: 'json', nullable: true })
  metadata!: Metadata | null;
  /** The HMAC of what was requested: it recognizes a replay after the customer was erased. */
  @DigestColumn('content_digest')
  contentDigest!: Buffer;

  /** What was taken back in all; null if the grant was never voided. */
  @CentsColumn('voided_cents', { nullable: true })
  voidedCents!: number | null;
}
