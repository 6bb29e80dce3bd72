import type { WhoIs } from '../auth/user-names.service.js';
import type { NamedGrant } from '../cashback/grant-content.js';
import type { GrantState } from '../cashback/grants.service.js';
import { expiresOn } from '../cashback/validity.js';
import { dayOf } from '../common/calendar-days.js';
import { readMetadata } from '../common/metadata.js';
import { formatMoney, parseMoney } from '../common/money.js';
import type { CreateGrantDto, GrantDto } from './dto/grant.dto.js';

export function readGrant(request: CreateGrantDto): NamedGrant {
  const { document, amount, external_id: externalId, reason, note, store } = request;
  const { available_on: availableOn, expires_on } = request;
  return {
    document,
    amountCents: parseMoney(amount),
    externalId,
    metadata: readMetadata(request.metadata),
    ...(reason !== undefined && { reason }),
    ...(note !== undefined && { note }),
    ...(store !== undefined && { store }),
    ...(availableOn !== undefined && { availableOn }),
    ...(expires_on !== undefined && { expiresOn: expires_on }),
  };
}

export function toGrantDto(state: GrantState, whoIs: WhoIs): GrantDto {
  const { grant, credit, document, timeZone, remainingCents, heldCents } = state;
  return {
    id: credit.id,
    external_id: grant.externalId,
    wallet_id: credit.walletId,
    document,
    amount: formatMoney(credit.amountCents),
    remaining: formatMoney(remainingCents),
    held: formatMoney(heldCents),
    voided: formatMoney(grant.voidedCents ?? 0),
    reason: credit.reason,
    note: grant.note,
    store: credit.store,
    metadata: grant.metadata ?? {},
    available_at: credit.availableAt,
    expires_at: credit.expiresAt,
    available_on: dayOf(credit.availableAt, timeZone),
    expires_on: expiresOn(credit.expiresAt, timeZone),
    created_at: credit.createdAt,
    created_by: whoIs(grant.createdBy)!,
    voided_at: grant.voidedAt,
    voided_by: whoIs(grant.voidedBy),
    void_reason: grant.voidReason,
  };
}
