import { type Fault, ORDER_OPERATIONS, type OrderOperation, Problem } from '../platform/values/problem.js';

/**
 * The statuses of an order. They are also in the check `ck_orders_status`, in the rules of `reconcile` and in the list
 * of customers.
 */
export const ORDER_STATUSES = [
  'pending',
  'completed',
  'cancelled',
  'expired',
  'partially_refunded',
  'refunded',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The statuses of orders that have been completed, refunded since or not. */
export const COMPLETED_STATUSES: readonly OrderStatus[] = ['completed', 'partially_refunded', 'refunded'];

/** What of an order decides what can be done with it. */
interface State {
  status: OrderStatus;
  totalCents: number;
  redeemedCents: number;
  customerChangedAt: Date | null;
}

interface Transition {
  from: readonly OrderStatus[];
  /** None if the order keeps its status. */
  to: readonly OrderStatus[];
  /** Why an order in another status is refused. */
  refusal: string;
  /** Why an order in one of these statuses is refused nevertheless. */
  refusalOf?: (order: State) => string | undefined;
}

/** What can happen to an order: the operations, what undoes a refund, and its expiry, which no request asks for. */
export const TRANSITIONS = {
  hold: { from: ['pending'], to: [], refusal: 'cashback can only be held while it is pending or expired' },
  renew: { from: ['expired'], to: ['pending'], refusal: 'only an expired order can be renewed' },
  amend: {
    from: ['pending'],
    to: [],
    refusal: 'only a pending order can be amended; renew an expired one first',
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
    refusalOf: ({ totalCents }) => (totalCents === 0 ? 'its total is 0.00, so there is nothing to refund' : undefined),
  },
  void_refund: {
    from: ['partially_refunded', 'refunded'],
    to: ['completed', 'partially_refunded'],
    refusal: 'only a refund of a completed order can be undone',
  },
  change_customer: {
    from: COMPLETED_STATUSES,
    to: [],
    refusal:
      'only the customer of a completed order is changed so; amend a pending order, and renew an expired one first',
    refusalOf: ({ redeemedCents, customerChangedAt }) => {
      if (redeemedCents > 0)
        return 'it redeemed cashback of its customer: only a full refund and a new order correct that';
      return customerChangedAt === null ? undefined : 'its customer was changed before, which is possible once';
    },
  },
  expire: { from: ['pending'], to: ['expired'], refusal: 'only a pending order expires' },
} as const satisfies Record<OrderOperation | 'void_refund' | 'expire', Transition>;

export type OrderTransition = keyof typeof TRANSITIONS;

/** The statuses that a transition leads to. */
export type StatusAfter<T extends OrderTransition> = (typeof TRANSITIONS)[T]['to'][number];

function refusalOf(order: State, transition: OrderTransition): string | undefined {
  const { from, refusal, refusalOf: otherRefusalOf }: Transition = TRANSITIONS[transition];
  return from.includes(order.status) ? otherRefusalOf?.(order) : refusal;
}

/** @throws Problem invalid_transition if the order does not allow it now. */
export function requireTransition(order: State, transition: OrderTransition): void {
  const refusal = refusalOf(order, transition);
  if (refusal !== undefined) throw invalidTransition(order, refusal);
}

/** Returns what can be done with an order now. */
export const operationsOf = (order: State): OrderOperation[] =>
  ORDER_OPERATIONS.filter((operation) => refusalOf(order, operation) === undefined);

/** Returns a 409 with the order's status, the statuses that it can go to, and what is possible now. */
export function invalidTransition(order: State, detail: string, errors?: Fault[]): Problem {
  const operations = operationsOf(order);
  const allowed = operations.flatMap((operation) => TRANSITIONS[operation].to);
  return new Problem('invalid_transition', {
    detail: `the order is ${order.status}: ${detail}`,
    current_status: order.status,
    allowed,
    operations,
    errors,
  });
}
