import { Injectable } from '@nestjs/common';
import { type EntityManager, In, IsNull } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { ContentDigests } from './content-digests.js';
import { Order } from './order.entity.js';

/** How many orders are read at a time: each may have 256 KiB. */
const BATCH = 20;

/** What was erased. `wallet_id` is how the operator finds the wallet from now on. */
export type Erasure = { pseudonym: string; wallet_id: string | null; orders: number; wallets: number };

/**
 * Forgets a person and keeps the sums: a pseudonym that leads back to nobody replaces the document. Orders, credits and
 * the ledger keep their amounts, so every sum still adds up, and a refund of an old order still finds its wallet.
 */
@Injectable()
export class ErasureService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly wallets: WalletsService,
    private readonly digests: ContentDigests,
    private readonly clock: Clock,
  ) {}

  /**
   * Erases a customer in one transaction, because an order finds its wallet by the document. Orders are locked first,
   * then the wallet, as always. Once the wallet is locked no order of the customer can change it, so the orders that were
   * created meanwhile are found then. An order created later begins a new wallet.
   *
   * @returns the pseudonym, the wallet, and how many rows have the pseudonym; zeros for a document that is not known.
   */
  erase(merchantId: string, document: string): Promise<Erasure> {
    return this.unitOfWork.transaction(async (manager) => {
      const owner = { merchantId, document };
      const pseudonym = newId(this.clock.now());
      const before = await this.#eraseOrders(manager, owner, pseudonym);
      const isKnown = before > 0 || (await manager.existsBy(Wallet, owner));
      if (!isKnown) return { pseudonym, wallet_id: null, orders: 0, wallets: 0 };
      const { wallet } = await this.wallets.lock(manager, owner);
      const meanwhile = await this.#eraseOrders(manager, owner, pseudonym);
      await manager.update(Wallet, { id: wallet.id }, { document: pseudonym });
      await manager.update(Credit, { walletId: wallet.id }, { reason: null });
      return { pseudonym, wallet_id: wallet.id, orders: before + meanwhile, wallets: 1 };
    });
  }

  /** Reads the ids without a lock and changes these rows only: no index finds the orders of a document. */
  async #eraseOrders(
    manager: EntityManager,
    owner: { merchantId: string; document: string },
    pseudonym: string,
  ): Promise<number> {
    const found = await manager.find(Order, { select: { id: true }, where: owner });
    let erased = 0;
    for (let at = 0; at < found.length; at += BATCH) {
      const id = In(found.slice(at, at + BATCH).map((order) => order.id));
      await this.#addDigests(manager, await manager.findBy(Order, { id, contentDigest: IsNull() }));
      const { affected } = await manager.update(Order, { id, ...owner }, { document: pseudonym });
      erased += affected ?? 0;
    }
    return erased;
  }

  /** Gives a digest to orders that an older release created. */
  async #addDigests(manager: EntityManager, orders: readonly Order[]): Promise<void> {
    for (const order of orders)
      await manager.update(Order, { id: order.id }, { contentDigest: this.digests.of(order) });
  }
}
