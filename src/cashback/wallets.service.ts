import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { newId } from '../common/ids.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { Hold } from './hold.entity.js';
import { WalletAggregate } from './wallet-aggregate.js';
import { Wallet } from './wallet.entity.js';

/** Rows of one INSERT: well under what a statement may be in size. */
const BATCH = 500;

/** Opens wallets, for changing them under their lock or for looking, and writes down what changed. */
@Injectable()
export class WalletsService {
  /**
   * Locks a customer's wallet, made if there is none, for the rest of the transaction. Callers that
   * lock an order too lock it first: order row, then wallet row, then its credits.
   */
  async lock(manager: EntityManager, merchantId: string, document: string, now: Date): Promise<WalletAggregate> {
    const owner = { merchantId, document };
    let wallet = await manager.findOne(Wallet, { where: owner, lock: { mode: 'pessimistic_write' } });
    if (wallet === null) {
      // Whoever is second to make it finds the first one's; the unique key decides.
      const row = { id: newId(now), ...owner, debtCents: 0, balanceCents: 0, lastSeq: 0, createdAt: now };
      await manager.createQueryBuilder().insert().into(Wallet).values(row).orIgnore().updateEntity(false).execute();
      wallet = await manager.findOneOrFail(Wallet, { where: owner, lock: { mode: 'pessimistic_write' } });
    }
    return this.#open(manager, wallet, now, true);
  }

  /** Opens a customer's wallet to look at: settled to `now` in memory, nothing locked. Null if there is none. */
  async view(
    manager: EntityManager,
    owner: { merchantId: string; document: string },
    now: Date,
  ): Promise<WalletAggregate | null> {
    const wallet = await manager.findOneBy(Wallet, owner);
    return wallet === null ? null : this.#open(manager, wallet, now, false);
  }

  /** Writes down what a use case did to a locked wallet. */
  async save(manager: EntityManager, open: WalletAggregate): Promise<void> {
    if (open.entries.length === 0) return;
    for (const credits of batches([...open.changedCredits])) {
      await manager
        .createQueryBuilder()
        .insert()
        .into(Credit)
        .values(credits)
        .orUpdate(['remaining_cents', 'expires_at'], ['id'])
        .updateEntity(false)
        .execute();
    }
    // The holds of an order end together.
    const ended = [...new Set(open.endedHolds.map((hold) => hold.orderId))];
    for (const orderIds of batches(ended)) await manager.delete(Hold, { orderId: In(orderIds) });
    for (const holds of batches(open.newHolds)) await manager.insert(Hold, holds);
    for (const entries of batches(open.entries)) await manager.insert(Entry, entries);
    const { id, debtCents, balanceCents, lastSeq } = open.wallet;
    await manager.update(Wallet, { id }, { debtCents, balanceCents, lastSeq });
  }

  /** The credits an order redeemed from, each with what no refund has returned to it yet. */
  async redeemedCredits(manager: EntityManager, orderId: string): Promise<{ credit: Credit; amountCents: number }[]> {
    const openCents = new Map<string, number>();
    for (const { creditId, amountCents } of await manager.findBy(Entry, { orderId, kind: In(['redeem', 'restore']) })) {
      if (creditId !== null) openCents.set(creditId, (openCents.get(creditId) ?? 0) - amountCents);
    }
    const credits = await manager.findBy(Credit, { id: In([...openCents.keys()]) });
    return credits.map((credit) => ({ credit, amountCents: openCents.get(credit.id) ?? 0 }));
  }

  async #open(manager: EntityManager, wallet: Wallet, now: Date, locked: boolean): Promise<WalletAggregate> {
    const lock = locked ? { lock: { mode: 'pessimistic_write' as const } } : {};
    const holds = await manager.find(Hold, { where: { walletId: wallet.id }, ...lock });
    const credits = await manager.find(Credit, {
      where: [
        { walletId: wallet.id, isOpen: 1 },
        ...(holds.length > 0 ? [{ id: In(holds.map((hold) => hold.creditId)) }] : []),
      ],
      ...lock,
    });
    return new WalletAggregate(wallet, credits, holds, now);
  }
}

function* batches<T>(rows: readonly T[]): Generator<T[]> {
  for (let at = 0; at < rows.length; at += BATCH) yield rows.slice(at, at + BATCH);
}
