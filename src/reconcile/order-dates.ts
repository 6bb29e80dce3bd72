import { COMEBACK_MS } from '../cashback/expiry.js';
import { earlierValidityOf, type Validity, validityOf } from '../cashback/validity.js';
import { MINUTE_MS } from '../common/clock.js';
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
    isStartOfSameDay(actual.availableAt, expected.availableAt) &&
    isStartOfSameDay(actual.expiresAt, expected.expiresAt)
  );
}

/** A country can change its daylight saving time after the order was completed, and then days begin an hour away. */
function isStartOfSameDay(actual: Date, expected: Date): boolean {
  return [0, 60 * MINUTE_MS].includes(Math.abs(+actual - +expected));
}

/**
 * Returns whether the credit of an order has the order's dates. A credit that expired while it was held is available
 * again for some days; an entry records that.
 */
export function creditHasDatesOfOrder(o: OrderRecord): boolean {
  const validity = validityOfRecord(o);
  if (validity === null) return false;
  const cameBackAt = Number(o.credit_expires_at) - COMEBACK_MS;
  return (
    Number(o.credit_created_at) === Number(o.completed_at) &&
    Number(o.credit_available_at) === +validity.availableAt &&
    (Number(o.credit_expires_at) === +validity.expiresAt ||
      (Boolean(o.credit_came_back) && cameBackAt >= +validity.expiresAt))
  );
}
