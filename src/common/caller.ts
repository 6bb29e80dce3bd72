/** The authenticated client, as the JWT behind its access token says. */
export interface Caller {
  apiUserId: string;
  merchantId: string;
  sessionId: string;
}

/** What an API user can do only if the operator allows it. Everything else is the permission `orders` of every user. */
export const OPTIONAL_PERMISSIONS = ['grants'] as const;
export type OptionalPermission = (typeof OPTIONAL_PERMISSIONS)[number];
export type Permission = 'orders' | OptionalPermission;
