import { validityOf } from '../cashback/validity.js';
import { after, MINUTE_MS } from '../common/clock.js';
import { defaultExpiry } from '../orders/order-content.js';
import type { OrderRecord } from './order-record.js';

/** Returns whether a completed order has the dates of its policy, and no other order has any. */
export function orderHasDatesOfPolicy(o: OrderRecord): boolean {
  const { cashback_available_at: availableAt, cashback_expires_at: expiresAt } = o;
  if (o.completed_at === null) return availableAt === null && expiresAt === null;
  const expected = validityOf(o.policy, o.completed_at);
  return (
    availableAt !== null &&
    expiresAt !== null &&
    isSameStart(availableAt, expected.availableAt) &&
    isSameStart(expiresAt, expected.expiresAt)
  );
}

/**
 * Returns whether two instants are the beginning of the same day. A country can change its daylight saving time after
 * the first one was computed, and days then start an hour earlier or later.
 */
export function isSameStart(actual: Date, expected: Date): boolean {
  return [0, 60 * MINUTE_MS].includes(Math.abs(+actual - +expected));
}

/** Returns whether the credit of an order has the order's dates. */
export function creditHasDatesOfOrder(o: OrderRecord): boolean {
  return (
    o.completed_at !== null &&
    Number(o.credit_created_at) === +o.completed_at &&
    Number(o.credit_available_at) === Number(o.cashback_available_at) &&
    Number(o.credit_expires_at) === Number(o.cashback_expires_at)
  );
}

/** Returns whether an order expires within the bounds of its policy, and at version 1 as its creation asked for. */
export function expiresWithinBounds({
  created_at: createdAt,
  updated_at: updatedAt,
  expires_at: expiresAt,
  requested_expires_at: requestedAt,
  version,
  policy,
}: OrderRecord): boolean {
  if (version === 1 && +expiresAt !== +(requestedAt ?? defaultExpiry(policy, createdAt))) return false;
  const mostMinutes = Math.max(policy.orderTtlMinutes, policy.maxOrderTtlMinutes) + 1;
  return expiresAt >= after(createdAt, MINUTE_MS) && expiresAt <= after(updatedAt, mostMinutes * MINUTE_MS);
}
