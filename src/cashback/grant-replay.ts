import { Problem } from '../common/problem.js';
import type { ContentDigests } from './content-digests.js';
import type { GrantContent, StoredGrant } from './grants.js';

/** The members that decide whether a request is a replay; null where they are absent. */
type ComparedContent = ReturnType<typeof requestedContent>;

function requestedContent(requested: GrantContent) {
  const { externalId, document, amountCents, availableAt, expiresAt, availableOn, expiresOn, reason } = requested;
  return {
    externalId: externalId ?? null,
    document,
    amountCents,
    start: availableAt?.toISOString() ?? availableOn ?? null,
    end: expiresAt?.toISOString() ?? expiresOn ?? null,
    reason: reason ?? null,
  };
}

function storedContent({ grant, credit, document }: StoredGrant): ComparedContent {
  return {
    externalId: grant.externalId,
    document,
    amountCents: credit.amountCents,
    start: grant.requestedAvailableAt?.toISOString() ?? grant.requestedAvailableOn,
    end: grant.requestedExpiresAt?.toISOString() ?? grant.requestedExpiresOn,
    reason: credit.reason,
  };
}

/** Returns the content of a new grant for its digest. */
export function digestedContent(requested: GrantContent): unknown[] {
  return digested(requestedContent(requested));
}

function digested({ externalId, document, amountCents, start, end, reason }: ComparedContent): unknown[] {
  return [externalId, document, amountCents, start, end, reason];
}

/**
 * @throws Problem external_id_conflict, pointing at each member that differs: to a day of the request, unless it has an
 *   instant.
 */
export function refuseDifferences(digests: ContentDigests, stored: StoredGrant, requested: GrantContent): void {
  const [existing, sent] = [storedContent(stored), requestedContent(requested)];
  // An erased customer has neither a document nor a reason. The digest tells whether those of the request are the same.
  const asSent = { ...existing, document: sent.document, reason: sent.reason };
  const known = digests.matches(digested(asSent), stored.grant.contentDigest) ? asSent : existing;
  const pointers: Record<keyof ComparedContent, string> = {
    externalId: '/external_id',
    document: '/document',
    amountCents: '/amount',
    start: requested.availableAt === undefined ? '/available_on' : '/available_at',
    end: requested.expiresAt === undefined ? '/expires_on' : '/expires_at',
    reason: '/reason',
  };
  const members = Object.keys(pointers) as (keyof ComparedContent)[];
  const errors = members
    .filter((member) => known[member] !== sent[member])
    .map((member) => ({ pointer: pointers[member], detail: 'differs from the grant with this external_id' }));
  if (errors.length === 0) return;
  throw new Problem('external_id_conflict', { detail: 'a grant with this external_id has different content', errors });
}
