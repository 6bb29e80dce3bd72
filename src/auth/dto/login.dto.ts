import { IsEmail, IsNotEmpty, IsString } from 'class-validator';

/** Log-in of an API user. (Specification 2.1) */
export class LoginDto {
  /**
   * E-mail of the API user; upper and lower case are the same.
   * @example demo@example.com
   */
  @IsEmail({}, { message: 'must be an e-mail address such as "api@shop.example"' })
  readonly email!: string;

  /**
   * Password of the API user.
   * @example demo-password-2026
   */
  @IsNotEmpty({ message: 'must be the password, a string that is not empty' })
  @IsString({ message: 'must be the password, a string that is not empty' })
  readonly password!: string;
}
