import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { ByDto } from '../platform/http/by.dto.js';
import { CsvQueryDto, PageOf, ReportOf } from '../platform/http/page-query.dto.js';
import { IsDay, IsQueryInteger, IsQueryWord } from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';

export const LEDGER_BY = ['store', 'store_pair', 'day', 'month'] as const;
export type LedgerBy = (typeof LEDGER_BY)[number];

/** Days, at most 366 unless the report says otherwise. */
export class PeriodQueryDto extends CsvQueryDto {
  /**
   * The first day, in the merchant's time zone.
   * @example "2026-11-01"
   */
  @IsDay()
  readonly from!: string;

  /**
   * The day after the last one.
   * @example "2026-12-01"
   */
  @IsDay()
  readonly to!: string;
}

export class LedgerQueryDto extends PeriodQueryDto {
  /**
   * A row per `day` or `month`; per `store` that owes the cashback; or per `store_pair`, of the store that owes it and
   * the one where it happened. Default: one row.
   */
  @IsOptional()
  @IsQueryWord(LEDGER_BY)
  readonly by?: LedgerBy;
}

/** What the customers owned at the beginning and the end of a period, and why it changed. */
@InOrder()
export class LedgerRowDto {
  /** With `by=store` and `store_pair`: the store that owes it; null if that is not known, and for debts. */
  @ApiProperty({ type: String, nullable: true, required: false })
  readonly store?: string | null;

  /** With `by=store_pair`: where it happened; null for an expiry, and if that is not known. */
  @ApiProperty({ type: String, nullable: true, required: false })
  readonly in_store?: string | null;

  /** The first day. */
  @ApiProperty({ format: 'date' })
  readonly from!: string;

  /** The day after the last one. */
  @ApiProperty({ format: 'date' })
  readonly to!: string;

  /** Credits less debts at the beginning. */
  @ApiMoney({ signed: true })
  readonly opening!: string;

  @ApiMoney({ signed: true })
  readonly earned!: string;

  @ApiMoney({ signed: true })
  readonly granted!: string;

  @ApiMoney({ signed: true })
  readonly redeemed!: string;

  /** Returned by refunds. */
  @ApiMoney({ signed: true })
  readonly returned!: string;

  /** Taken back by refunds, also where it became a debt. In the row of a store, also what repaid a debt. */
  @ApiMoney({ signed: true })
  readonly taken_back!: string;

  @ApiMoney({ signed: true })
  readonly voided!: string;

  /** Taken by debits, less what their voids restored. */
  @ApiMoney({ signed: true })
  readonly debited!: string;

  @ApiMoney({ signed: true })
  readonly expired!: string;

  /** `opening + earned + granted − redeemed + returned − taken_back − voided − debited − expired`. */
  @ApiMoney({ signed: true })
  readonly closing!: string;

  /** The debt that `closing` is reduced by. */
  @ApiMoney({ signed: true })
  readonly closing_debt!: string;

  /** Whether the row is final: nothing can be added to the period any more. */
  readonly closed!: boolean;

  /** The orders that were completed and had been sold before they arrived. Not in rows of `by=store_pair`. */
  @ApiProperty({ type: 'integer', required: false })
  readonly late?: number;
}

export class LedgerReportDto extends ReportOf(LedgerRowDto) {
  /** The whole period and all stores. */
  readonly total!: LedgerRowDto;
}

export const SALES_BY = ['day', 'month', 'store', 'user', 'campaign'] as const;
export type SalesBy = (typeof SALES_BY)[number];

export class SalesQueryDto extends PeriodQueryDto {
  /** A row per `day`, `month`, `store`, `user` or `campaign`. Default: one row. */
  @IsOptional()
  @IsQueryWord(SALES_BY)
  readonly by?: SalesBy;
}

/** What was sold and refunded, and the cashback of it. */
@InOrder()
export class SalesRowDto {
  /** With `by=store`: where it was sold, or refunded; null if that is not known. */
  @ApiProperty({ type: String, nullable: true, required: false })
  readonly store?: string | null;

  /** With `by=user`: who completed the orders, and who made the refunds. */
  @ApiProperty({ type: ByDto, required: false })
  readonly by?: ByDto;

  /** With `by=campaign`: the campaign of the orders; null for those without one. */
  @ApiId({ nullable: true, required: false })
  readonly campaign_id?: string | null;

  /** The first day. */
  @ApiProperty({ format: 'date' })
  readonly from!: string;

  /** The day after the last one. */
  @ApiProperty({ format: 'date' })
  readonly to!: string;

  /** The number of orders that were completed. */
  @ApiProperty({ type: 'integer' })
  readonly orders!: number;

  /** Those of the orders that had been sold before they arrived. */
  @ApiProperty({ type: 'integer' })
  readonly late!: number;

  /** The sum of the totals of the orders. */
  @ApiMoney()
  readonly total!: string;

  /** The sum of their eligible totals. */
  @ApiMoney()
  readonly eligible_total!: string;

  /** The totals less the redeemed cashback. */
  @ApiMoney()
  readonly paid!: string;

  /** The cashback that the orders earned. */
  @ApiMoney()
  readonly earned!: string;

  /** The cashback that was redeemed with them. */
  @ApiMoney()
  readonly redeemed!: string;

  /** The number of refunds that were made, less those that were undone. */
  @ApiProperty({ type: 'integer' })
  readonly refunds!: number;

  /** The sum of their amounts. What was undone counts on its own day, so this and the following can be negative. */
  @ApiMoney({ signed: true })
  readonly refunded!: string;

