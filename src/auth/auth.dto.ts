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

/** The refresh token to exchange for a new token set. */
export class RefreshTokenDto {
  /**
   * Refresh token of the current token set. It works once.
   * @example cbrt_5f0f4e9e-5b62-4f6e-9b54-2d1f8a3f7c11
   */
  @IsNotEmpty({ message: 'must be a refresh token, a string such as "cbrt_5f0f4e9e-…"' })
  @IsString({ message: 'must be a refresh token, a string such as "cbrt_5f0f4e9e-…"' })
  readonly refresh_token!: string;
}

/** A token set. Its tokens are opaque: a prefix and a UUID. */
export class ConfigurationUserTokensDto {
  /**
   * Access token for the API. Send it as `Authorization: Bearer …`.
   * @example cbat_0b8f3c52-7f0e-4d6a-8a5c-9d0a1e2b3c4d
   */
  readonly access_token!: string;

  /** The instant at which the access token expires. */
  readonly access_token_expire_at!: Date;

  /**
   * Token for `POST /auth/refresh`. It works once; the response contains the next one.
   * @example cbrt_5f0f4e9e-5b62-4f6e-9b54-2d1f8a3f7c11
   */
  readonly refresh_token!: string;
}
