import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { By } from '../platform/values/caller.js';
import type { FeedEventType, NewFeedEvent } from '../platform/values/domain-event.js';
import { ASCII, ByColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';
import { EventFeed } from '../merchants/merchant.entity.js';

/** An event with its number in its merchant's feed: from 1, without gaps. */
@Entity('events')
@Index('uq_events_id', ['id'], { unique: true })
@Index('ix_events_subject', ['subjectId'])
export class FeedEvent {
  @PrimaryId('merchant_id')
  @ForeignKey(() => EventFeed, { name: 'fk_events_feed' })
  merchantId!: string;

  @PrimaryColumn({ name: 'sequence', type: 'bigint' })
  sequence!: number;

  @IdColumn('id')
  id!: string;

  @WordColumn('type')
  type!: FeedEventType;

  /** The order of an order's event; otherwise the wallet. */
  @IdColumn('subject_id')
  subjectId!: string;

  /** Its dates are texts, as in a response. */
  @Column({ name: 'data', type: 'simple-json' })
  data!: NewFeedEvent['data'];

  @InstantColumn('occurred_at')
  occurredAt!: Date;

  @ByColumn('made_by', { nullable: true })
  madeBy!: By;
}

/** The position of all merchants whose clocks run. */
export const RUNNING_CLOCKS = '';

/** How far the dates of credits have been announced. One instance does it at a time, with its row locked. */
@Entity('event_sweeps')
export class EventSweep {
  @PrimaryColumn({ name: 'kind', type: 'varchar', length: 32, charset: 'ascii', collation: 'ascii_bin' })
  kind!: 'available' | 'expiring';

  /** Of a merchant whose clock stands still in a sandbox; `RUNNING_CLOCKS` for all others. */
  @PrimaryColumn({ name: 'merchant_id', length: 36, ...ASCII })
  merchantId!: string;

  /** The instant of the credits that were announced last. */
  @InstantColumn('done_until')
  doneUntil!: Date;

  /** The last wallet that was announced for that instant; `~` if all were. */
  @WordColumn('after_wallet', 36)
  afterWallet!: string;
}
