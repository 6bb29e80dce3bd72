import { ApiProperty, PickType } from '@nestjs/swagger';
import { IsBoolean, IsOptional } from 'class-validator';
import { ByDto, byOf } from '../platform/http/by.dto.js';
import { Column } from '../platform/http/csv.js';
import { ListQueryDto, PageOf, PageQueryDto } from '../platform/http/page-query.dto.js';
import { present } from '../platform/http/present.js';
import { IsDocument, IsMoney, IsQueryWord, IsText } from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { formatMoney } from '../platform/values/money.js';
import { dayOf } from '../platform/values/time.js';
import { type CreditDto, type CreditSourceDto, EntrySourceDto } from './credit.dto.js';
import { type Credit } from './credit.entity.js';
import { type Entry, ENTRY_KINDS, type EntryKind } from './entry.entity.js';
import { type ExternalNames } from './external-names.js';
import { datesOf, expiresOn } from './validity.js';
import { walletData } from './wallet-events.js';
import { type DatedAmount, type WalletSummary } from './wallet-sums.js';
import { type Wallet } from './wallet.entity.js';

/** The customer whose wallet to find. It is in the body, because a URL must not contain a document. */
export class SearchWalletDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;
}

class NextAmountDto {
  /** @example "7.50" */
  @ApiMoney()
  readonly amount!: string;

  readonly at!: Date;
}

/** An amount, and when it becomes available. */
@InOrder('amount', 'at')
export class NextReleaseDto extends NextAmountDto {
  /**
   * The first day on which it can be spent, in the merchant's time zone.
   * @example "2026-11-28"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly available_on!: string;
}

/** An amount, and when it expires. */
@InOrder('amount', 'at')
export class NextExpiryDto extends NextAmountDto {
  /**
   * The last day on which it can be spent, in the merchant's time zone.
   * @example "2027-05-26"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly expires_on!: string;
}

/** A customer's current cashback with the merchant. */
@InOrder()
export class WalletDto {
  /** UUID v7; null for an unknown customer. */
  @ApiId({ nullable: true })
  readonly id!: string | null;

  /**
   * The taxpayer number; a UUID in its place for a customer who was erased. For an unknown customer, the one that you
   * sent.
   * @example "52998224725"
   */
  readonly document!: string;

  /**
   * Cashback that the customer can spend now.
   * @example "80.00"
   */
  @ApiMoney()
  readonly available!: string;

  /**
   * Earned and granted cashback that is not available yet.
   * @example "7.50"
   */
  @ApiMoney()
  readonly pending!: string;

  /**
   * Cashback held for open orders.
   * @example "0.00"
   */
  @ApiMoney()
  readonly held!: string;

  /**
   * Amount that refunds could not take back. New cashback first repays it.
   * @example "0.00"
   */
  @ApiMoney()
  readonly debt!: string;

  /** Whether orders can redeem only what they hold already. */
  @ApiProperty({ example: false })
  readonly frozen!: boolean;

  /** When it was last frozen or unfrozen; null if it never was. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly freeze_changed_at!: Date | null;

  /** Who did that. */
  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly freeze_changed_by!: ByDto | null;

  /** Why; null, too, after the customer was erased. */
  @ApiProperty({ type: String, nullable: true, example: null })
  readonly freeze_reason!: string | null;

  /** The pending amount that becomes available next; null if nothing is pending. */
  @ApiProperty({ type: NextReleaseDto, nullable: true })
  readonly next_release!: NextReleaseDto | null;

  /** The available amount that expires next; null if nothing is available. */
  @ApiProperty({ type: NextExpiryDto, nullable: true })
  readonly next_expiry!: NextExpiryDto | null;
}

/** Whether to freeze a wallet, for example after an account was stolen. */
export class FreezeWalletDto {
  @IsBoolean({ message: 'must be true or false' })
  @ApiProperty({ example: true })
  readonly frozen!: boolean;

