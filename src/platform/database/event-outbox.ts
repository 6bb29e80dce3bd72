import { Column, Entity, type EntityManager, Index, PrimaryGeneratedColumn } from 'typeorm';
import { type By } from '../values/caller.js';
import { type DomainEvent, isFeedEvent, type NewFeedEvent } from '../values/domain-event.js';
import { newId } from '../values/ids.js';
import { ByColumn, IdColumn, InstantColumn, WordColumn } from './columns.js';
import { insertRows } from './rows.js';

/** A `NewFeedEvent` with its ID. It has no number in its merchant's feed yet. */
@Entity('event_outbox')
@Index('ix_event_outbox_merchant', ['merchantId', 'id'])
export class OutboxRow {
  @PrimaryGeneratedColumn({ name: 'id', type: 'bigint' })
  id?: number;

  @IdColumn('merchant_id')
  merchantId!: string;

  @IdColumn('event_id')
  eventId!: string;

  @WordColumn('type')
  type!: NewFeedEvent['type'];

  @IdColumn('subject_id')
  subjectId!: string;

  /** A text, because MySQL does not keep the order of members in JSON. */
  @Column({ name: 'data', type: 'simple-json' })
  data!: NewFeedEvent['data'];

  @InstantColumn('occurred_at')
  occurredAt!: Date;

  @ByColumn('made_by', { nullable: true })
  madeBy!: By;
}

/** Stores the events that belong in feeds, as the last statement of a use case's transaction. */
export async function storeEvents(manager: EntityManager, recorded: readonly DomainEvent[]): Promise<void> {
  const rows = recorded.filter(isFeedEvent).map((event) => ({ ...event, eventId: newId(event.occurredAt) }));
  await insertRows(manager, OutboxRow, rows);
}
