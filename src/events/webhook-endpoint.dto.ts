import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayNotEmpty, IsArray, IsIn, IsOptional } from 'class-validator';
import { IsInstant, IsText, IsWholeNumber } from '../platform/http/validators.js';
import { ApiId, InOrder } from '../platform/openapi/decorators.js';
import { FEED_EVENT_TYPES, type FeedEventType } from '../platform/values/domain-event.js';

const ENDPOINT_STATUSES = ['active', 'disabled'] as const;
export type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

const TYPES = { message: `must be a list of one or more of ${FEED_EVENT_TYPES.join(', ')}` };
const MAX_TYPES = 100;
const MAX_BATCH = 100;

/** The content of a webhook endpoint. */
export class WebhookEndpointRequestDto {
  /**
   * Where to send events: `https`, port 443, a public host name, without a user and a fragment.
   * @example https://shop.example/webhooks
   */
  @IsText('note', 2000)
  readonly url!: string;

  /** The types to send. Default: all, also future ones. */
  @IsOptional()
  @IsArray(TYPES)
  @ArrayNotEmpty(TYPES)
  @ArrayMaxSize(MAX_TYPES, TYPES)
  @IsIn(FEED_EVENT_TYPES, { each: true, ...TYPES })
  @ApiProperty({
    enum: FEED_EVENT_TYPES,
    enumName: 'EventType',
    isArray: true,
    minItems: 1,
    maxItems: MAX_TYPES,
    example: ['order.completed', 'order.refunded'],
  })
  readonly types?: FeedEventType[];

  /**
   * The events of a request, at most. Above 1 the body is `{ "data": [event, …] }`, also for one event. It has what
   * waits, at most 1 MiB. Default: 1.
   * @example 100
   */
  @IsOptional()
  @IsWholeNumber(1, MAX_BATCH)
  readonly batch?: number;
}

/** Where a webhook endpoint goes on: exactly one of `after` and `from`. */
export class SeekDto {
  /**
   * The next event is the first one after this `sequence`; 0 is the beginning of the feed.
   * @example 0
   */
  @IsOptional()
  @IsWholeNumber(0, 999_999_999_999_999)
  readonly after?: number;

  /** The next event is the first one whose `timestamp` is this instant or later; the oldest that is kept, at least. */
  @IsOptional()
  @IsInstant()
  readonly from?: string;
}

/** The outcome of an attempt to send an event or a batch. */
@InOrder()
export class WebhookAttemptDto {
  @ApiProperty({ type: String, format: 'date-time' })
  readonly at!: string;

  /** The event, of a batch the last one; null if it is no longer kept. */
  @ApiProperty({
    type: String,
    pattern: '^evt_[0-9a-f-]{36}$',
    nullable: true,
    example: 'evt_0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10',
  })
  readonly event_id!: string | null;

  /** The status of the response; null if there was none. 200 to 299 is a success. */
  @ApiProperty({ type: 'integer', nullable: true, example: 503 })
  readonly status!: number | null;

  /** Why there was no response. */
  @ApiProperty({ type: String, nullable: true, example: 'connect ECONNREFUSED 203.0.113.7:443' })
  readonly error!: string | null;

  /** @example 84 */
  @ApiProperty({ type: 'integer', minimum: 0 })
  readonly duration_ms!: number;

  /** The first 1 KiB of the response's body. */
  @ApiProperty({ type: String, nullable: true, example: 'out of order' })
  readonly response!: string | null;
}

/** A webhook endpoint: a cursor over the feed, which the service advances with what the endpoint accepts. */
@InOrder()
export class WebhookEndpointDto {
  @ApiId()
  readonly id!: string;

  /** @example https://shop.example/webhooks */
  readonly url!: string;

  /** The types that are sent; null for all. */
  @ApiProperty({ enum: FEED_EVENT_TYPES, enumName: 'EventType', isArray: true, nullable: true })
  readonly types!: FeedEventType[] | null;

  /**
   * The events of a request, at most.
   * @example 1
   */
  @ApiProperty({ type: 'integer', minimum: 1, maximum: MAX_BATCH })
  readonly batch!: number;

  /** The service disables an endpoint after 3 days of failures, or a 410. */
  @ApiProperty({ enum: ENDPOINT_STATUSES, enumName: 'WebhookEndpointStatus' })
  readonly status!: EndpointStatus;

  /**
   * The `sequence` of the last event that was accepted, or is of another type.
   * @example 4711
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  readonly cursor!: number;

  /**
   * The number of events after `cursor`, of any type.
   * @example 0
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  readonly behind!: number;

  /** The `timestamp` of the first of them. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly oldest_waiting_at!: Date | null;

  /**
   * Failed attempts since the last success.
   * @example 0
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  readonly failures!: number;

  /** When the event is sent again; null if nothing failed, or if the endpoint is disabled. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly next_attempt_at!: Date | null;

  /** Null if nothing was sent. */
  @ApiProperty({ type: WebhookAttemptDto, nullable: true })
  readonly last_attempt!: WebhookAttemptDto | null;

  readonly created_at!: Date;
}

/** A webhook endpoint with its new secret. */
@InOrder()
export class WebhookEndpointWithSecretDto extends WebhookEndpointDto {
  /**
   * The secret that signs (Standard Webhooks). Only this response has it.
   * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=
   */
  @ApiProperty({ type: String, pattern: '^whsec_[A-Za-z0-9+/]{43}=$' })
  readonly secret!: string;
}

/** A merchant's webhook endpoints. There is only one page. */
export class WebhookEndpointListDto {
  readonly data!: WebhookEndpointDto[];
}
