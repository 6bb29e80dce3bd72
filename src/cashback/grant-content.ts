import type { Policy } from '../merchants/policy.js';
import { OPERATOR } from '../platform/values/caller.js';
import { formatMoney } from '../platform/values/money.js';
import { Problem, validationFailed } from '../platform/values/problem.js';
import type { Metadata } from '../platform/values/texts.js';
import { addDays, isStorable, startOfDay } from '../platform/values/time.js';
import type { Credit } from './credit.entity.js';
import type { Grant } from './grant.entity.js';
import { expiryOf, type Validity } from './validity.js';

/** What is granted, to whom. */
export interface GrantContent {
  document: string;
  amountCents: number;
  /** The idempotency key, unique per merchant. Default: the ID of the grant, so that no request is a replay. */
  externalId?: string;
  /** When it becomes available. Default: now. */
  availableAt?: Date;
  /** When it expires. Default: after the validity in the merchant's policy. */
  expiresAt?: Date;
  /** The first day on which it can be spent, instead of `availableAt`: a calendar day in the merchant's time zone. */
  availableOn?: string;
  /** The last day on which it can be spent, instead of `expiresAt`. */
  expiresOn?: string;
  /** What the customer sees. */
  reason?: string;
  /** For staff. */
  note?: string;
  store?: string;
  metadata?: Metadata | null;
  /** Who grants it: an API user, within the maximum of the policy, or the operator, who has none. */
  by?: string;
}

/** Content with an external ID, by which a repeated grant is recognized. */
export type NamedGrant = GrantContent & { externalId: string };

/** A grant with its credit, and the document of its customer. An erased customer has a pseudonym instead. */
export interface StoredGrant {
  grant: Grant;
  credit: Credit;
  document: string;
}

/** What decides whether a request is a replay. Where the operator names an instant, requests name a day. */
export function requestedContent(content: GrantContent) {
  return {
    external_id: content.externalId ?? null,
    document: content.document,
    amount: content.amountCents,
    available_on: content.availableOn ?? content.availableAt?.toISOString() ?? null,
    expires_on: content.expiresOn ?? content.expiresAt?.toISOString() ?? null,
    reason: content.reason ?? null,
    note: content.note ?? null,
    store: content.store ?? null,
    metadata: content.metadata ?? {},
  };
}

export function storedContent({ grant, credit, document }: StoredGrant): ReturnType<typeof requestedContent> {
  return {
    external_id: grant.externalId,
    document,
    amount: credit.amountCents,
    available_on: grant.requestedAvailableOn ?? grant.requestedAvailableAt?.toISOString() ?? null,
    expires_on: grant.requestedExpiresOn ?? grant.requestedExpiresAt?.toISOString() ?? null,
    reason: credit.reason,
    note: grant.note,
    store: credit.store,
    metadata: grant.metadata ?? {},
  };
}

/**
 * Returns when granted cashback can be spent.
 *
 * @throws Problem validation_failed, also if it would never be available.
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
  const refused = (pointer: string, detail: string): Problem => validationFailed([{ pointer, detail }]);
  const inDays = content.availableOn !== undefined || content.expiresOn !== undefined;
  const [first, last] = inDays ? ['/available_on', '/expires_on'] : ['/available_at', '/expires_at'];
  const hasExpiry = content.expiresOn !== undefined || content.expiresAt !== undefined;
  if (!isStorable(availableAt)) throw refused(first, 'must be in the years 1970 to 9998');
  if (!isStorable(expiresAt))
    throw refused(hasExpiry ? last : first, 'must be earlier: the cashback would expire after the year 9998');
  if (expiresAt > availableAt && expiresAt > now) return;
  const detail = inDays
    ? 'must be today or later, and not before available_on'
    : 'must be later than now and than the instant from which it is available';
  throw refused(last, detail);
}

export function isAboveMaximum({ amountCents }: Pick<GrantContent, 'amountCents'>, policy: Policy): boolean {
  return amountCents > policy.grantMaximumCents;
}

/** The operator has no maximum. @throws Problem grant_exceeds_maximum. */
export function refuseAboveMaximum(content: GrantContent, policy: Policy): void {
  if ((content.by ?? OPERATOR) === OPERATOR || !isAboveMaximum(content, policy)) return;
  const maximum = formatMoney(policy.grantMaximumCents);
  throw new Problem('grant_exceeds_maximum', {
    maximum,
    limited_by: 'grant',
    errors: [{ pointer: '/amount', detail: `must be at most ${maximum}` }],
  });
}
