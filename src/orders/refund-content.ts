import { eligibleBounds, proportionalEligibleCents, type RefundedOrder } from '../cashback/refund-parts.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { differing, externalIdConflict, type Fault, Problem } from '../common/problem.js';
import type { CreateRefundDto } from './dto/refund.dto.js';
import type { Refund } from './refund.entity.js';

/** A refund as the request describes it. */
export interface RequestedRefund extends Pick<Refund, 'externalId' | 'amountCents'> {
  /** Null if the request does not have it. */
  eligibleCents: number | null;
}

/** Reads a request whose members have been validated individually. */
export function readRefund(request: CreateRefundDto): RequestedRefund {
  return {
    externalId: request.external_id,
    amountCents: parseMoney(request.amount),
    eligibleCents: request.eligible_amount === undefined ? null : parseMoney(request.eligible_amount),
  };
}

/**
 * Returns the amounts of a new refund.
 *
 * @throws Problem refund_exceeds_total, with the bounds of the member that is outside of them.
 */
export function amountsOf(
  order: RefundedOrder,
  { amountCents, eligibleCents }: RequestedRefund,
): Pick<Refund, 'amountCents' | 'eligibleCents' | 'requestedEligibleCents'> {
  const leftCents = order.totalCents - order.refundedCents;
  if (amountCents > leftCents) throw outOfBounds({ pointer: '/amount', what: 'a refund of this order' }, 1, leftCents);
  const proportionalCents = proportionalEligibleCents(order, amountCents);
  // The same request without the member is a replay if it means the same.
  if (eligibleCents === null || eligibleCents === proportionalCents)
    return { amountCents, eligibleCents: proportionalCents, requestedEligibleCents: null };
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  if (eligibleCents < minimumCents || eligibleCents > maximumCents) {
    const what = `the eligible part of a refund of ${formatMoney(amountCents)}`;
    throw outOfBounds({ pointer: '/eligible_amount', what }, minimumCents, maximumCents);
  }
  return { amountCents, eligibleCents, requestedEligibleCents: eligibleCents };
}

function outOfBounds(member: { pointer: string; what: string }, minimumCents: number, maximumCents: number): Problem {
  const [minimum, maximum] = [formatMoney(minimumCents), formatMoney(maximumCents)];
  const bounds = minimum === maximum ? `must be ${minimum}` : `must be from ${minimum} to ${maximum}`;
  return new Problem('refund_exceeds_total', {
    detail: `${member.what} ${bounds}`,
    errors: [{ pointer: member.pointer, detail: bounds }],
    extensions: { minimum, maximum },
  });
}

/** @throws Problem external_id_conflict if the request differs from the refund with its `external_id`. */
export function refuseDifferences(sent: RequestedRefund, existing: Refund): void {
  const isSameEligible =
    sent.eligibleCents === null
      ? existing.requestedEligibleCents === null
      : existing.eligibleCents === sent.eligibleCents;
  const errors: Fault[] = [];
  if (existing.amountCents !== sent.amountCents) errors.push(differing('/amount'));
  if (!isSameEligible) errors.push(differing('/eligible_amount'));
  if (errors.length > 0) throw externalIdConflict('refund', existing.id, errors);
}
