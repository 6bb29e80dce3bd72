import type { Policy } from '../merchants/policy.js';
import { addDays, after, dayOf, startOfDay } from '../platform/values/time.js';

/** When cashback can be spent: from `availableAt` until just before `expiresAt`. */
export interface Validity {
  availableAt: Date;
  expiresAt: Date;
}

/**
 * Returns when the cashback of an order can be spent: from the beginning of the day `releaseDays` after the day of
 * completion, but never before completion, for `validityDays` days.
 *
 * @param soldAt when it was sold, if the sale arrived late: its day counts. The cashback can be spent at least through
 *   the day of completion.
 */
export function validityOf(policy: Policy, completedAt: Date, soldAt = completedAt): Validity {
  const { timeZone, releaseDays, validityDays } = policy;
  const availableOn = addDays(dayOf(soldAt, timeZone), releaseDays);
  const start = startOfDay(availableOn, timeZone);
  const end = startOfDay(addDays(availableOn, validityDays), timeZone);
  const tomorrow = startOfDay(addDays(dayOf(completedAt, timeZone), 1), timeZone);
  return { availableAt: start < completedAt ? completedAt : start, expiresAt: end < tomorrow ? tomorrow : end };
}

/** Returns when cashback that is available from an instant expires: after `validityDays` days, that day included. */
export function expiryOf(policy: Policy, availableAt: Date): Date {
  return startOfDay(addDays(dayOf(availableAt, policy.timeZone), policy.validityDays), policy.timeZone);
}

/** Days after the local date of a refund through which a returned amount can be spent at least. */
const RETURNED_DAYS = 7;

/** Returns when an amount that a refund returns can expire at the earliest. */
export function returnEnd(timeZone: string, refundedAt: Date): Date {
  return startOfDay(addDays(dayOf(refundedAt, timeZone), RETURNED_DAYS + 1), timeZone);
}

/** Returns the last day on which cashback with this expiry can be spent. */
export function expiresOn(expiresAt: Date, timeZone: string): string {
  return dayOf(after(expiresAt, -1), timeZone);
}

/** The instants and the days of a validity, as responses have them. */
export const datesOf = ({ availableAt, expiresAt }: Validity, timeZone: string) => ({
  available_at: availableAt,
  available_on: dayOf(availableAt, timeZone),
  expires_at: expiresAt,
  expires_on: expiresOn(expiresAt, timeZone),
});
