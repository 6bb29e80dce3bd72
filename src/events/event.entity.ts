import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { EventFeed } from '../merchants/merchant.entity.js';
import { ASCII, ByColumn, IdColumn, InstantColumn, PrimaryId, WordColumn } from '../platform/database/columns.js';
import { type By } from '../platform/values/caller.js';
import { type FeedEventType, type NewFeedEvent } from '../platform/values/domain-event.js';
import { type EndpointStatus, type WebhookAttemptDto } from './webhook-endpoint.dto.js';

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
  @PrimaryColumn({ name: 'kind', length: 32, ...ASCII })
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

/** An encrypted secret. All but the latest one are valid until an instant. */
export interface StoredSecret {
  sealed: string;
  until: string | null;
}

/** A cursor over its merchant's feed, which the service advances. Nothing else records what was sent. */
@Entity('webhook_endpoints')
@Index('ix_webhook_endpoints_merchant', ['merchantId'])
@Index('ix_webhook_endpoints_due', ['status', 'nextAttemptAt'])
export class WebhookEndpoint {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => EventFeed, { name: 'fk_webhook_endpoints_feed' })
  merchantId!: string;

  @Column({ name: 'url', length: 2000, ...ASCII })
  url!: string;

  /** The types to send; null for all. */
  @Column({ name: 'types', type: 'json', nullable: true })
  types!: FeedEventType[] | null;

  /** The events of a request, at most. Above 1 the body is a list. */
  @Column({ name: 'batch', type: 'int' })
  batch!: number;

  /** The latest first. */
  @Column({ name: 'secrets', type: 'json' })
  secrets!: StoredSecret[];

  @WordColumn('status')
  status!: EndpointStatus;

  /** The sequence of the last event that was accepted, or is of another type. */
  @Column({ name: 'cursor', type: 'bigint' })
  cursor!: number;

  /** Failed attempts since the last success. */
  @Column({ name: 'failures', type: 'int' })
  failures!: number;

  @InstantColumn('failing_since', { nullable: true })
  failingSince!: Date | null;

  /** The endpoint that has waited longest comes first. */
  @InstantColumn('next_attempt_at')
  nextAttemptAt!: Date;

  /** Which delivery has the endpoint until `leasedUntil`. One that has lost its lease changes nothing. */
  @IdColumn('lease', { nullable: true })
  lease!: string | null;

  @InstantColumn('leased_until')
  leasedUntil!: Date;

  @Column({ name: 'last_attempt', type: 'simple-json', nullable: true })
  lastAttempt!: WebhookAttemptDto | null;

  @InstantColumn('created_at')
  createdAt!: Date;
}

/** The state of an endpoint that is due, as if nothing had failed. A running delivery loses its lease. */
export const dueNow = (now: Date) => ({
  failures: 0,
  failingSince: null,
  nextAttemptAt: now,
  lease: null,
  leasedUntil: now,
});
