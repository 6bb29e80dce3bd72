import { eligibleBounds, refundParts, type RefundedOrder } from '../cashback/refund-parts.js';
import type { OrderRecord } from './order-record.js';

/** What the rules of an order say about its refunds as a whole. */

export function statusMatchesRefunds(o: OrderRecord): boolean {
  if (o.refunded_cents === 0) return !['partially_refunded', 'refunded'].includes(o.status);
  return o.status === (o.refunded_cents === o.total_cents ? 'refunded' : 'partially_refunded');
}

/** Neither the eligible part of the refunds nor the other part exceeds that of the order. */
export function eligiblePartFits(o: OrderRecord): boolean {
  const { minimumCents, maximumCents } = eligibleBounds(beforeRefunds(o), o.refunded_cents);
  return o.refunded_eligible_cents >= minimumCents && o.refunded_eligible_cents <= maximumCents;
}

/** All refunds together move the same amounts as a single refund of their sums. */
export function refundsMovedTheirParts(o: OrderRecord): boolean {
  const sums = { amountCents: o.refunded_cents, eligibleCents: o.refunded_eligible_cents };
  const parts = refundParts(beforeRefunds(o), sums);
  const waivedCents = parts.takenBackCents - o.taken_back_cents;
  return o.returned_cents === parts.returnedCents && waivedCents >= 0 && waivedCents <= o.credit_expired_cents;
}

export function refundsAddUp(o: OrderRecord): boolean {
  return (
    o.refunded_cents === o.refunds_cents &&
    o.refunded_eligible_cents === o.refunds_eligible_cents &&
    o.returned_cents === o.refunds_returned_cents &&
    o.taken_back_cents === o.refunds_taken_back_cents
  );
}

function beforeRefunds(o: OrderRecord): RefundedOrder {
  return {
    totalCents: o.total_cents,
    eligibleTotalCents: o.eligible_total_cents,
    redeemedCents: o.redeemed_cents,
    earnedCents: o.earned_cents,
    refundedCents: 0,
    refundedEligibleCents: 0,
    returnedCents: 0,
    takenBackCents: 0,
  };
}
