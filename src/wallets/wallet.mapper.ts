import type { WhoIs } from '../auth/user-names.service.js';
import type { Credit } from '../cashback/credit.entity.js';
import type { Entry } from '../cashback/entry.entity.js';
import { expiresOn } from '../cashback/validity.js';
import { walletData } from '../cashback/wallet-events.js';
import type { DatedAmount, WalletSummary } from '../cashback/wallet-sums.js';
import type { Wallet } from '../cashback/wallet.entity.js';
import { dayOf } from '../common/calendar-days.js';
import { formatMoney } from '../common/money.js';
import type { CreditDto, CreditSourceDto } from './dto/credit.dto.js';
import type { CustomerDto } from './dto/customer.dto.js';
import type { EntryDto, NextExpiryDto, WalletDto } from './dto/wallet.dto.js';
import type { ExternalNames } from './external-names.js';

export function toWalletDto(wallet: WalletSummary, timeZone: string): WalletDto {
  const { document, nextRelease: next } = wallet;
  const { id, ...sums } = walletData(wallet);
  return {
    id,
    document,
    ...sums,
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
  next_release: null,
  next_expiry: null,
});

/** What names where a credit comes from. */
export const nameable = ({ id: creditId, orderId, movedOrderId, refundId }: Credit) => ({
  creditId,
  orderId: orderId ?? movedOrderId,
  refundId,
});

export function toEntryDto(entry: Entry, { orders, refunds, grants }: ExternalNames, whoIs: WhoIs): EntryDto {
  const { orderId, refundId, creditId } = entry;
  const grant = grants.get(creditId ?? '');
  return {
    seq: entry.seq,
    kind: entry.kind,
    amount: formatMoney(entry.amountCents),
    balance: formatMoney(entry.balanceCents),
    debt: formatMoney(entry.debtCents),
    order_id: orderId,
    order_external_id: orders.get(orderId ?? '') ?? null,
    refund_id: refundId,
    refund_external_id: refunds.get(refundId ?? '')?.externalId ?? null,
    credit_id: creditId,
    grant_id: grant === undefined ? null : creditId,
    grant_external_id: grant?.externalId ?? null,
    reason: grant?.reason ?? null,
    effective_at: entry.effectiveAt,
    created_at: entry.createdAt,
    by: whoIs(entry.madeBy),
    store: entry.store,
  };
}

export function toCreditDto(credit: Credit, names: ExternalNames, timeZone: string): CreditDto {
  return {
    id: credit.id,
    amount: formatMoney(credit.amountCents),
    remaining: formatMoney(credit.remainingCents),
    held: formatMoney(credit.heldCents),
    available_at: credit.availableAt,
    available_on: dayOf(credit.availableAt, timeZone),
    expires_at: credit.expiresAt,
    expires_on: expiresOn(credit.expiresAt, timeZone),
    store: credit.store,
    source: toSourceDto(credit, names),
  };
}

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
  return { type: 'order', id: orderId, external_id: names.orders.get(orderId) ?? orderId, reason: null, return: false };
}
