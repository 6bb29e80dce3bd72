import { returnEnd } from '../../cashback/validity.js';
import { HOUR_MS } from '../../platform/values/time.js';
import { type CreditMove, type OrderRecord } from './order-record.js';

/**
 * Returns whether two instants are the beginning of the same day. A country can change its daylight saving time after
 * the first one was computed, and days then start an hour earlier or later.
 */
export const isSameDay = (actual: Date | null, expected: Date): boolean =>
  actual !== null && [0, HOUR_MS].includes(Math.abs(+actual - +expected));

/** Whether each returned amount is in its credit: in the reverse order of those that the order redeemed from. */
export function returnsAreInReverse({ order, refunds, moves }: OrderRecord): boolean {
  const redeemed = moves
    .filter(({ cents }) => cents < 0)
    .sort((a, b) => +b.expires_at - +a.expires_at || b.seq - a.seq);
  const leftCents = new Map(redeemed.map((move) => [move, -move.cents]));
  const returned = moves.filter(({ cents }) => cents > 0);
  return returned.every((move, at) => {
    const refund = refunds.find(({ id }) => id === move.refund_id);
    const from = redeemed.find((candidate) => leftCents.get(candidate)! > 0);
    if (refund === undefined || from === undefined) return false;
    const left = leftCents.get(from)! - move.cents;
    leftCents.set(from, left);
    // Only the last part of a refund can be less than what is left of a credit.
    const isLast = returned[at + 1]?.refund_id !== move.refund_id;
    return (
      (left === 0 || (left > 0 && isLast)) && isInCredit(move, from, returnEnd(order.policy.timeZone, refund.createdAt))
    );
  });
}

/** Whether an amount returned to the credit that it was redeemed from, or to a new one if that one ends too soon. */
function isInCredit(move: CreditMove, from: CreditMove, end: Date): boolean {
  if (move.credit_id === from.credit_id) return +from.expires_at > +end - HOUR_MS;
  return (
    move.credit_refund_id === move.refund_id &&
    move.from_credit_id === (from.from_credit_id ?? from.credit_id) &&
    +move.available_at === +move.created_at &&
    // It ends within days, so the rules of its time zone are those that it was made with.
    +move.expires_at === +end &&
    +from.expires_at < +end + HOUR_MS
  );
}
