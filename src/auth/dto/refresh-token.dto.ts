import { IsNotEmpty, IsString } from 'class-validator';

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