  /** The earned cashback that refunds took back. */
  @ApiMoney({ signed: true })
  readonly taken_back!: string;

  /** The redeemed cashback that refunds returned. */
  @ApiMoney({ signed: true })
  readonly returned!: string;
}

export class SalesReportDto extends ReportOf(SalesRowDto) {
  /** The whole period. */
  readonly total!: SalesRowDto;
}

export class OutstandingQueryDto extends CsvQueryDto {
  /** A day that is over, for what the merchant owed at its end. Default: now. */
  @IsOptional()
  @IsDay()
  readonly as_of?: string;

  /** `store`: a row per store that owes the cashback. Default: one row. */
  @IsOptional()
  @IsQueryWord(['store'])
  readonly by?: 'store';
}

/** What a merchant owes its customers. Only `balance` and `debt` are known of a past day. */
@InOrder()
export class OutstandingRowDto {
  /** With `by=store`: the store that owes it; null if that is not known, and for debts. */
  @ApiProperty({ type: String, nullable: true, required: false })
  readonly store?: string | null;

  /** What customers own: available, pending and held, and what has expired and is not yet written off. */
  @ApiMoney({ signed: true })
  readonly balance!: string;

  /** What customers owe after refunds. */
  @ApiMoney({ signed: true })
  readonly debt!: string;

  /** Null like `pending`, `held` and `expiring_in_30_days` if the merchant has more than 300,000 open credits. */
  @ApiMoney({ required: false, nullable: true })
  readonly available?: string | null;

  @ApiMoney({ required: false, nullable: true })
  readonly pending?: string | null;

  @ApiMoney({ required: false, nullable: true })
  readonly held?: string | null;

  /** The part of the available and pending cashback that expires within 30 days if nobody spends it. */
  @ApiMoney({ required: false, nullable: true })
  readonly expiring_in_30_days?: string | null;
}

export class OutstandingReportDto {
  static readonly row = OutstandingRowDto;

  /** The instant of the amounts: now, or the end of the day. */
  readonly as_of!: Date;

  readonly data!: OutstandingRowDto[];

  readonly total!: OutstandingRowDto;
}

export class ExpiringQueryDto extends CsvQueryDto {
  /** The number of months, 1 to 120. Default: 12. */
  @IsOptional()
  @IsQueryInteger(1, 120)
  readonly months: number = 12;
}

export class FrequentQueryDto extends PeriodQueryDto {
  /** The number of orders in a day from which a customer is listed, 2 to 1000. Default: 3. */
  @IsOptional()
  @IsQueryInteger(2, 1000)
  readonly at_least: number = 3;

  /** The `next_cursor` of the previous page. */
  @IsOptional()
  @IsString({ message: 'must be the next_cursor of an earlier page of this list' })
  readonly cursor?: string;
}

class OrdersByDto extends ByDto {
  /** How many of the orders the user completed. */
  @ApiProperty({ type: 'integer' })
  readonly orders!: number;
}

/** A customer with many orders that were completed on one day. */
@InOrder()
export class FrequentRowDto {
  @ApiProperty({ format: 'date' })
  readonly day!: string;

  readonly document!: string;

  /** The number of orders that were completed on this day. */
  @ApiProperty({ type: 'integer' })
  readonly orders!: number;

  /** The sum of their totals. */
  @ApiMoney()
  readonly total!: string;

  /** The users that completed them, most orders first. */
  readonly completed_by!: OrdersByDto[];
}

export class FrequentReportDto extends PageOf(
  FrequentRowDto,
  'The `cursor` for the following days; null if all days are read. A page has the days that are read in two seconds.',
) {}

/** The grants of a user with the same reason, and their voids. */
@InOrder()
export class GrantsRowDto {
  /** Who granted them. */
  readonly by!: ByDto;

  /** @example Late delivery */
  @ApiProperty({ type: String, nullable: true })
  readonly reason!: string | null;

  /** The number of grants. */
  @ApiProperty({ type: 'integer' })
  readonly grants!: number;

  /** The sum of what was granted. */
  @ApiMoney()
  readonly amount!: string;

  /** What was voided in the period of what the user granted for this reason, at any time. */
  @ApiMoney()
  readonly voided!: string;
}

class GrantsTotalDto extends OmitType(GrantsRowDto, ['by', 'reason']) {}

export class GrantsReportDto extends ReportOf(GrantsRowDto) {
  /** All grants and voids of the period. */
  readonly total!: GrantsTotalDto;
}

export class TopQueryDto extends PeriodQueryDto {
  /** Maximum number of customers, 1 to 1000. Default: 100. */
  @IsOptional()
  @IsQueryInteger(1, 1000)
  readonly limit: number = 100;
}

/** A customer with the orders that were completed in a period, and what happened to these orders since. */
@InOrder()
export class TopRowDto {
  readonly document!: string;

  /** The number of orders. */
  @ApiProperty({ type: 'integer' })
  readonly orders!: number;

  /** The sum of their totals. */
  @ApiMoney()
  readonly total!: string;

  /** What was refunded of these totals. */
  @ApiMoney()
  readonly refunded!: string;

  /** The cashback that they redeemed, less what refunds returned. */
  @ApiMoney()
  readonly redeemed!: string;

  /** The cashback that they earned, less what refunds took back. */
  @ApiMoney()
  readonly earned!: string;
}

export class TopReportDto extends ReportOf(TopRowDto) {}
