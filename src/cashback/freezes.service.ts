import { Injectable } from '@nestjs/common';
import { SharedStatements } from '../platform/database/shared.js';
import { type Caller } from '../platform/values/caller.js';
import { type Written } from '../platform/values/written.js';
import { aboutWallet, walletData } from './wallet-events.js';
import { WalletReadsService } from './wallet-reads.service.js';
import { type FreezeWalletDto, type WalletDto } from './wallet.dto.js';
import { Wallet } from './wallet.entity.js';
import { WalletStore } from './wallet.store.js';

/** Freezes wallets: orders redeem what they hold already, and nothing more. */
@Injectable()
export class FreezesService {
  constructor(
    private readonly shared: SharedStatements,
    private readonly wallets: WalletStore,
    private readonly reads: WalletReadsService,
  ) {}

  /** @throws Problem not_found, also for a wallet of another merchant. */
  async set(
    { merchantId, apiUserId: by }: Caller,
    id: string,
    { frozen, reason }: FreezeWalletDto,
  ): Promise<Written<WalletDto>> {
    const replayed = await this.shared.transaction(merchantId, async (manager, record) => {
      const wallet = await this.wallets.lockById(manager, merchantId, id);
      if (wallet.row.frozen === frozen) return true;
      const change = { frozen, freezeChangedAt: wallet.now, freezeChangedBy: by, freezeReason: reason };
      await manager.update(Wallet, { id, merchantId }, change);
      const data = { wallet: walletData({ ...wallet.row, frozen }) };
      record({ type: frozen ? 'wallet.frozen' : 'wallet.unfrozen', ...aboutWallet(wallet, by), data });
      return false;
    });
    return { dto: await this.reads.get(merchantId, id), replayed };
  }
}
