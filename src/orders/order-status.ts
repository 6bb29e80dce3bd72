import { type Fault, Problem } from '../common/problem.js';
import type { Order, StoredStatus } from './order.entity.js';

/** The statuses a caller sees. `expired` is computed on every read: no job has to run for it to be true. */
export const ORDER_STATUSES = [
  'pending',
  'completed',
  'cancelled',
  'expired',
  'partially_refunded',
  'refunded',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Where each status can go. */
const TRANSITIONS: Record<OrderStatus, readonly StoredStatus[]> = {
  pending: ['completed', 'cancelled'],
  expired: ['completed', 'cancelled'],
  completed: ['partially_refunded', 'refunded'],
  partially_refunded: ['partially_refunded', 'refunded'],
  refunded: [],
  cancelled: [],
};

export function statusOf(order: Pick<Order, 'status' | 'expiresAt'>, now: Date): OrderStatus {
  return order.status === 'pending' && order.expiresAt <= now ? 'expired' : order.status;
}

/** Whether the order can still be finished. */
export function isOpen(order: Pick<Order, 'status'>): boolean {
  return order.status === 'pending';
}

/** Whether the order has been completed, refunded since or not. */
export function wasCompleted(order: Pick<Order, 'completedAt'>): boolean {
  return order.completedAt !== null;
}

/** A 409 that says where the order stands and where it can go from there. */
export function invalidTransition(order: Order, now: Date, detail: string, errors?: Fault[]): Problem {
  const status = statusOf(order, now);
  return new Problem('invalid_transition', {
    detail: `the order is ${status}: ${detail}`,
    extensions: { current_status: status, allowed: TRANSITIONS[status] },
    ...(errors && { errors }),
  });
}
