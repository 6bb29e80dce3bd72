import { Injectable } from '@nestjs/common';
import { Wallet } from '../cashback/wallet.entity.js';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { Order } from './order.entity.js';

/**
 * Forgets a person and keeps the sums: wherever the document stood, there is a pseudonym now that leads
 * back to nobody. Orders, credits and the ledger stay as they are, so every figure still adds up, and a
 * refund of an old order still finds its wallet.
 */
@Injectable()
export class ErasureService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * All at once, because an order finds its wallet by the document: the orders first, then the wallet, as always.
   *
   * @returns the pseudonym and how many rows bear it; zeros for a document that is not known (any more).
   */
  erase(merchantId: string, document: string): Promise<{ pseudonym: string; orders: number; wallets: number }> {
    return this.unitOfWork.transaction(async (manager) => {
      const pseudonym = newId(this.clock.now());
      const orders = await manager.update(Order, { merchantId, document }, { document: pseudonym });
      const wallets = await manager.update(Wallet, { merchantId, document }, { document: pseudonym });
      return { pseudonym, orders: orders.affected ?? 0, wallets: wallets.affected ?? 0 };
    });
  }
}
