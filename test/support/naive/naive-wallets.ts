import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { WalletOwner } from '../../../src/cashback/balances.service.js';
import type { WalletAggregate } from '../../../src/cashback/wallet-aggregate.js';
import { Wallet } from '../../../src/cashback/wallet.entity.js';
import { WalletsService } from '../../../src/cashback/wallets.service.js';
import { Barrier } from './barrier.js';

/**
 * An unsafe variant that reads a wallet without locking it and writes it back. The database numbers the entries,
 * because otherwise their key alone would reject the second writer.
 */
@Injectable()
export class NaiveWallets extends WalletsService {
  readonly #barrier = new Barrier(10);
  #lastSeq = 1_000_000;

  override async lock(manager: EntityManager, owner: WalletOwner, orderId?: string): Promise<WalletAggregate> {
    const { merchantId, document } = owner;
    const known = await this.view(manager, owner, orderId);
    await this.#barrier.arrive();
    if (known !== null) return known;
    await manager.insert(Wallet, {
      id: randomUUID(),
      merchantId,
      document,
      debtCents: 0,
      balanceCents: 0,
      lastSeq: 0,
      createdAt: this.clock.now(),
    });
    return (await this.view(manager, owner, orderId))!;
  }

  override async save(manager: EntityManager, open: WalletAggregate): Promise<void> {
    for (const entry of open.entries) entry.seq = ++this.#lastSeq;
    // Writers wait here instead of deadlocking, because a deadlock would retry them with the correct values.
    const { id, merchantId, balanceCents } = open.wallet;
    await manager.update(Wallet, { id, merchantId }, { balanceCents });
    await super.save(manager, open);
  }
}
