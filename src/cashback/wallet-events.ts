import type { By } from '../platform/values/caller.js';
import type { NewFeedEvent, WalletData } from '../platform/values/domain-event.js';
import { formatMoney } from '../platform/values/money.js';
import { dayOf } from '../platform/values/time.js';
import type { Credit } from './credit.entity.js';
import type { Debit } from './debit.entity.js';
import { expiresOn } from './validity.js';
import type { WalletAggregate } from './wallet-aggregate.js';
import type { WalletSums } from './wallet-sums.js';

export const walletData = (sums: WalletSums): WalletData => ({
  id: sums.id,
  available: formatMoney(sums.availableCents),
  pending: formatMoney(sums.pendingCents),
  held: formatMoney(sums.heldCents),
  debt: formatMoney(sums.debtCents),
  frozen: sums.frozen,
});

/** What every event of a wallet says of it. */
export const aboutWallet = ({ row, now }: WalletAggregate, madeBy: By) => ({
  merchantId: row.merchantId,
  subjectId: row.id,
  occurredAt: now,
  madeBy,
});

/** @param amountCents what was taken or restored. */
export function debitEvent(
  type: 'cashback.debited' | 'cashback.debit_voided',
  wallet: WalletAggregate,
  { id, externalId: external_id, store, amountCents: takenCents }: Debit,
  madeBy: By,
  amountCents: number,
): NewFeedEvent {
  const debit = { id, external_id, store, amount: formatMoney(takenCents) };
  const data = { amount: formatMoney(amountCents), debit, wallet: walletData(wallet.row) };
  return { type, ...aboutWallet(wallet, madeBy), data };
}

/** @param amountCents what was granted or voided. */
export function grantEvent(
  type: 'cashback.granted' | 'cashback.voided',
  wallet: WalletAggregate,
  { id, amountCents: grantedCents, availableAt, expiresAt, store }: Credit,
  { externalId, timeZone, madeBy }: { externalId: string; timeZone: string; madeBy: By },
  amountCents = grantedCents,
): NewFeedEvent {
  return {
    type,
    ...aboutWallet(wallet, madeBy),
    data: {
      amount: formatMoney(amountCents),
      grant: {
        id,
        external_id: externalId,
        store,
        amount: formatMoney(grantedCents),
        available_at: availableAt,
        available_on: dayOf(availableAt, timeZone),
        expires_at: expiresAt,
        expires_on: expiresOn(expiresAt, timeZone),
      },
      wallet: walletData(wallet.row),
    },
  };
}
