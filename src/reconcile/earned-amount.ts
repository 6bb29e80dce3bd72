import { cashbackToReceive } from '../cashback/quote.js';
import { isOfEarlierRelease } from './order-dates.js';
import type { OrderRecord } from './order-record.js';

/** Returns the centavos that a completed order earned by the formula that was valid when it was completed. */
export function earnedCents(o: OrderRecord): number {
  const paymentMethods = o.final_payment_methods ?? o.payment_methods;
  if (isOfEarlierRelease(o)) return earnedEarlierCents(o, paymentMethods);
  const { total_cents: totalCents, eligible_total_cents: eligibleTotalCents, redemption_cents: redeemedCents } = o;
  return cashbackToReceive({ totalCents, eligibleTotalCents, redeemedCents, paymentMethods }, o.policy);
}

/**
 * An earlier release also applied the base rate to the redeemed amount, and matched the IDs of payment methods exactly.
 */
function earnedEarlierCents(o: OrderRecord, paymentMethods: OrderRecord['payment_methods']): number {
  const { earnRatesByPaymentMethod: overrides, earnRateBps } = o.policy;
  const total = BigInt(o.total_cents);
  let unnamed = total;
  let weighted = 0n;
  for (const { id, amountCents } of paymentMethods) {
    unnamed -= BigInt(amountCents);
    const rate = Object.hasOwn(overrides, id) ? (overrides[id] ?? earnRateBps) : earnRateBps;
    weighted += BigInt(amountCents) * BigInt(rate);
  }
  weighted += unnamed * BigInt(earnRateBps);
  return Number(((total - BigInt(o.redemption_cents)) * weighted) / (total * 10_000n));
}
