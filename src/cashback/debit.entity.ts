import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import {
  BooleanColumn,
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
import type { Metadata } from '../platform/values/texts.js';
import { Wallet } from './wallet.entity.js';

/** Cashback that was taken from a customer by hand. */
@Entity('debits')
@Index('uq_debits_external_id', ['merchantId', 'externalId'], { unique: true })
@Index('ix_debits_merchant', ['merchantId', 'id'])
@Index('ix_debits_user', ['merchantId', 'createdBy', 'id'])
@Index('ix_debits_wallet', ['walletId', 'id'])
export class Debit extends Voidable {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_debits_merchant' })
  merchantId!: string;

  @IdColumn('wallet_id')
  @ForeignKey(() => Wallet, { name: 'fk_debits_wallet' })
  walletId!: string;

  @ExactTextColumn('external_id')
  externalId!: string;

  /** What the request asked for. */
  @CentsColumn('requested_cents')
  requestedCents!: number;

  /** Whether less was taken where the customer had less. */
  @BooleanColumn('takes_available')
  takesAvailable!: boolean;

  /** What was taken. */
  @CentsColumn('amount_cents')
  amountCents!: number;

  /** What voids restored of it. */
  @CentsColumn('restored_cents')
  restoredCents!: number;

  /** The numbers of the first and the last ledger entry that took it: one for each credit. */
  @Column({ name: 'first_seq', type: 'bigint' })
  firstSeq!: number;

  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  /** What customers see; null after an erasure. */
  @TextColumn('reason', 500)
  reason!: string | null;

  /** For staff. */
  @TextColumn('note', 500)
  note!: string | null;

  @TextColumn('store', 100)
  store!: string | null;

  /** What the caller keeps with the debit; null if it is empty. */
  @Column({ name: 'metadata', type: 'json', nullable: true })
  metadata!: Metadata | null;

  /** The HMAC of what was requested: it recognizes a replay after the customer was erased. */
  @DigestColumn('content_digest')
  contentDigest!: Buffer;

  @InstantColumn('created_at')
  createdAt!: Date;

  @ByColumn('created_by')
  createdBy!: string;
}
