import { after, MINUTE_MS } from '../common/clock.js';
import { type Fault, type OrderOperation, Problem, validationFailed } from '../common/problem.js';
import type { Policy } from '../merchants/policy.js';
import type { Order, OrderStatus } from './order.entity.js';

interface Transition {
  from: readonly OrderStatus[];
  to: readonly OrderStatus[];
  /** Why an order in another status is refused. */
  refusal: string;
}

/**
 * The operations on an order, with the statuses in which they are allowed and those that they lead to.
 */
const TRANSITIONS = {
  hold: { from: ['pending'], to: [], refusal: 'cashback can only be held while it is pending or expired' },
  renew: { from: ['expired'], to: ['pending'], refusal: 'only an expired order can be renewed' },
  amend: {
    from: ['pending'],
    to: [],
    refusal: 'only a pending order can be amended, or an expired one after it is renewed',
  },
  complete: {
    from: ['pending', 'expired'],
    to: ['completed'],
    refusal: 'only a pending or expired order can be completed',
  },
  cancel: {
    from: ['pending', 'expired'],
    to: ['cancelled'],
    refusal: 'only a pending or expired order can be cancelled',
  },
  refund: {
    from: ['completed', 'partially_refunded'],
    to: ['partially_refunded', 'refunded'],
    refusal: 'only a completed order that is not fully refunded can be refunded',
  },
} satisfies Record<OrderOperation, Transition>;

export function isOpen(order: Pick<Order, 'status'>): boolean {
  return order.status === 'pending' || order.status === 'expired';
}

/** The statuses of orders that have been completed, refunded since or not. */
export const COMPLETED_STATUSES: readonly OrderStatus[] = ['completed', 'partially_refunded', 'refunded'];

export function wasCompleted(order: Pick<Order, 'status'>): boolean {
  return COMPLETED_STATUSES.includes(order.status);
}

/** @throws Problem invalid_transition if the order's status does not allow the operation. */
export function requireTransition(order: Order, operation: OrderOperation): void {
  const { from, refusal }: Transition = TRANSITIONS[operation];
  if (!from.includes(order.status)) throw invalidTransition(order, refusal);
}

/**
 * Returns a 409 with the order's status, the statuses that it can change to, and the operations that are possible now.
 */
export function invalidTransition({ status }: Order, detail: string, errors?: Fault[]): Problem {
  return new Problem('invalid_transition', {
    detail: `the order is ${status}: ${detail}`,
    extensions: { current_status: status, ...whatIsAllowed(status) },
    ...(errors && { errors }),
  });
}

/** The statuses that an order can go to, and the operations that are possible now. */
function whatIsAllowed(status: OrderStatus): { allowed: OrderStatus[]; operations: string[] } {
  const transitions: [string, Transition][] = Object.entries(TRANSITIONS);
  const possible = transitions.filter(([, { from }]) => from.includes(status));
  return { allowed: possible.flatMap(([, { to }]) => to), operations: possible.map(([operation]) => operation) };
}

/** The shortest time for which an order can be quoted. */
const SHORTEST_LIFETIME_MINUTES = 1;

export function defaultExpiry(policy: Policy, now: Date): Date {
  return after(now, policy.orderTtlMinutes * MINUTE_MS);
}

export function expiryProblem(expiresAt: Date, { maxOrderTtlMinutes }: Policy, now: Date): Problem | undefined {
  const [first, last] = [after(now, SHORTEST_LIFETIME_MINUTES * MINUTE_MS), after(now, maxOrderTtlMinutes * MINUTE_MS)];
  if (expiresAt >= first && expiresAt <= last) return undefined;
  const bounds = `from ${first.toISOString()} to ${last.toISOString()}`;
  return validationFailed([
    {
      pointer: '/expires_at',
      detail: `must be from ${SHORTEST_LIFETIME_MINUTES} to ${maxOrderTtlMinutes} minutes in the future: ${bounds}`,
    },
  ]);
}
