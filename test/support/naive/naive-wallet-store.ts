import { Injectable } from '@nestjs/common';
import type { EntityManager, EntityTarget, FindManyOptions, ObjectLiteral } from 'typeorm';
import type { WalletAggregate } from '../../../src/cashback/wallet-aggregate.js';
import { Wallet } from '../../../src/cashback/wallet.entity.js';
import { WalletStore } from '../../../src/cashback/wallet.store.js';
import type { Recorder } from '../../../src/common/domain-event.js';
import { Barrier } from './barrier.js';

/**
 * An unsafe variant that reads a wallet without locking it and writes it back. It numbers the entries, because
 * otherwise their key alone would reject the second writer.
 */
@Injectable()
export class NaiveWalletStore extends WalletStore {
  readonly #barrier = new Barrier(10);
  #lastSeq = 1_000_000;

  override async lockAll(
    manager: EntityManager,
    ...args: Parameters<WalletStore['lockAll']> extends [unknown, ...infer Rest] ? Rest : never
  ): Promise<Map<string, WalletAggregate>> {
    const find = <T extends ObjectLiteral>(target: EntityTarget<T>, { lock: _, ...options }: FindManyOptions<T>) =>
      manager.find(target, options);
    const unlocked = Object.create(manager, { find: { value: find } }) as EntityManager;
    const wallets = await super.lockAll(unlocked, ...args);
    await this.#barrier.arrive();
    return wallets;
  }

  override async save(manager: EntityManager, record: Recorder, wallets: Iterable<WalletAggregate>): Promise<void> {
    const all = [...wallets];
    for (const { row, entries } of all) {
      for (const entry of entries) entry.seq = ++this.#lastSeq;
      // Writers wait here instead of deadlocking, because a deadlock would retry them with the correct values.
      const { id, merchantId, balanceCents } = row;
      await manager.update(Wallet, { id, merchantId }, { balanceCents });
    }
    await super.save(manager, record, all);
  }
}
