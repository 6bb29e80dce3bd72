import { ApiProperty } from '@nestjs/swagger';
import { InOrder } from '../../openapi/decorators.js';

/** The outcome of an attempt to send an event. */
@InOrder()
export class WebhookAttemptDto {
  @ApiProperty({ type: String, format: 'date-time' })
  readonly at!: string;

  /** The event; null if it is no longer kept. */
  @ApiProperty({
    ...{ type: String, pattern: '^evt_[0-9a-f-]{36}$', nullable: true },
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
