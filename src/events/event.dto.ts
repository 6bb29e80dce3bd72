import { type Type } from '@nestjs/common';
import { ApiProperty, OmitType, PickType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { DebitDto } from '../cashback/debit.dto.js';
import { GrantDto } from '../cashback/grant.dto.js';
import { WalletDto } from '../cashback/wallet.dto.js';
import { OrderDto, ToReceiveDto, ToRedeemDto } from '../orders/order.dto.js';
import { RefundDto } from '../orders/refund.dto.js';
import { ByDto } from '../platform/http/by.dto.js';
import { IsInstant, IsQueryInteger, IsQueryWords } from '../platform/http/validators.js';
import { ApiId, ApiMoney, DataOfTypes, InOrder } from '../platform/openapi/decorators.js';
import { FEED_EVENT_TYPES, type FeedEventType } from '../platform/values/domain-event.js';

/** The events to return. At most one of `after`, `from` and `last` says where to start. */
export class ListEventsDto {
  /** Only events after this `sequence`. Default: 0, the beginning. */
  @IsOptional()
  @IsQueryInteger(0, 999_999_999_999_999)
  readonly after?: number;

  /** Start with the first event whose `timestamp` is this instant or later; with the oldest that is kept, at least. */
  @IsOptional()
  @IsInstant()
  readonly from?: string;

  /** Start so that this number of events is left, 1 to 100. With `types`, those of the latest 2,000 events count. */
  @IsOptional()
  @IsQueryInteger(1, 100)
  readonly last?: number;

  /** One or more types, separated by commas. Default: all. */
  @IsOptional()
  @IsQueryWords(FEED_EVENT_TYPES)
  readonly types?: FeedEventType[];

  /**
   * Maximum number of events, 1 to 100. Default: 100.
   * @example 100
   */
  @IsOptional()
  @IsQueryInteger(1, 100)
  readonly limit: number = 100;
}

class CreatedToRedeemDto extends OmitType(ToRedeemDto, ['available', 'maximum', 'limited_by']) {}

class CreatedCashbackDto {
  readonly to_redeem!: CreatedToRedeemDto;
  readonly to_receive!: ToReceiveDto;
}

/** A new order, without what depends on the customer's balance. Its items and metadata are the current ones. */
@InOrder(OrderDto)
class CreatedOrderDto extends OmitType(OrderDto, ['cashback']) {
  readonly cashback!: CreatedCashbackDto;
}

const GRANT = [
  'id',
  'external_id',
  'store',
  'amount',
  'available_at',
  'available_on',
  'expires_at',
  'expires_on',
  'reason',
  'metadata',
] as const;

/** The grant of an event, with its current reason and metadata. */
@InOrder(...GRANT)
class EventGrantDto extends PickType(GrantDto, GRANT) {}

const DEBIT = ['id', 'external_id', 'store', 'amount', 'reason', 'metadata'] as const;

/** The debit of an event, with its current reason and metadata. */
@InOrder(...DEBIT)
class EventDebitDto extends PickType(DebitDto, DEBIT) {}

/** The refund of an event, with its current reason and metadata. */
@InOrder(RefundDto)
export class EventRefundDto extends OmitType(RefundDto, ['voidable']) {}

/** The customer's wallet as it was then. */
@InOrder('id', 'document', 'available', 'pending', 'held', 'debt', 'frozen')
export class EventWalletDto extends PickType(WalletDto, ['available', 'pending', 'held', 'debt', 'frozen']) {
  @ApiId()
  readonly id!: string;

  /**
   * The customer's taxpayer number. An erased customer has a pseudonym, in earlier events too.
   * @example "52998224725"
   */
  readonly document!: string;
}

class OfWallet {
  readonly wallet!: EventWalletDto;
}

class AmountData extends OfWallet {
  /**
   * The amount that was granted, voided, debited or restored, or the sum of what became available, expired, or
   * expires on that day.
   * @example "80.00"
   */
  @ApiMoney()
  readonly amount!: string;
}

/** The new order. */
class OrderCreatedData {
  readonly order!: CreatedOrderDto;
}

/** The order in the version that the event is about. Its items and metadata are the current ones. */
@InOrder('order')
class OrderChangedData extends OfWallet {
  readonly order!: OrderDto;
}

/** The order after the refund, or after it was undone. */
@InOrder('order', 'refund')
export class OrderRefundedData extends OfWallet {
  readonly order!: OrderDto;
  readonly refund!: EventRefundDto;
}

/** The order with its new customer, and the wallet of the customer before. */
@InOrder('order')
export class CustomerChangedData extends OfWallet {
  readonly order!: OrderDto;
  readonly previous_wallet!: EventWalletDto;
}

@InOrder('amount', 'grant')
export class GrantData extends AmountData {
  readonly grant!: EventGrantDto;
}

@InOrder('amount', 'debit')
export class DebitData extends AmountData {
  readonly debit!: EventDebitDto;
}

/** The wallet after it was frozen or unfrozen. */
class FreezeData extends OfWallet {}

@InOrder('amount', 'available_at', 'available_on')
export class CashbackAvailableData extends AmountData {
  /** Since when it can be spent. */
  readonly available_at!: Date;

  /**
   * The first day on which it can be spent, in the merchant's time zone.
   * @example "2026-11-28"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly available_on!: string;
}

@InOrder('amount', 'expires_at', 'expires_on')
export class CashbackExpiringData extends AmountData {
  readonly expires_at!: Date;

  /**
   * The last day on which it can be spent, in the merchant's time zone.
   * @example "2026-11-30"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly expires_on!: string;
}

@InOrder('amount')
class CashbackExpiredData extends AmountData {}

@InOrder('change')
export class DebtChangedData extends OfWallet {
  /**
   * By how much the debt grew; negative if it was repaid.
   * @example "12.00"
   */
  @ApiMoney({ signed: true })
  readonly change!: string;
}

/** What the data of each type of event is. */
const EVENT_DATA = {
  'order.created': OrderCreatedData,
  'order.amended': OrderChangedData,
  'order.redemption_held': OrderChangedData,
  'order.redemption_released': OrderChangedData,
  'order.renewed': OrderChangedData,
  'order.expired': OrderChangedData,
  'order.completed': OrderChangedData,
  'order.cancelled': OrderChangedData,
  'order.refunded': OrderRefundedData,
  'order.refund_voided': OrderRefundedData,
  'order.customer_changed': CustomerChangedData,
  'cashback.granted': GrantData,
  'cashback.voided': GrantData,
  'cashback.debited': DebitData,
  'cashback.debit_voided': DebitData,
  'cashback.available': CashbackAvailableData,
  'cashback.expiring': CashbackExpiringData,
  'cashback.expired': CashbackExpiredData,
  'wallet.debt_changed': DebtChangedData,
  'wallet.frozen': FreezeData,
  'wallet.unfrozen': FreezeData,
} as const satisfies Record<FeedEventType, Type>;

export type EventData = InstanceType<(typeof EVENT_DATA)[FeedEventType]>;

/** A change of an order or of a customer's cashback. Its `type` says which `data` it has. */
@InOrder()
@DataOfTypes(EVENT_DATA)
export class EventDto {
  /**
   * The same in the feed and in each delivery of a webhook.
   * @example evt_0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10
   */
  @ApiProperty({ type: String, pattern: '^evt_[0-9a-f-]{36}$' })
  readonly id!: string;

  @ApiProperty({ enum: FEED_EVENT_TYPES, enumName: 'EventType', example: 'order.completed' })
  readonly type!: FeedEventType;

  /**
   * The number in the merchant's feed: from 1, without gaps.
   * @example 4711
   */
  @ApiProperty({ type: 'integer', minimum: 1 })
  readonly sequence!: number;

  /**
   * When it happened.
   * @example 2026-11-20T13:45:00.000Z
   */
  readonly timestamp!: Date;

  /** Who did it; null for what a date does. */
  @ApiProperty({ type: ByDto, nullable: true })
  readonly by!: ByDto | null;

  @ApiProperty({ type: Object })
  readonly data!: EventData;
}

/** A page of the feed, in the order of `sequence`. */
@InOrder()
export class EventPageDto {
  readonly data!: EventDto[];

  /**
   * The `after` of the next request. Store it when you have processed this page.
   * @example 4711
   */
  @ApiProperty({ type: 'integer', minimum: 0 })
  readonly next_after!: number;

  /** Whether to read on at once. With `types`, a page can have few or no events although there are more. */
  readonly has_more!: boolean;
}
