import { IsEmail, IsNotEmpty, IsString } from 'class-validator';

/** The credentials of an API user. */
export class LoginDto {
  /**
   * Email of the API user, not case-sensitive.
   * @example demo@example.com
   */
  @IsEmail({}, { message: 'must be an email address such as "api@shop.example"' })
  readonly email!: string;

  /**
   * Password of the API user.
   * @example demo-password-2026
   */
  @IsNotEmpty({ message: 'must be a non-empty string' })
  @IsString({ message: 'must be a non-empty string' })
  readonly password!: string;
}
