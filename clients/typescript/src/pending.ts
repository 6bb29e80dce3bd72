/** Operations that the service's document does not have yet. Those that it has replace these. */
import type { ExpiringReport, Permission } from './generated/types.gen.js';

export interface Me {
  user_id: string;
  name: string;
  email: string;
  permissions: Permission[];
  merchant: { id: string; name: string };
}

interface ById<Query> {
  path: { id: string };
  query?: Query;
  url: string;
}
type Pages = { 200: { data: unknown[]; next_cursor: string | null } };

export interface Pending {
  getMe: [{ url: '/me' }, { 200: Me }];
  getOrderTimeline: [ById<{ limit?: number; cursor?: string }>, Pages];
  getWalletExpiring: [ById<{ months?: number }>, { 200: ExpiringReport }];
  reportGrants: [{ query: { from: string; to: string }; url: string }, { 200: { data: unknown[] } }];
}

export const PENDING = {
  getMe: ['GET /me', 'call'],
  getOrderTimeline: ['GET /orders/{id}/timeline', 'list'],
  getWalletExpiring: ['GET /wallets/{id}/expiring', 'send'],
  reportGrants: ['GET /reports/grants', 'send'],
} as const;
