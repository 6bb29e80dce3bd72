import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { WalletAggregate } from '../../../src/cashback/wallet-aggregate.js';
import { loadWallet } from '../../../src/cashback/wallet-rows.js';
import { Wallet, type WalletOwner } from '../../../src/cashback/wallet.entity.js';
import { newWallet, WalletsService } from '../../../src/cashback/wallets.service.js';
import type { Recorder } from '../../../src/common/domain-event.js';
import { Clock } from '../../../src/common/clock.js';
import { Barrier } from './barrier.js';

/**
 * An unsafe variant that reads a wallet without locking it and writes it back. The database numbers the entries,
 * because otherwise their key alone would reject the second writer.
 */
@Injectable()
export class NaiveWallets extends WalletsService {
  readonly #barrier = new Barrier(10);
  #lastSeq = 1_000_000;

  constructor(private readonly ownClock: Clock) {
    super(ownClock);
  }

  override async lock(manager: EntityManager, owner: WalletOwner, order?: { id: string }): Promise<WalletAggregate> {
    const known = await this.#read(manager, owner, order);
    await this.#barrier.arrive();
    if (known !== null) return known;
    await manager.insert(Wallet, newWallet(owner, this.ownClock.now()));
    return (await this.#read(manager, owner, order))!;
  }

  async #read(
    manager: EntityManager,
    { merchantId, document }: WalletOwner,
    order?: { id: string },
  ): Promise<WalletAggregate | null> {
    const now = this.ownClock.now();
    const wallet = await manager.findOneBy(Wallet, { merchantId, document });
    return wallet === null ? null : new WalletAggregate(await loadWallet(manager, wallet, now, order?.id), now);
  }

  override async save(manager: EntityManager, record: Recorder, open: WalletAggregate): Promise<void> {
    for (const entry of open.entries) entry.seq = ++this.#lastSeq;
    // Writers wait here instead of deadlocking, because a deadlock would retry them with the correct values.
    const { id, merchantId, balanceCents } = open.wallet;
    await manager.update(Wallet, { id, merchantId }, { balanceCents });
    await super.save(manager, record, open);
  }
}