  /**
   * Why, for your records: at most 500 characters. Do not write names or addresses.
   * @example "Stolen account"
   */
  @IsText('reason', 500, true)
  readonly reason!: string;
}

/** Filters for customers. */
export class ListCustomersDto extends ListQueryDto {
  /**
   * Customers whose `available`, `pending` and `held` add up to this amount or more. Without it, or with `0.00`,
   * customers who only have a debt are listed too.
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly balance_minimum?: string;
}

/** A customer with a balance or a debt. */
@InOrder('document', 'wallet_id', 'available', 'pending', 'held', 'debt', 'frozen', 'next_expiry')
export class CustomerDto extends PickType(WalletDto, [
  ...(['document', 'available', 'pending', 'held', 'debt', 'frozen', 'next_expiry'] as const),
]) {
  @ApiId()
  readonly wallet_id!: string;

  /** When the customer's latest order was created, whatever its status is; null for a customer without orders. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly last_order_at!: Date | null;
}

/** A page of customers, by the ID of their wallet. It can be empty although more follow. */
export class CustomerPageDto extends PageOf(CustomerDto) {}

/** A ledger entry of a wallet. It never changes. */
@InOrder()
export class EntryDto {
  /**
   * Number in the statement, from 1 without gaps.
   * @example 1
   */
  @ApiProperty({ type: 'integer' })
  readonly seq!: number;

  @ApiProperty({
    enum: Object.keys(ENTRY_KINDS),
    enumName: 'EntryKind',
    description: '`debt` and `repay` change the debt, all others change the balance.',
    example: 'earn',
  })
  readonly kind!: EntryKind;

  /**
   * Signed amount.
   * @example "-20.00"
   */
  @ApiMoney({ signed: true })
  readonly amount!: string;

  /**
   * Balance after this entry: what is available, pending and held, and what has expired and is not yet written off.
   * @example "60.00"
   */
  @ApiMoney()
  readonly balance!: string;

  /**
   * Debt after this entry.
   * @example "0.00"
   */
  @ApiMoney()
  readonly debt!: string;

  /** The order that the entry belongs to, if any. */
  @ApiId({ nullable: true })
  readonly order_id!: string | null;

  /** Your ID of that order. */
  @ApiProperty({ type: String, nullable: true, example: 'PED-1001' })
  readonly order_external_id!: string | null;

  /** When that order was sold, if it arrived with its `sold_at`. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly sold_at!: Date | null;

  /** The refund that the entry belongs to, if any. An `expire` belongs to none, also if a refund writes it. */
  @ApiId({ nullable: true })
  readonly refund_id!: string | null;

  /** Your ID of that refund. */
  @ApiProperty({ type: String, nullable: true, example: 'DEV-1' })
  readonly refund_external_id!: string | null;

  /** The debit that the entry belongs to, if any. */
  @ApiId({ nullable: true })
  readonly debit_id!: string | null;

  /** Your ID of that debit. */
  @ApiProperty({ type: String, nullable: true, example: null })
  readonly debit_external_id!: string | null;

  /** The credit that the entry changed; null if it changed the debt, and for several credits. */
  @ApiId({ nullable: true })
  readonly credit_id!: string | null;

  /** Where that credit comes from. */
  @ApiProperty({ type: EntrySourceDto, nullable: true })
  readonly source!: EntrySourceDto | null;

  /** The number of ledger entries: 1, unless `by=change`. */
  @ApiProperty({ type: 'integer', example: 1 })
  readonly lines!: number;

  /** The grant that gave the customer this credit; null if an order earned it, or a refund made it as a new credit. */
  @ApiId({ nullable: true })
  readonly grant_id!: string | null;

  /** Your ID of that grant. */
  @ApiProperty({ type: String, nullable: true, example: 'SORRY-1' })
  readonly grant_external_id!: string | null;

  /** The reason of a grant or a debit, on its own entries. */
  @ApiProperty({ type: String, nullable: true, example: 'Late delivery' })
  readonly reason!: string | null;

  /** When the entry took effect. For an expiry, this can be earlier than `created_at`. */
  readonly effective_at!: Date;

  readonly created_at!: Date;

  /** Who did it; null for what a date does. */
  @ApiProperty({ type: ByDto, nullable: true })
  readonly by!: ByDto | null;

  /** Where it happened; null if that is not known. */
  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;
}

/** A page of a wallet's statement, newest first. */
export class EntryPageDto extends PageOf(EntryDto) {}

/** How to read a statement. */
export class ListEntriesDto extends PageQueryDto {
  /** `change`: one line for all credits of one change. A page can be empty although more follow. */
  @IsOptional()
  @IsQueryWord(['change'])
  readonly by?: 'change';
}

export function toWalletDto(wallet: WalletSummary, timeZone: string): WalletDto {
  const { document, nextRelease: next } = wallet;
  const { id, ...sums } = walletData(wallet);
  return {
    id,
    document,
    ...sums,
    ...present(wallet, 'freezeChangedAt', 'freezeChangedBy', 'freezeReason'),
    next_release: next && { ...toNextAmount(next), available_on: dayOf(next.at, timeZone) },
    next_expiry: toNextExpiryDto(wallet.nextExpiry, timeZone),
  };
}

export function toCustomerDto(
  wallet: Wallet,
  nextExpiry: DatedAmount | undefined,
  lastOrderAt: Date | null,
  timeZone: string,
): CustomerDto {
  const { id: wallet_id, ...sums } = walletData(wallet);
  return {
    document: wallet.document,
    wallet_id,
    ...sums,
    next_expiry: toNextExpiryDto(nextExpiry ?? null, timeZone),
    last_order_at: lastOrderAt,
  };
}

const toNextAmount = ({ cents, at }: DatedAmount) => ({ amount: formatMoney(cents), at });

const toNextExpiryDto = (next: DatedAmount | null, timeZone: string): NextExpiryDto | null =>
  next && { ...toNextAmount(next), expires_on: expiresOn(next.at, timeZone) };

const ZERO = formatMoney(0);
export const unknownCustomer = (document: string): WalletDto => ({
  id: null,
  document,
  available: ZERO,
  pending: ZERO,
  held: ZERO,
  debt: ZERO,
  frozen: false,
  freeze_changed_at: null,
  freeze_changed_by: null,
  freeze_reason: null,
  next_release: null,
  next_expiry: null,
});

/** What names where a credit comes from. */
export const nameable = ({ id: creditId, orderId, movedOrderId, refundId }: Credit) => ({
  creditId,
  orderId: orderId ?? movedOrderId,
  refundId,
});

/** Entries of one change as a line: their number, and the sum of their amounts. */
export type EntryLine = Entry & { lines?: number };

/** The kinds of entries that are a grant's own. */
const OF_GRANT: readonly EntryKind[] = ['grant', 'void'];

export function toEntryDto(entry: EntryLine, credit: Credit | undefined, names: ExternalNames): EntryDto {
  const { orders, refunds, grants, debits } = names;
  const { kind, orderId, refundId, debitId, creditId, lines = 1 } = entry;
  const order = orders.get(orderId ?? '');
  const grant = grants.get(creditId ?? '');
  const debit = debits.get(debitId ?? '');
  const reasoned = OF_GRANT.includes(kind) ? grant : kind === 'debit' ? debit : undefined;
  return {
    ...present(entry, 'seq', 'kind', 'amountCents', 'balanceCents', 'debtCents', 'orderId'),
    order_external_id: order?.externalId ?? null,
    sold_at: order?.soldAt ?? null,
    refund_id: refundId,
    refund_external_id: refunds.get(refundId ?? '')?.externalId ?? null,
    debit_id: debitId,
    debit_external_id: debit?.externalId ?? null,
    credit_id: creditId,
    source: credit === undefined ? null : toEntrySourceDto(credit, names),
    lines,
    grant_id: grant === undefined ? null : creditId,
    grant_external_id: grant?.externalId ?? null,
    reason: reasoned?.reason ?? null,
    ...present(entry, 'effectiveAt', 'createdAt'),
    by: byOf(entry.madeBy),
    store: entry.store,
  };
}

const toEntrySourceDto = (credit: Credit, names: ExternalNames): EntrySourceDto => {
  const { reason: _, return: isReturn, ...source } = toSourceDto(credit, names);
  return { ...source, store: credit.store, return: isReturn };
};

export const toCreditDto = (credit: Credit, names: ExternalNames, timeZone: string): CreditDto => ({
  ...present(credit, 'id', 'amountCents', 'remainingCents', 'heldCents'),
  ...datesOf(credit, timeZone),
  store: credit.store,
  source: toSourceDto(credit, names),
});

function toSourceDto(credit: Credit, names: ExternalNames): CreditSourceDto {
  const { id, refundId, reason } = credit;
  const { orderId } = nameable(credit);
  const refund = names.refunds.get(refundId ?? '');
  if (refund !== undefined) {
    const { orderId: id, orderExternalId: external_id } = refund;
    return { type: 'order', id, external_id, reason: null, return: true };
  }
  if (orderId === null)
    return { type: 'grant', id, external_id: names.grants.get(id)?.externalId ?? id, reason, return: false };
  const external_id = names.orders.get(orderId)?.externalId ?? orderId;
  return { type: 'order', id: orderId, external_id, reason: null, return: false };
}

/** The columns of the list as CSV. */
export const CUSTOMER_COLUMNS: readonly Column[] = [
  ...(['document', 'available', 'pending', 'held', 'debt', 'frozen', 'next_expiry.amount'] as const),
  ...(['next_expiry.expires_on', 'last_order_at', 'wallet_id'] as const),
];
