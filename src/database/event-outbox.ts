import { Column, Entity, type EntityManager, Index, PrimaryGeneratedColumn } from 'typeorm';
import { type DomainEvent, type FeedEventType, isFeedEvent } from '../common/domain-event.js';
import { newId } from '../common/ids.js';
import { IdColumn, InstantColumn, WordColumn } from './columns.js';
import { insertRows } from './rows.js';

/** An event of a committed use case that has no number in its merchant's feed yet. */
@Entity('event_outbox')
@Index('ix_event_outbox_merchant', ['merchantId', 'id'])
export class OutboxEvent {
  @PrimaryGeneratedColumn({ name: 'id', type: 'bigint' })
  id?: number;

  @IdColumn('merchant_id')
  merchantId!: string;

  @IdColumn('event_id')
  eventId!: string;

  @WordColumn('type')
  type!: FeedEventType;

  @IdColumn('subject_id')
  subjectId!: string;

  /** A text, because MySQL does not keep the order of members in JSON. */
  @Column({ name: 'data', type: 'simple-json' })
  data!: object;

  @InstantColumn('occurred_at')
  occurredAt!: Date;
}

/** Stores the events that belong into feeds, as the last statement of a use case's transaction. */
export async function storeEvents(manager: EntityManager, recorded: readonly DomainEvent[]): Promise<void> {
  const rows = recorded.filter(isFeedEvent).map(({ type, merchantId, subjectId, at, data }): OutboxEvent => {
    return { merchantId, eventId: newId(at), type, subjectId, data, occurredAt: at };
  });
  if (rows.length > 0) await insertRows(manager, OutboxEvent, rows);
}
