import { EARLIER_COMEBACK_MS, earlierValidityOf, type Validity, validityOf } from '../cashback/validity.js';
import { after, MINUTE_MS } from '../common/clock.js';
import type { OrderRecord } from './order-record.js';

/** Returns whether a release without calendar days and eligible totals completed the order. */
export function isOfEarlierRelease(o: OrderRecord): boolean {
  return o.completed_at !== null && o.cashback_available_at === null && o.cashback_expires_at === null;
}

/** Returns when the cashback of a completed order can be spent; null if the order does not say so. */
export function validityOfRecord(o: OrderRecord): Validity | null {
  if (o.completed_at === null) return null;
  if (isOfEarlierRelease(o)) return earlierValidityOf(o.policy, o.completed_at);
  const { cashback_available_at: availableAt, cashback_expires_at: expiresAt } = o;
  return availableAt === null || expiresAt === null ? null : { availableAt, expiresAt };
}

/** Returns whether a completed order has the dates of its policy, and no other order has any. */
export function orderHasDatesOfPolicy(o: OrderRecord): boolean {
  const hasNone = o.cashback_available_at === null && o.cashback_expires_at === null;
  if (o.completed_at === null || hasNone) return hasNone;
  const expected = validityOf(o.policy, o.completed_at);
  const actual = validityOfRecord(o);
  return (
    actual !== null &&
    isSameStart(actual.availableAt, expected.availableAt) &&
    isSameStart(actual.expiresAt, expected.expiresAt)
  );
}

/**
 * Returns whether two instants are the beginning of the same day. A country can change its daylight saving time after
 * the first one was computed, and then days begin an hour away.
 */
export function isSameStart(actual: Date, expected: Date): boolean {
  return [0, 60 * MINUTE_MS].includes(Math.abs(+actual - +expected));
}

/**
 * Returns whether the credit of an order has the order's dates. A credit that came back keeps its first expiry; one
 * that came back in an earlier release has an entry that explains its expiry.
 */
export function creditHasDatesOfOrder(o: OrderRecord): boolean {
  const validity = validityOfRecord(o);
  if (validity === null) return false;
  const expiresAt = Number(o.credit_original_expires_at ?? o.credit_expires_at);
  return (
    Number(o.credit_created_at) === Number(o.completed_at) &&
    Number(o.credit_available_at) === +validity.availableAt &&
    (expiresAt === +validity.expiresAt ||
      (Boolean(o.credit_came_back_earlier) && expiresAt - EARLIER_COMEBACK_MS >= +validity.expiresAt))
  );
}

/** Returns whether an order expires within the bounds of its policy. The caller can choose when, at first and later. */
export function expiresWithinBounds({
  created_at: createdAt,
  updated_at: updatedAt,
  expires_at: expiresAt,
  policy,
}: OrderRecord): boolean {
  const mostMinutes = Math.max(policy.orderTtlMinutes, policy.maxOrderTtlMinutes) + 1;
  return (
    expiresAt >= after(createdAt, MINUTE_MS) && expiresAt <= after(updatedAt ?? createdAt, mostMinutes * MINUTE_MS)
  );
}
