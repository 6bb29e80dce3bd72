import { ApiProperty, PickType } from '@nestjs/swagger';
import { IsBoolean, IsEmail, IsNotEmpty, IsString } from 'class-validator';
import { PageOf } from '../platform/http/page-query.dto.js';
import { IsText, IsWordList, rule } from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { isOperatorName, type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { passwordFault } from './passwords.js';

/** An API user to create. */
@InOrder()
export class CreateUserDto {
  /**
   * What your staff call it, such as a till or a system. Not `operator`, which is who uses the command line.
   * @example "Caixa 3"
   */
  @IsText('name', 100)
  @rule('isNotOperator', (name) => (isOperatorName(name) ? 'must not be the name of the operator' : undefined))
  readonly name!: string;

  /**
   * Email with which it logs in, not case-sensitive. No other user of the service has it.
   * @example caixa-3@shop.example
   */
  @IsEmail({}, { message: 'must be an email address such as "api@shop.example"' })
  readonly email!: string;

  /** What it may do. You cannot give a permission that you do not have. */
  @IsWordList(PERMISSIONS, 'Permission')
  @ApiProperty({ example: ['sell', 'refund'] })
  readonly permissions!: Permission[];
}

/** What an API user becomes. */
export class ChangeUserDto extends PickType(CreateUserDto, ['name', 'permissions']) {
  /** A disabled user cannot log in. Disabling it ends its sessions immediately. */
  @IsBoolean({ message: 'must be true or false' })
  @ApiProperty({ example: false })
  readonly disabled!: boolean;
}

/** An API user of the merchant. */
@InOrder()
export class UserDto {
  /** UUID v7. */
  @ApiId()
  readonly id!: string;

  /** @example "Caixa 3" */
  readonly name!: string;

  /** @example caixa-3@shop.example */
  readonly email!: string;

  @ApiProperty({ enum: PERMISSIONS, enumName: 'Permission', isArray: true, example: ['sell', 'refund'] })
  readonly permissions!: Permission[];

  /** @example false */
  readonly disabled!: boolean;

  readonly created_at!: Date;

  /** Null if it never logged in. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly last_login_at!: Date | null;

  /** Until when it cannot log in from a network, after too many failed logins; null if no network is locked out. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly locked_out_until!: Date | null;

  /**
   * Number of its open sessions: one per login, until it logs out or the session expires.
   * @example 1
   */
  @ApiProperty({ type: 'integer' })
  readonly sessions!: number;
}

/** An API user with its new password, which is only in this response. */
@InOrder()
export class UserWithPasswordDto extends UserDto {
  /** @example 5vQ0c8YkqHn2vVd0m4m1hZ1n3b0S7o2t */
  readonly password!: string;
}

class MerchantDto {
  @ApiId()
  readonly id!: string;

  /** @example "Loja da Ana" */
  @ApiProperty({ maxLength: 200 })
  readonly name!: string;
}

/** The API user of an access token, and its merchant. */
@InOrder()
export class MeDto {
  @ApiId()
  readonly user_id!: string;

  /** @example "Caixa 3" */
  readonly name!: string;

  /** @example caixa-3@shop.example */
  readonly email!: string;

  /** What it may do now; it can be empty. */
  @ApiProperty({ enum: PERMISSIONS, enumName: 'Permission', isArray: true, example: ['sell', 'refund'] })
  readonly permissions!: Permission[];

  /**
   * What it can still grant today, in BRL: the rest of the policy's `grant_daily_maximum`, or less if all users of the
   * merchant have granted almost four times as much. Null without the permission `grants`.
   * @example "5000.00"
   */
  @ApiMoney({ nullable: true })
  readonly grants_left_today!: string | null;

  readonly merchant!: MerchantDto;
}

/** A page of the merchant's API users, oldest first. */
export class UserPageDto extends PageOf(UserDto) {}

/** A change of the caller's own password. */
export class ChangePasswordDto {
  /** @example demo-password-2026 */
  @IsNotEmpty({ message: 'must be a non-empty string' })
  @IsString({ message: 'must be a non-empty string' })
  readonly current_password!: string;

  /**
   * At least 12 and at most 72 bytes in UTF-8, and not one of the most common passwords.
   * @example another-password-2026
   */
  @rule('isPassword', passwordFault)
  readonly new_password!: string;
}
