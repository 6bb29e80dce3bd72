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
