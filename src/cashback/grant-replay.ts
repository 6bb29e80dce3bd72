import { differingMetadata } from '../common/metadata.js';
import { differing, externalIdConflict } from '../common/problem.js';
import type { ContentDigests } from './content-digests.js';
import type { GrantContent, StoredGrant } from './grants.js';

/** The members that decide whether a request is a replay; null where they are absent. */
type ComparedContent = ReturnType<typeof requestedContent>;

function requestedContent(requested: GrantContent) {
  const { externalId, document, amountCents, availableAt, expiresAt, availableOn, expiresOn, reason, metadata } =
    requested;
  return {
    externalId: externalId ?? null,
    document,
    amountCents,
    start: availableAt?.toISOString() ?? availableOn ?? null,
    end: expiresAt?.toISOString() ?? expiresOn ?? null,
    reason: reason ?? null,
    metadata: metadata ?? null,
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
    metadata: grant.metadata,
  };
}

export function digestedContent(requested: GrantContent): unknown[] {
  return digested(requestedContent(requested));
}

function digested({ externalId, document, amountCents, start, end, reason, metadata }: ComparedContent): unknown[] {
  return [externalId, document, amountCents, start, end, reason, metadata && Object.entries(metadata)];
}

/**
 * @throws Problem external_id_conflict, pointing at each member that differs: to a day of the request, unless it has an
 *   instant.
 */
export function refuseDifferences(digests: ContentDigests, stored: StoredGrant, requested: GrantContent): void {
  const [existing, sent] = [storedContent(stored), requestedContent(requested)];
  // An erased customer has no document, reason or metadata. The digest tells whether those of the request are the same.
  const asSent = { ...existing, document: sent.document, reason: sent.reason, metadata: sent.metadata };
  const known = digests.matches(digested(asSent), stored.grant.contentDigest) ? asSent : existing;
  const pointers: Record<Exclude<keyof ComparedContent, 'metadata'>, string> = {
    externalId: '/external_id',
    document: '/document',
    amountCents: '/amount',
    start: requested.availableAt === undefined ? '/available_on' : '/available_at',
    end: requested.expiresAt === undefined ? '/expires_on' : '/expires_at',
    reason: '/reason',
  };
  const members = Object.keys(pointers) as (keyof typeof pointers)[];
  const different = members.filter((member) => known[member] !== sent[member]).map((member) => pointers[member]);
  different.push(...differingMetadata(sent.metadata, known.metadata));
  if (different.length > 0) throw externalIdConflict('grant', stored.credit.id, different.map(differing));
}
