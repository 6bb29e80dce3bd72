import type { NewFeedEvent, WalletData } from '../common/domain-event.js';
import { formatMoney } from '../common/money.js';
import { expiresOn } from './validity.js';
import type { Credit } from './credit.entity.js';
import type { WalletAggregate } from './wallet-aggregate.js';
import type { WalletSums } from './wallet-sums.js';

export const walletData = (sums: WalletSums): WalletData => ({
  id: sums.id,
  available: formatMoney(sums.availableCents),
  pending: formatMoney(sums.pendingCents),
  held: formatMoney(sums.heldCents),
  debt: formatMoney(sums.debtCents),
});

/** What every event of a wallet says of it. */
export const aboutWallet = ({ row, now }: WalletAggregate) => ({
  merchantId: row.merchantId,
  subjectId: row.id,
  occurredAt: now,
});

/** @param amountCents what was granted or voided. */
export function grantEvent(
  type: 'cashback.granted' | 'cashback.voided',
  wallet: WalletAggregate,
  { id, amountCents: grantedCents, availableAt, expiresAt }: Credit,
  { externalId, timeZone }: { externalId: string; timeZone: string },
  amountCents = grantedCents,
): NewFeedEvent {
  return {
    type,
    ...aboutWallet(wallet),
    data: {
      amount: formatMoney(amountCents),
      grant: {
        id,
        external_id: externalId,
        amount: formatMoney(grantedCents),
        available_at: availableAt,
        expires_at: expiresAt,
        expires_on: expiresOn(expiresAt, timeZone),
      },
      wallet: walletData(wallet.row),
    },
  };
}
