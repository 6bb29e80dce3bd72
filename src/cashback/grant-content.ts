import { addDays, startOfDay } from '../common/calendar-days.js';
import { isStorable } from '../common/instants.js';
import { type Fault, Problem, validationFailed } from '../common/problem.js';
import type { Policy } from '../merchants/policy.js';
import type { Credit } from './credit.entity.js';
import type { Grant } from './grant.entity.js';
import { expiryOf, type Validity } from './validity.js';

/** What is granted, to whom. */
export interface GrantContent {
  document: string;
  amountCents: number;
  /** The idempotency key, unique per merchant. */
  externalId?: string;
  /** When it becomes available. Default: now. */
  availableAt?: Date;
  /** When it expires. Default: after the validity in the merchant's policy. */
  expiresAt?: Date;
  /** The first day on which it can be spent, instead of `availableAt`: a calendar day in the merchant's time zone. */
  availableOn?: string;
  /** The last day on which it can be spent, instead of `expiresAt`. */
  expiresOn?: string;
  reason?: string;
}

/** A grant with its credit, and the document of its customer. An erased customer has a pseudonym instead. */
export interface StoredGrant {
  grant: Grant;
  credit: Credit;
  document: string;
}

/**
 * Returns when granted cashback can be spent. @throws Problem validation_failed, also if it would never be available.
 */
export function validityOfGrant(content: GrantContent, policy: Policy, now: Date): Validity {
  const { availableOn, expiresOn } = content;
  const start = availableOn === undefined ? now : startOfDay(availableOn, policy.timeZone);
  const availableAt = content.availableAt ?? (start < now ? now : start);
  const end = expiresOn === undefined ? undefined : startOfDay(addDays(expiresOn, 1), policy.timeZone);
  const expiresAt = content.expiresAt ?? end ?? expiryOf(policy, availableAt);
  refuseDates({ availableAt, expiresAt }, now, content);
  return { availableAt, expiresAt };
}

/** @throws Problem validation_failed. */
function refuseDates({ availableAt, expiresAt }: Validity, now: Date, content: GrantContent): void {
  const errors: Fault[] = [];
  const inDays = content.availableOn !== undefined || content.expiresOn !== undefined;
  const [first, last] = inDays ? ['/available_on', '/expires_on'] : ['/available_at', '/expires_at'];
  const hasExpiry = content.expiresOn !== undefined || content.expiresAt !== undefined;
  if (!isStorable(availableAt)) errors.push({ pointer: first, detail: 'must be in the years 1970 to 9998' });
  else if (!isStorable(expiresAt))
    errors.push({
      pointer: hasExpiry ? last : first,
      detail: 'must be earlier: the cashback would expire after the year 9998',
    });
  else if (expiresAt <= availableAt || expiresAt <= now) {
    const detail = inDays
      ? 'must be today or later, and not before available_on'
      : 'must be later than now and than the instant from which it is available';
    errors.push({ pointer: last, detail });
  }
  if (errors.length > 0) throw validationFailed(errors);
}

/** Returns the pointers of the members in which a request differs from the grant with its external ID. */
export function differingMembers({ grant, credit, document }: StoredGrant, requested: GrantContent): string[] {
  // An erased customer has neither a document nor a reason to compare.
  const isErased = !/^\d{11}$/.test(document);
  const pairs: [string, unknown, unknown][] = [
    ['/document', isErased ? requested.document : document, requested.document],
    ['/amount', credit.amountCents, requested.amountCents],
    ['/available_at', grant.requestedAvailableAt?.getTime(), requested.availableAt?.getTime()],
    ['/expires_at', grant.requestedExpiresAt?.getTime(), requested.expiresAt?.getTime()],
    ['/available_on', grant.requestedAvailableOn ?? undefined, requested.availableOn],
    ['/expires_on', grant.requestedExpiresOn ?? undefined, requested.expiresOn],
    ['/reason', isErased ? requested.reason : (credit.reason ?? undefined), requested.reason],
  ];
  return pairs.filter(([, existing, sent]) => existing !== sent).map(([pointer]) => pointer);
}

/** @throws Problem external_id_conflict, pointing at each member that differs. */
export function refuseDifferences(stored: StoredGrant, requested: GrantContent): void {
  const errors: Fault[] = differingMembers(stored, requested).map((pointer) => ({
    pointer,
    detail: 'differs from the grant with this external_id',
  }));
  if (errors.length === 0) return;
  throw new Problem('external_id_conflict', { detail: 'a grant with this external_id has different content', errors });
}
