import { ApiProperty } from '@nestjs/swagger';
import { ByDto } from '../platform/http/by.dto.js';
import { PageOf } from '../platform/http/page-query.dto.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';

/** What a line of a timeline can say. Lines of one instant and one cause are in this order. */
export const TIMELINE_TYPES = [
  ...(['created', 'expired', 'completed', 'cancelled', 'redeem', 'earn', 'customer_changed', 'move_out'] as const),
  ...(['move_in', 'refunded', 'return', 'take_back', 'repay', 'debt', 'refund_voided', 'available'] as const),
  ...(['debit', 'expire'] as const),
] as const;
export type TimelineType = (typeof TIMELINE_TYPES)[number];

/** What happened to an order at an instant, or the cashback that it moved then. */
@InOrder()
export class TimelineLineDto {
  readonly at!: Date;

  @ApiProperty({
    enum: TIMELINE_TYPES,
    enumName: 'TimelineType',
    description:
      '`created`, `expired`, `completed`, `cancelled`, `customer_changed`, `refunded` and `refund_voided` happened to ' +
      'the order. `available`: the cashback that it earned became available. All others are kinds of ledger entries; ' +
      '`debit` and `expire` are of the cashback that it earned.',
    example: 'redeem',
  })
  readonly type!: TimelineType;

  /**
   * Of `completed`, the total; of `refunded` and `refund_voided`, the refunded part of it; otherwise the cashback,
   * signed as in the statement. Null if nothing moved.
   * @example "-20.00"
   */
  @ApiMoney({ signed: true, nullable: true })
  readonly amount!: string | null;

  /** Who did it; null for what a date does. */
  @ApiProperty({ type: ByDto, nullable: true })
  readonly by!: ByDto | null;

  /** Where it happened; null if that is not known, and for what a date does. */
  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;

  /** The refund that it belongs to, if any. */
  @ApiId({ nullable: true })
  readonly refund_id!: string | null;

  /** Your ID of that refund. */
  @ApiProperty({ type: String, nullable: true, example: 'DEV-1' })
  readonly refund_external_id!: string | null;

  /** Why, if the request said it: of `cancelled`, `customer_changed`, `refunded` and `refund_voided`. */
  @ApiProperty({ type: String, nullable: true, example: 'Defective' })
  readonly reason!: string | null;
}

/** A page of an order's timeline, oldest first. */
export class TimelinePageDto extends PageOf(TimelineLineDto) {}
