import { lookOf } from './texts.js';

/** The authenticated client, as the JWT behind its access token says. */
export interface Caller {
  apiUserId: string;
  merchantId: string;
  sessionId: string;
  /** What its API user may do now. */
  permissions: readonly Permission[];
}

/** What API users may do (docs/roles.md). To read one order, refund, grant or wallet, none is needed. */
export const PERMISSIONS = [
  'sell',
  'refund',
  'customers',
  'grants',
  'debits',
  'late_sales',
  'rules',
  'events',
  'reports',
  'privacy',
  'users',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What a new API user may do, unless its creation says otherwise: what a till needs. */
export const DEFAULT_PERMISSIONS: readonly Permission[] = ['sell', 'refund'];

/** Who makes a change: the ID of an API user, the operator with the command line, or null for a date. */
export type By = string | null;
export const OPERATOR = 'operator';

/** No API user has this name. */
export const isOperatorName = (name: unknown): boolean => lookOf(String(name)).replaceAll(' ', '') === OPERATOR;
