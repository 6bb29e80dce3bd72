import { cashbackToReceive, redeemableMaximum } from '../cashback/quote.js';
import { MINUTE_MS } from '../common/clock.js';
import { sumCents } from '../common/money.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import type { Finding } from './page.js';
import { creditHasDatesOfOrder, expiresWithinBounds, orderHasDatesOfPolicy } from './order-dates.js';
import type { OrderRecord } from './order-record.js';
import { eligiblePartFits, refundsAddUp, refundsMovedTheirParts, statusMatchesRefunds } from './order-refunds.js';

/** A rule of an order, and the figures to show if it is broken. */
interface OrderRule {
  invariant: string;
  figures: readonly (keyof OrderRecord)[];
  holds: (order: OrderRecord) => boolean;
}

const ORDER_RULES: OrderRule[] = [
  {
    invariant: 'an order belongs to an existing merchant',
    figures: ['merchant_id'],
    holds: ({ merchant_id: merchantId }) => merchantId !== null,
  },
  {
    invariant: 'only completed orders have completed_at, and only cancelled orders have cancelled_at',
    figures: ['completed_at', 'cancelled_at'],
    holds: (o) =>
      (o.completed_at !== null) === wasCompleted(o) && (o.cancelled_at !== null) === (o.status === 'cancelled'),
  },
  {
    invariant: 'an order expires within the bounds of its policy, and is completed or cancelled after its creation',
    figures: ['created_at', 'updated_at', 'expires_at', 'requested_expires_at', 'completed_at', 'cancelled_at'],
    holds: (o) =>
      expiresWithinBounds(o) &&
      [o.completed_at, o.cancelled_at].every((at) => at === null || +at >= +o.created_at - MINUTE_MS),
  },
  {
    invariant: 'the version of an order starts at 1, and only a changed order has a later one',
    figures: ['version', 'created_at', 'updated_at'],
    holds: (o) => (o.version === 1 ? +o.updated_at === +o.created_at : o.version > 1 && o.updated_at >= o.created_at),
  },
  {
    invariant: 'the payment methods add up to at most the total, and only a completed order has final ones',
    figures: ['total_cents', 'payment_methods', 'final_payment_methods'],
    holds: (o) =>
      [o.payment_methods, o.final_payment_methods ?? []].every(
        (methods) => sumCents(methods.map((method) => method.amountCents)) <= o.total_cents,
      ) &&
      (o.final_payment_methods === null || wasCompleted(o)),
  },
  {
    invariant: 'the eligible total is less than the total, or left out',
    figures: ['total_cents', 'eligible_total_cents'],
    holds: ({ eligible_total_cents: eligible, total_cents: total }) =>
      eligible === null || (eligible >= 0 && eligible < total),
  },
  {
    invariant: 'the status matches the refunded amount',
    figures: ['total_cents', 'refunded_cents'],
    holds: statusMatchesRefunds,
  },
  {
    invariant: 'an order redeems at most the amount that its policy allows, and nothing if it is cancelled or expired',
    figures: ['total_cents', 'eligible_total_cents', 'held_cents', 'redeemed_cents', 'lapsed_cents'],
    holds: (o) =>
      [o.held_cents, o.redeemed_cents, o.lapsed_cents].every((cents) => cents >= 0 && cents <= redeemableCents(o)),
  },
  {
    invariant: 'a completed order earned the amount of the formula, and all other orders earned nothing',
    figures: [
      'total_cents',
      'eligible_total_cents',
      'redeemed_cents',
      'earned_cents',
      'payment_methods',
      'final_payment_methods',
    ],
    holds: (o) => o.earned_cents === (wasCompleted(o) ? earnedCents(o) : 0),
  },
  {
    invariant: 'the eligible part of the refunds fits the order, and so does the other part',
    figures: ['total_cents', 'eligible_total_cents', 'refunded_cents', 'refunded_eligible_cents'],
    holds: eligiblePartFits,
  },
  {
    invariant: 'the refunds of an order returned and took back the amounts of the formulas',
    figures: [
      'total_cents',
      'eligible_total_cents',
      'redeemed_cents',
      'earned_cents',
      'refunded_cents',
      'refunded_eligible_cents',
      'returned_cents',
      'taken_back_cents',
    ],
    holds: refundsMovedTheirParts,
  },
  {
    invariant: 'a completed order has a wallet, and a credit of the earned amount in it if it earned anything',
    figures: ['earned_cents', 'wallet_id', 'credit_id', 'credit_wallet_id', 'credit_cents'],
    holds: (o) =>
      (o.credit_id === null
        ? o.earned_cents === 0
        : o.credit_cents === o.earned_cents && o.credit_wallet_id === o.wallet_id) &&
      (o.wallet_id !== null || !wasCompleted(o)),
  },
  {
    invariant: 'a completed order has the dates of its policy, and no other order has any',
    figures: ['completed_at', 'cashback_available_at', 'cashback_expires_at'],
    holds: orderHasDatesOfPolicy,
  },
  {
    invariant: 'a credit becomes available and expires at the dates of its order',
    figures: [
      'completed_at',
      'cashback_available_at',
      'cashback_expires_at',
      'credit_id',
      'credit_created_at',
      'credit_available_at',
      'credit_expires_at',
    ],
    holds: (o) => o.credit_id === null || creditHasDatesOfOrder(o),
  },
  {
    invariant: 'the amounts that an order redeemed, earned, returned and took back are the sums of its entries',
    figures: [
      'redeemed_cents',
      'redeem_entries',
      'earned_cents',
      'earn_entries',
      'returned_cents',
      'return_entries',
      'taken_back_cents',
      'take_back_entries',
    ],
    holds: (o) =>
      o.redeem_entries === o.redeemed_cents &&
      o.earn_entries === o.earned_cents &&
      o.return_entries === o.returned_cents &&
      o.take_back_entries === o.taken_back_cents,
  },
  {
    invariant: 'the refunded amount of an order is the sum of its refunds',
    figures: [
      'refunded_cents',
      'refunds_cents',
      'refunded_eligible_cents',
      'refunds_eligible_cents',
      'returned_cents',
      'refunds_returned_cents',
      'taken_back_cents',
      'refunds_taken_back_cents',
    ],
    holds: refundsAddUp,
  },
  {
    invariant: 'the redemption of a pending order is held, and no other order has a hold',
    figures: ['held_cents', 'holds_cents', 'lapsed_cents', 'redeemed_cents'],
    holds: (o) =>
      o.held_cents === o.holds_cents &&
      (o.held_cents === 0 || o.status === 'pending') &&
      (o.lapsed_cents === 0 || o.status === 'expired') &&
      (o.redeemed_cents === 0 || wasCompleted(o)),
  },
];

