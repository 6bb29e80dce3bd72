import { Entity, ForeignKey, Index } from 'typeorm';
import { InstantColumn, PrimaryId } from '../database/columns.js';
import { Merchant } from './merchant.entity.js';

/** How far a merchant's ledger has been summed by day. One instance does it at a time, with the row locked. */
@Entity('ledger_positions')
@Index('ix_ledger_positions_due', ['dueAt'])
export class LedgerPosition {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_ledger_positions_merchant' })
  merchantId!: string;

  /** All earlier entries are in the sums, and no other ones. */
  @InstantColumn('summed_until')
  summedUntil!: Date;

  /** When the next day has ended long enough ago to be summed. */
  @InstantColumn('due_at')
  dueAt!: Date;
}
