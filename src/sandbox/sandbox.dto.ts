import { ApiProperty, PartialType, PickType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { UserWithPasswordDto } from '../auth/user.dto.js';
import { AcceptsRules, PolicyDto } from '../merchants/policy.dto.js';
import { IsDay, IsInstant, IsObjectOf, IsText } from '../platform/http/validators.js';
import { ApiId, InOrder } from '../platform/openapi/decorators.js';
import { type ClockTarget } from './clock-moves.service.js';

/** Rules that differ from the default ones. The members are those of `GET /policy`. */
@AcceptsRules()
@InOrder(PolicyDto)
export class SandboxPolicyDto extends PartialType(PolicyDto) {}

/** A merchant to create in the sandbox. */
export class CreateSandboxMerchantDto {
  /** @example "Loja da Ana" */
  @IsText('name', 200)
  readonly name!: string;

  /** What differs from the default rules. */
  @IsOptional()
  @IsObjectOf(() => SandboxPolicyDto)
  readonly policy?: SandboxPolicyDto;
}

/** An API user with all permissions. */
@InOrder(UserWithPasswordDto)
class SandboxUserDto extends PickType(UserWithPasswordDto, ['id', 'name', 'email', 'permissions', 'password']) {}

/** A new merchant of the sandbox, with an API user that has all permissions. */
@InOrder()
export class SandboxMerchantDto {
  @ApiId()
  readonly id!: string;

  /** @example "Loja da Ana" */
  readonly name!: string;

  readonly policy!: PolicyDto;

  /** Log in with its email and its password, which is only in this response. */
  readonly user!: SandboxUserDto;
}

/** Where to move the clock: one of both. */
export class MoveClockDto implements ClockTarget {
  /**
   * An instant.
   * @example "2026-12-03T12:00:00Z"
   */
  @IsOptional()
  @IsInstant()
  readonly now?: string;

  /** The beginning of this day in the merchant's time zone. */
  @IsOptional()
  @IsDay()
  readonly on?: string;
}

/** The merchant's time. */
@InOrder()
export class SandboxClockDto {
  /** The merchant's time now. */
  readonly now!: Date;

  /** Whether it stands still. It does after its first move. */
  readonly frozen!: boolean;

  /** Whether the last move is not done. Send it again. */
  readonly moving!: boolean;
}

/** A move of the clock. */
@InOrder()
export class ClockMoveDto {
  /** Where the clock is now. */
  readonly now!: Date;

  /** False if the time of this request was over first. Send the same request again, until it is true. */
  readonly done!: boolean;

  /**
   * The `sequence` of the first event of the move, also of its earlier requests. Null until it is done, and if there is
   * none.
   */
  @ApiProperty({ type: 'integer', nullable: true, example: 12 })
  readonly first_sequence!: number | null;

  /** The `sequence` of the last event of the move. Null until it is done, and if there is none. */
  @ApiProperty({ type: 'integer', nullable: true, example: 14 })
  readonly last_sequence!: number | null;
}