/** Returns the rules that an order breaks. A rule that throws an error counts as broken. */
export function* brokenRules(order: OrderRecord): Generator<Finding> {
  for (const { invariant, figures, holds } of ORDER_RULES) {
    let error: string | undefined;
    try {
      if (holds(order)) continue;
    } catch (thrown) {
      error = String(thrown);
    }
    yield {
      invariant,
      order_id: order.order_id,
      status: order.status,
      ...Object.fromEntries(figures.map((name) => [name, order[name]])),
      ...(error !== undefined && { error }),
    };
  }
}

function earnedCents(o: OrderRecord): number {
  const paid = {
    totalCents: o.total_cents,
    eligibleTotalCents: o.eligible_total_cents,
    redeemedCents: o.redeemed_cents,
    paymentMethods: o.final_payment_methods ?? o.payment_methods,
  };
  return cashbackToReceive(paid, o.policy);
}

/** The balance at that instant is unknown, but the other limits are known. */
function redeemableCents(o: OrderRecord): number {
  const totals = { totalCents: o.total_cents, eligibleTotalCents: o.eligible_total_cents };
  return redeemableMaximum(totals, o.total_cents, o.policy).maximumCents;
}

const wasCompleted = ({ status }: Pick<OrderRecord, 'status'>): boolean => COMPLETED_STATUSES.includes(status);
