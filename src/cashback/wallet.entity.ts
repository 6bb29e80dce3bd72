import { Column, Entity, type EntityManager, ForeignKey, In, Index } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import {
  BooleanColumn,
  ByColumn,
  CentsColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  TextColumn,
  WordColumn,
} from '../platform/database/columns.js';
import type { By } from '../platform/values/caller.js';
import { notFound } from '../platform/values/problem.js';

/** A customer of a merchant. */
export interface WalletOwner {
  merchantId: string;
  document: string;
}

export const ownerKey = ({ merchantId, document }: WalletOwner): string => `${merchantId} ${document}`;

/**
 * A customer's cashback with one merchant. Its row is the lock for all of the wallet's credits, holds and entries.
 */
@Entity('wallets')
@Index('uq_wallets_merchant_document', ['merchantId', 'document'], { unique: true })
@Index('ix_wallets_merchant', ['merchantId', 'id'])
export class Wallet {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_wallets_merchant' })
  merchantId!: string;

  @WordColumn('document', 36)
  document!: string;

  /** The amount that refunds could not take back. New cashback repays it first. */
  @CentsColumn('debt_cents')
  debtCents!: number;

  /** The sum of all entries on credits: what is available, pending, held, or expired and not yet written off. */
  @CentsColumn('balance_cents')
  balanceCents!: number;

  /**
   * What could be spent at `availableAsOf`. Since then, only dates have changed it and what is pending:
   * `balance-sql.ts`.
   */
  @CentsColumn('available_cents')
  availableCents!: number;

  /** What was not available yet at `availableAsOf`. */
  @CentsColumn('pending_cents')
  pendingCents!: number;

  /** What pending orders hold. */
  @CentsColumn('held_cents')
  heldCents!: number;

  /** When the wallet was last written: by its last entry or hold or, before the first one, at its creation. */
  @InstantColumn('available_as_of')
  availableAsOf!: Date;

  /** When a date first changes what is available or pending: a credit becomes available or expires. */
  @InstantColumn('available_until')
  availableUntil!: Date;

  /** Whether no order can hold or redeem more of it. */
  @BooleanColumn('frozen', { default: 0 })
  frozen!: boolean;

  /** When it was last frozen or unfrozen, by whom and why; null if it never was. */
  @InstantColumn('freeze_changed_at', { nullable: true })
  freezeChangedAt!: Date | null;

  @ByColumn('freeze_changed_by', { nullable: true })
  freezeChangedBy!: By;

  @TextColumn('freeze_reason', 500)
  freezeReason!: string | null;

  /** Number of the last entry of the statement. */
  @Column({ name: 'last_seq', type: 'bigint' })
  lastSeq!: number;

  @InstantColumn('created_at')
  createdAt!: Date;
}

export const NO_WALLET = 'no wallet has this ID';

/** @throws Problem not_found. */
export async function walletOf(manager: EntityManager, where: { id: string; merchantId?: string }): Promise<Wallet> {
  const wallet = await manager.findOne(Wallet, {
    where,
    ...(where.merchantId === undefined && { comment: ALL_MERCHANTS }),
  });
  if (wallet === null) throw notFound(NO_WALLET);
  return wallet;
}

/** Returns the documents of the customers of rows, by the ID of their wallets. */
export async function readDocuments(
  { manager, merchantId }: { manager: EntityManager; merchantId: string },
  rows: readonly { walletId: string }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = rows.map(({ walletId }) => walletId);
  const wallets = await manager.find(Wallet, {
    select: { id: true, document: true },
    where: { merchantId, id: In(ids) },
  });
  return new Map(wallets.map(({ id, document }) => [id, document]));
}

/** Returns DTOs of rows of wallets with whose they are. */
export async function withCustomers<Dto extends object>(
  of: { manager: EntityManager; merchantId: string },
  rows: readonly { walletId: string }[],
  dtos: readonly Dto[],
): Promise<(Dto & { wallet_id: string; document: string })[]> {
  const documents = await readDocuments(of, rows);
  return rows.map(({ walletId: wallet_id }, at) => ({ ...dtos[at]!, wallet_id, document: documents.get(wallet_id)! }));
}
