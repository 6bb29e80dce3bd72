import { ApiProperty, PartialType, PickType } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { CreateUserDto } from '../auth/user.dto.js';
import { AcceptsRules, PolicyDto, toPolicyDto } from '../merchants/policy.dto.js';
import { OPERATOR_RULES } from '../merchants/policy.js';
import { type Merchant } from '../merchants/merchant.entity.js';
import { IsInstant, IsQueryInteger, IsText, IsWholeNumber, IsWordList } from '../platform/http/validators.js';
import { InOrder } from '../platform/openapi/decorators.js';
import { type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { memberOf } from '../platform/values/names.js';

/** Requests of the operations that only the command line has. */

/** A merchant to create, and the rules that differ from the default ones. */
@AcceptsRules()
@InOrder('name', PolicyDto)
export class CreateMerchantDto extends PartialType(PolicyDto) {
  /**
   * What staff call it, at most 200 characters.
   * @example "Loja da Ana"
   */
  @IsText('name', 200)
  readonly name!: string;
}

/** What to change of a merchant that its own users cannot change. */
@AcceptsRules(OPERATOR_RULES)
@InOrder('name', PolicyDto, 'reason')
export class ChangeMerchantDto extends PartialType(
  PickType(
    PolicyDto,
    OPERATOR_RULES.map(([name]) => memberOf(name)),
  ),
) {
  /**
   * What staff call it, at most 200 characters.
   * @example "Loja da Ana"
   */
  @IsOptional()
  @IsText('name', 200)
  readonly name?: string;

  /**
   * Why, for the history of the rules: at most 500 characters.
   * @example "Sells on a market"
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;
}

/** What to change of an API user. */
@InOrder('name', 'disabled', 'allow', 'deny')
export class EditUserDto extends PartialType(PickType(CreateUserDto, ['name'])) {
  /** A disabled user cannot log in. Disabling it ends its sessions immediately. */
  @IsOptional()
  @IsBoolean({ message: 'must be true or false' })
  @ApiProperty({ example: true })
  readonly disabled?: boolean;

  /** Permissions to add. */
  @IsOptional()
  @IsWordList(PERMISSIONS, 'Permission')
  @ApiProperty({ example: ['grants'] })
  readonly allow?: Permission[];

  /** Permissions to withdraw. */
  @IsOptional()
  @IsWordList(PERMISSIONS, 'Permission')
  @ApiProperty({ example: ['refund'] })
  readonly deny?: Permission[];
}

/** How much of a record to show. */
export class RowsDto {
  /** The maximum number of rows of each list that is shown, 1 to 10,000. Default: 100. */
  @IsOptional()
  @IsQueryInteger(1, 10_000)
  readonly limit?: number;
}

/** From when on to show what a user did. */
export class UserWorkDto extends RowsDto {
  /**
   * The first instant.
   * @example "2026-11-20T14:30:00-03:00"
   */
  @IsInstant()
  readonly since!: string;
}

/** From when on to void a user's grants. */
export class VoidUserGrantsDto extends UserWorkDto {
  /**
   * For your records: at most 500 characters. Do not write names or addresses.
   * @example Stolen token
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;
}

/** Which sessions to delete. */
export class PruneSessionsDto {
  /**
   * Sessions that expired, were revoked, or could no longer be refreshed at least this many days ago. Until then they
   * are kept to investigate a theft of tokens, which may be noticed weeks later. Default: 30.
   */
  @IsOptional()
  @IsWholeNumber(1, 3650)
  readonly ended_days?: number;
}

/** A merchant, as the operator sees it. */
export type MerchantView = ReturnType<typeof toMerchantDto>;

export const toMerchantDto = ({ id, name, policy, createdAt: created_at }: Merchant) => {
  return { id, name, created_at, policy: toPolicyDto(policy) };
};
