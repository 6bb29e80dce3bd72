import type { RedeemableMaximum } from '../cashback/quote.js';
import { differences } from '../cashback/replay.js';
import { formatMoney } from '../platform/values/money.js';
import { Problem } from '../platform/values/problem.js';
import { type Completion, type OrderPaymentMethod, type Origin, paymentMethodsOf } from './order-content.js';
import { invalidTransition, type OrderStatus } from './order-transitions.js';

// Why an order refuses what a request asks for.

/** What of an `Order` decides it. */
interface RefusedOrder {
  status: OrderStatus;
  totalCents: number;
  version: number;
  lapsedCents: number;
  redeemedCents: number;
  completedVersion: number | null;
  customerChangedAt: Date | null;
  effectivePaymentMethods: OrderPaymentMethod[];
}

/** @throws Problem precondition_failed. */
export function requireVersion({ version }: RefusedOrder, { versions }: Origin): void {
  if (versions === undefined || versions.includes(String(version))) return;
  throw new Problem('precondition_failed', {
    detail: `the order is at version ${version}: If-Match does not name "${version}" (a weak tag never matches)`,
  });
}

/** @throws Problem redemption_lapsed if it is not known whether the customer still counts on what the order held. */
export function refuseLapsed({ lapsedCents }: RefusedOrder, { maximumCents }: RedeemableMaximum): void {
  if (lapsedCents === 0) return;
  const [lapsed, maximum] = [formatMoney(lapsedCents), formatMoney(maximumCents)];
  throw new Problem('redemption_lapsed', { lapsed, maximum });
}

/**
 * Completing with a smaller `redeem` can leave a gap: the customer was charged for the larger one.
 *
 * @throws Problem redemption_exceeds_maximum, or redemption_no_longer_available if the hold lapsed and another order
 *   used the balance: before that, a smaller amount would not have been refused.
 */
export function refuseUncovered(
  { status, lapsedCents }: RefusedOrder,
  { maximumCents, limitedBy: limited_by }: RedeemableMaximum,
  redeemedCents: number,
): void {
  if (redeemedCents <= maximumCents) return;
  const maximum = formatMoney(maximumCents);
  const errors = [{ pointer: '/redeem', detail: `must be at most ${maximum}` }];
  const detail = `at most ${maximum} can be redeemed on this order now: if the customer was charged less, first decide who pays the difference`;
  // What it held was not below the minimum, so that is the balance, too.
  const isBalance =
    limited_by === 'balance' || limited_by === 'frozen' || (limited_by === 'redeem_minimum' && lapsedCents > 0);
  const isLate = status === 'expired' && isBalance;
  const code = isLate ? 'redemption_no_longer_available' : 'redemption_exceeds_maximum';
  throw new Problem(code, { maximum, limited_by, errors, detail });
}

/**
 * A repeat has the same values and names the version that was completed. With another version it is another request,
 * perhaps for a second charge.
 */
export function refuseOtherCompletion(
  order: RefusedOrder,
  { redeemCents, paymentMethods }: Completion,
  { versions }: Origin,
): void {
  const { completedVersion, redeemedCents, effectivePaymentMethods } = order;
  const sent = {
    redeem: redeemCents ?? redeemedCents,
    payment_methods: paymentMethodsOf(paymentMethods ?? effectivePaymentMethods),
  };
  const earlier = { redeem: redeemedCents, payment_methods: paymentMethodsOf(effectivePaymentMethods) };
  const errors = differences(sent, earlier);
  if (errors.length > 0) throw invalidTransition(order, DIFFERENT_COMPLETION, errors);
  if (versions === undefined || versions.includes(String(completedVersion))) return;
  throw new Problem('precondition_failed', {
    detail: `version ${completedVersion} of the order was completed, and If-Match does not name "${completedVersion}"; if the customer was charged twice, pay that back`,
  });
}

const DIFFERENT_COMPLETION =
  'it was already completed with different values: if this is another sale or capture, create an order for it; if the customer was charged twice, pay that back';
