import { Column, Entity, ForeignKey } from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import { InstantColumn, PrimaryId } from '../platform/database/columns.js';

const SEQUENCE = { type: 'bigint', nullable: true } as const;

/**
 * The clock of a merchant of a sandbox. Each request of the merchant locks the row for reading, and each step of a move
 * for writing: so nothing happens while the clock is moved.
 */
@Entity('sandbox_clocks')
export class MerchantClock {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_sandbox_clocks_merchant' })
  merchantId!: string;

  /** The merchant's time. Until the first move it is null: the clock runs. */
  @InstantColumn('stands_at', { nullable: true })
  standsAt!: Date | null;

  /** Where the last move goes. */
  @InstantColumn('target', { nullable: true })
  target!: Date | null;

  /** The number in the feed from which on the last move caused events. */
  @Column({ name: 'first_sequence', ...SEQUENCE })
  firstSequence!: number | null;

  /** The last number in the feed when the last move was done; null while it is under way. */
  @Column({ name: 'last_sequence', ...SEQUENCE })
  lastSequence!: number | null;
}
