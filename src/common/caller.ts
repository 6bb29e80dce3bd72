/** The authenticated client, as the JWT behind its access token says. */
export interface Caller {
  apiUserId: string;
  merchantId: string;
  sessionId: string;
}
