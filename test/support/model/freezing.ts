import type { Dice } from './dice.js';
import { count, invalid } from './expected.js';
import { requestOf, type Shop } from './shop.js';

/** Freezes a wallet or ends that, or asks for what is already so. */
export async function freezeWallet(shop: Shop, dice: Dice): Promise<void> {
  const document = shop.aDocument(dice);
  const wallet = shop.wallet(document);
  if (wallet.id === undefined) await shop.compareWallet(document);
  if (wallet.id === undefined) return;
  const frozen = dice.once(5) ? wallet.isFrozen : !wallet.isFrozen;
  const reason = dice.pick(['Chargeback', 'Conta invadida']);
  const [wrong, members] = dice.pick<[string | false, object]>([
    ...Array<[false, object]>(9).fill([false, {}]),
    ['reason', { reason: undefined }],
    ['reason', { reason: 'x'.repeat(501) }],
    ['frozen', { frozen: 'yes' }],
  ]);
  const request = requestOf(dice, 'PUT', `/wallets/${wallet.id}/freeze`, { frozen, reason, ...members });
  await shop.write(request, [invalid(wrong)], () => {
    const isRepeated = frozen === wallet.isFrozen;
    if (!isRepeated) {
      count(frozen ? 'a wallet is frozen' : 'a wallet is unfrozen');
      if (frozen && wallet.held() > 0n) count('a wallet is frozen while something is held');
      wallet.freeze = { frozen, reason, at: shop.now, by: shop.by };
    }
    return { status: 200, body: shop.walletView(document), replayed: isRepeated };
  });
}
