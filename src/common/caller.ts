/** Who sent a request, as the JWT behind its access token says. */
export interface Caller {
  apiUserId: string;
  merchantId: string;
  /** The token set's ID, the `jti`. */
  tokenSetId: string;
}
