import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import type { EntryKind } from '../cashback/entry.entity.js';
import { ASCII, CentsColumn, PrimaryId } from '../platform/database/columns.js';
import { LedgerPosition } from '../merchants/merchant.entity.js';

/** The sum of the ledger's entries of a kind in a local day of the merchant, by stores; no store is an empty text. */
@Entity('ledger_days')
export class LedgerDay {
  @PrimaryId('merchant_id')
  @ForeignKey(() => LedgerPosition, { name: 'fk_ledger_days_position' })
  merchantId!: string;

  @PrimaryColumn({ name: 'day', length: 10, ...ASCII })
  day!: string;

  /** Where it happened. */
  @PrimaryColumn({ name: 'store', type: 'varchar', length: 100 })
  store!: string;

  /** The store that owes the credit; empty for the debt, too. */
  @PrimaryColumn({ name: 'credit_store', type: 'varchar', length: 100 })
  creditStore!: string;

  @PrimaryColumn({ name: 'kind', length: 32, ...ASCII })
  kind!: EntryKind;

  /** The number of entries. */
  @Column({ name: 'entries', type: 'bigint' })
  entries!: number;

  @CentsColumn('amount_cents')
  amountCents!: number;
}
