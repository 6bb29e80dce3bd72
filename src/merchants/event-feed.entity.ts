import { Column, Entity, ForeignKey } from 'typeorm';
import { InstantColumn, PrimaryId } from '../database/columns.js';
import { Merchant } from './merchant.entity.js';

/** A merchant's feed of events: which are kept. Its row is the lock for their numbers. */
@Entity('event_feeds')
export class EventFeed {
  @PrimaryId('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_event_feeds_merchant' })
  merchantId!: string;

  /** The number of the latest event; 0 if there was none. */
  @Column({ name: 'last_sequence', type: 'bigint' })
  lastSequence!: number;

  /** The number of the oldest event that is kept, or of the next one. */
  @Column({ name: 'oldest_sequence', type: 'bigint' })
  oldestSequence!: number;

  /** All events that happened at this instant or later are kept. */
  @InstantColumn('kept_since')
  keptSince!: Date;
}
