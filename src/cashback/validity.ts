import { addDays, dayOf, startOfDay } from '../common/calendar-days.js';
import { after } from '../common/clock.js';
import type { Policy } from '../merchants/policy.js';

/** When cashback can be spent: from `availableAt` until just before `expiresAt`. */
export interface Validity {
  availableAt: Date;
  expiresAt: Date;
}

/**
 * Returns when the cashback of an order can be spent: from the beginning of the day `releaseDays` after the day of
 * completion, but never before completion, for `validityDays` days.
 */
export function validityOf(policy: Policy, completedAt: Date): Validity {
  const availableOn = addDays(dayOf(completedAt, policy.timeZone), policy.releaseDays);
  const start = startOfDay(availableOn, policy.timeZone);
  return {
    availableAt: start < completedAt ? completedAt : start,
    expiresAt: startOfDay(addDays(availableOn, policy.validityDays), policy.timeZone),
  };
}

/** Returns when cashback that is available from an instant expires: after `validityDays` days, that day included. */
export function expiryOf(policy: Policy, availableAt: Date): Date {
  return startOfDay(addDays(dayOf(availableAt, policy.timeZone), policy.validityDays), policy.timeZone);
}

/** Days for which a reinstated credit can be spent, counted from the local date of the return. */
const REINSTATED_DAYS = 7;

/** Returns when an amount that is returned to an expired credit expires. */
export function reinstatementEnd(policy: Pick<Policy, 'timeZone'>, returnedAt: Date): Date {
  return startOfDay(addDays(dayOf(returnedAt, policy.timeZone), REINSTATED_DAYS + 1), policy.timeZone);
}

/** Returns the last day on which cashback with this expiry can be spent. */
export function expiresOn(expiresAt: Date, timeZone: string): string {
  return dayOf(after(expiresAt, -1), timeZone);
}
