import type { RulesInForce } from '../merchants/campaign.entity.js';
import type { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import type { Caller } from '../platform/values/caller.js';
import { forbidden, Problem, validationFailed } from '../platform/values/problem.js';
import { after, DAY_MS, SECOND_MS } from '../platform/values/time.js';

/** How long before or after its arrival a sale can have happened, by another clock, and count as one of now. */
export const LATE_SECONDS = 300;
const TOLERANCE_MS = LATE_SECONDS * SECOND_MS;

/** Returns when a sale happened that arrived late; undefined if it did not. */
export const lateSince = (soldAt: Date | null, createdAt: Date): Date | undefined =>
  soldAt !== null && soldAt < after(createdAt, -TOLERANCE_MS) ? soldAt : undefined;

/**
 * Returns a refusal if a sale cannot have the rules of the instant at which it happened.
 *
 * @param policy the merchant's policy of now.
 */
function refusalOf(
  soldAt: Date | null,
  now: Date,
  { permissions }: Pick<Caller, 'permissions'>,
  { lateSaleDays, releaseDays }: Policy,
): Problem | undefined {
  const refused = (detail: string) => [{ pointer: '/sold_at', detail }];
  if (soldAt !== null && soldAt > after(now, TOLERANCE_MS))
    return validationFailed(refused('must not be in the future'));
  if (lateSince(soldAt, now) === undefined) return undefined;
  if (!permissions.includes('late_sales')) return forbidden(['late_sales']);
  // A campaign can have fewer days until release.
  const first = after(now, -Math.min(lateSaleDays, releaseDays) * DAY_MS);
  const earliest = (lateSaleDays === 0 ? after(now, -TOLERANCE_MS) : first).toISOString();
  if (soldAt! >= new Date(earliest)) return undefined;
  return new Problem('sold_too_long_ago', { earliest, errors: refused(`must be ${earliest} or later`) });
}

/** The rules for a sale; with when it happened, if it arrived late. With a refusal, those of now. */
export interface RulesOfSale {
  rules: RulesInForce;
  refusal?: Problem | undefined;
  lateAt?: Date;
}

/** Returns the rules for a sale: those of the instant at which it happened, if it arrived late. */
export async function rulesOfSale(
  merchants: MerchantsService,
  caller: Caller,
  soldAt: Date | null,
  now: Date,
): Promise<RulesOfSale> {
  const { merchantId } = caller;
  // A campaign may have begun or ended since, also if the sale is not late.
  const rules = await merchants.rulesNow(merchantId, soldAt !== null && soldAt < now ? soldAt : now);
  const refusal = refusalOf(soldAt, now, caller, rules.policy);
  const lateAt = lateSince(soldAt, now);
  if (refusal !== undefined || lateAt === undefined) return { rules, refusal };
  return { rules: await merchants.rulesAt(merchantId, lateAt), lateAt };
}
