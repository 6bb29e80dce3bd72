/** Operations that the service's document does not have yet. Those that it has replace these. */
import type { Permission } from './generated/types.gen.js';

export interface Me {
  user_id: string;
  name: string;
  email: string;
  permissions: Permission[];
  merchant: { id: string; name: string };
}

type OfOrderOrWallet = { path: { id: string }; url: string };
type Rows = { 200: { data: unknown[] } };

export interface Pending {
  getMe: [{ url: '/me' }, { 200: Me }];
  getOrderTimeline: [OfOrderOrWallet, Rows];
  listWalletExpiring: [OfOrderOrWallet, Rows];
  reportGrants: [{ query?: { from?: string; to?: string }; url: string }, Rows];
}

export const PENDING = {
  getMe: ['GET /me', 'call'],
  getOrderTimeline: ['GET /orders/{id}/timeline', 'call'],
  listWalletExpiring: ['GET /wallets/{id}/expiring', 'call'],
  reportGrants: ['GET /reports/grants', 'send'],
} as const;
