/** The authenticated client, as the JWT behind its access token says. */
export interface Caller {
  apiUserId: string;
  merchantId: string;
  /** The `jti` of the JWT. */
  tokenSetId: string;
}

/** Whether the client of a request no longer waits: it has disconnected, or has been answered. */
export type IsAnswered = () => boolean;
