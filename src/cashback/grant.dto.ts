import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { ByDto } from '../platform/http/by.dto.js';
import { Column } from '../platform/http/csv.js';
import { CreatedQueryDto, PageOf } from '../platform/http/page-query.dto.js';
import { present } from '../platform/http/present.js';
import {
  ApiMetadata,
  IsCallerId,
  IsDay,
  IsDocument,
  IsListOf,
  IsMetadata,
  IsMoney,
  IsText,
  IsUserId,
} from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { formatMoney, parseMoney } from '../platform/values/money.js';
import { validationFailed } from '../platform/values/problem.js';
import { type Metadata, readMetadata } from '../platform/values/texts.js';
import { type NamedGrant } from './grant-content.js';
import { type GrantState } from './grants.service.js';
import { datesOf } from './validity.js';

/** What the requests for grants and debits share. */
export class CreateByHandDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;

  /**
   * Amount in BRL. It must be greater than zero.
   * @example "80.00"
   */
  @IsMoney({ zero: false })
  readonly amount!: string;

  /**
   * A note for staff, which the statement does not show.
   * @example Third complaint
   */
  @IsOptional()
  @IsText('note', 500)
  readonly note?: string;

  /**
   * The store that owes it, for reports by store: at most 100 characters.
   * @example SP-014
   */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;

  /**
   * What you keep with it, such as the campaign: at most 20 strings of up to 500 characters. Keys have 1 to 40
   * letters, digits, `_`, `.` and `-`.
   */
  @IsOptional()
  @IsMetadata()
  readonly metadata?: Metadata;
}

/** Cashback for a customer that no order earned, such as a promotion or an apology. */
@InOrder('external_id', 'document', 'amount', 'reason')
export class CreateGrantDto extends CreateByHandDto {
  /**
   * Your ID of the grant, unique per merchant. It is the idempotency key.
   * @example SORRY-1
   */
  @IsCallerId()
  readonly external_id!: string;

  /**
   * The reason that the customer sees in the statement. Do not write names or addresses.
   * @example Late delivery
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;

  /**
   * The first day on which it can be spent, in the merchant's time zone. A past day means now, which is the default.
   */
  @IsOptional()
  @IsDay()
  readonly available_on?: string;

  /**
   * The last day on which it can be spent, in the merchant's time zone. By default the merchant's policy decides.
   */
  @IsOptional()
  @IsDay()
  readonly expires_on?: string;
}

/** A grant in its current state. */
@InOrder()
export class GrantDto {
  /** UUID v7. */
  @ApiId()
  readonly id!: string;

  /** @example SORRY-1 */
  readonly external_id!: string;

  /** The customer's wallet. */
  @ApiId()
  readonly wallet_id!: string;

  /** @example "52998224725" */
  readonly document!: string;

  /** @example "80.00" */
  @ApiMoney()
  readonly amount!: string;

  /**
   * What is neither spent, expired nor voided, with what refunds returned of it, including what orders hold.
   * @example "60.00"
   */
  @ApiMoney()
  readonly remaining!: string;

  /**
   * The part of `remaining` that pending orders hold.
   * @example "0.00"
   */
  @ApiMoney()
  readonly held!: string;

  /**
   * Sum of all voids.
   * @example "0.00"
   */
  @ApiMoney()
  readonly voided!: string;

  @ApiProperty({ type: String, nullable: true, example: 'Late delivery' })
  readonly reason!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'Third complaint' })
  readonly note!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;

  /** What you keep with the grant; empty by default. */
  @ApiMetadata()
  readonly metadata!: Metadata;

  readonly available_at!: Date;
  readonly expires_at!: Date;

  /**
   * The first day on which it can be spent, in the merchant's time zone.
   * @example "2026-12-01"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly available_on!: string;

  /**
   * The last day on which it can be spent.
   * @example "2027-05-29"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly expires_on!: string;

  readonly created_at!: Date;
  readonly created_by!: ByDto;

  /** When it was first voided, even if nothing was left to void; null if it was never voided. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly voided_at!: Date | null;

  /** Who did that. */
  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly voided_by!: ByDto | null;

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly void_reason!: string | null;
}

/** Several grants to make, each on its own. */
export class CreateGrantsDto {
  /** 1 to 100 grants, each with an `external_id` of its own. */
  @IsListOf(() => CreateGrantDto, { of: 'grants', least: 1, most: 100, areApart: true })
  readonly data!: unknown[];
}

/** What came of one grant of a batch. */
@InOrder()
export class GrantResultDto {
  /**
   * 201 if it was made; 200 if a grant with this `external_id` and content existed; otherwise the status of the
   * problem.
   * @example 201
   */
  @ApiProperty({ type: 'integer' })
  readonly status!: number;

  /** The grant in its current state; null if there is a problem. */
  @ApiProperty({ type: GrantDto, nullable: true })
  readonly grant!: GrantDto | null;

  /**
   * The problem that `POST /grants` would have, with pointers into this grant of the request; null if there is none. If
   * it is `retryable`, send the grant again.
   */
  @ApiProperty({ anyOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'null' }] })
  readonly problem!: unknown;
}

/** What came of each grant of a batch, in the order of the request. */
export class GrantResultsDto {
  readonly data!: GrantResultDto[];
}

/** @throws Problem validation_failed if two grants have the same `external_id`: one could not be told from a repeat. */
export function refuseSameExternalIds(grants: readonly unknown[]): void {
  const ids = grants.map((grant) => (grant as Partial<CreateGrantDto> | null)?.external_id);
  const errors = ids.flatMap((id, at) => {
    const first = ids.indexOf(id);
    if (typeof id !== 'string' || first === at) return [];
    return [{ pointer: `/data/${at}/external_id`, detail: `must differ from that of /data/${first}` }];
  });
  if (errors.length > 0) throw validationFailed(errors);
}

/** Filters of what users make under an ID of the merchant's. All of them must match. */
export class MadeQueryDto extends CreatedQueryDto {
  /** The one with this `external_id`. */
  @IsOptional()
  @IsCallerId()
  readonly external_id?: string;

  /** Made by this API user, or by the `operator`. */
  @IsOptional()
  @IsUserId()
  readonly user_id?: string;
}

/** A page of grants, newest first. */
export class GrantPageDto extends PageOf(GrantDto) {}

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

export function toGrantDto({ grant, credit, document, timeZone, remainingCents, heldCents }: GrantState): GrantDto {
  const { available_at, expires_at, ...days } = datesOf(credit, timeZone);
  return {
    id: credit.id,
    external_id: grant.externalId,
    ...present(credit, 'walletId'),
    document,
    ...present(credit, 'amountCents'),
    ...present({ remainingCents, heldCents }, 'remainingCents', 'heldCents'),
    voided: formatMoney(grant.voidedCents ?? 0),
    reason: credit.reason,
    note: grant.note,
    store: credit.store,
    ...present(grant, 'metadata'),
    available_at,
    expires_at,
    ...days,
    created_at: credit.createdAt,
    ...present(grant, 'createdBy', 'voidedAt', 'voidedBy', 'voidReason'),
  };
}

/** The columns of the list as CSV. */
export const GRANT_COLUMNS: readonly Column[] = [
  ...([
    'external_id',
    'created_at',
    'created_by.name',
    'store',
    'document',
    'amount',
    'remaining',
    'voided',
    'available_on',
  ] as const),
  ...(['expires_on', 'reason', 'note', 'voided_at', 'voided_by.name', 'void_reason', 'metadata', 'id'] as const),
];
