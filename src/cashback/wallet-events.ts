import type { FeedEvent, FeedEventType } from '../common/domain-event.js';
import { formatMoney } from '../common/money.js';
import { expiresOn } from './validity.js';
import type { Credit } from './credit.entity.js';
import type { WalletAggregate } from './wallet-aggregate.js';
import type { WalletSums } from './wallet-sums.js';

/** Returns the sums of a wallet as responses and events show them. */
export const walletData = (sums: WalletSums) => ({
  id: sums.id,
  available: formatMoney(sums.availableCents),
  pending: formatMoney(sums.pendingCents),
  held: formatMoney(sums.heldCents),
  debt: formatMoney(sums.debtCents),
});

/** Returns an event of a wallet in its current state. @param data what the event says apart from that. */
export function walletEvent(type: FeedEventType, { row, now: at }: WalletAggregate, data: object): FeedEvent {
  const { id: subjectId, merchantId } = row;
  return { type, merchantId, subjectId, at, data: { ...data, wallet: walletData(row) } };
}

/** Returns the event of a grant, or of a void. @param amountCents what was voided. */
export function grantEvent(
  type: 'cashback.granted' | 'cashback.voided',
  wallet: WalletAggregate,
  { id, amountCents: grantedCents, availableAt, expiresAt }: Credit,
  { externalId, timeZone }: { externalId: string; timeZone: string },
  amountCents = grantedCents,
): FeedEvent {
  return walletEvent(type, wallet, {
    amount: formatMoney(amountCents),
    grant: {
      id,
      external_id: externalId,
      amount: formatMoney(grantedCents),
      available_at: availableAt,
      expires_at: expiresAt,
      expires_on: expiresOn(expiresAt, timeZone),
    },
  });
}
