import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { ReportOf } from '../platform/http/page-query.dto.js';
import { IsQueryInteger } from '../platform/http/validators.js';
import { ApiMoney, InOrder } from '../platform/openapi/decorators.js';

export class WalletExpiringQueryDto {
  /** The number of months, 1 to 120. Default: 12. */
  @IsOptional()
  @IsQueryInteger(1, 120)
  readonly months: number = 12;
}

/** What expires in a month if nobody spends it. */
@InOrder()
export class ExpiringRowDto {
  @ApiProperty({ example: '2026-11' })
  readonly month!: string;

  /** Null like `held` if the merchant has more than 300,000 open credits. Of one wallet, it is always known. */
  @ApiMoney({ nullable: true })
  readonly expiring!: string | null;

  /** The part that orders hold. */
  @ApiMoney({ nullable: true })
  readonly held!: string | null;
}

export class ExpiringReportDto extends ReportOf(ExpiringRowDto) {}
