import { Injectable } from '@nestjs/common';
import { requireStored, WalletStore } from '../cashback/wallet.store.js';
import { Clock } from '../platform/values/time.js';
import { type DatedTask, doEach, LIMIT_OF_ONE, progressOf, type SweepProgress } from '../platform/database/sweep.js';
import { ALL_MERCHANTS, byMerchant, sweptMerchants } from '../platform/database/by-merchant.js';
import { readInstant } from '../platform/database/rows.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { type Order } from './order.entity.js';
import { OrderStore } from './order.store.js';

/** How many orders are looked up at a time. */
const LIMIT = 200;

const due = (index: string, merchants: string): string => `/* ${ALL_MERCHANTS} */
  SELECT id, merchant_id AS merchantId, expires_at AS expiresAt
    FROM orders FORCE INDEX (${index})
   WHERE status = 'pending' AND expires_at <= ? AND ${merchants} ORDER BY expires_at LIMIT ?`;

const NEXT = `
  SELECT MIN(expires_at) AS at FROM orders FORCE INDEX (ix_orders_status) WHERE merchant_id = ? AND status = 'pending'`;

type Due = Pick<Order, 'id' | 'merchantId' | 'expiresAt'>;

/** Expires pending orders whose time has come, and releases what they hold. */
@Injectable()
export class OrderExpiryService implements DatedTask {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderStore,
    private readonly wallets: WalletStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Expires the orders that are due first, those of a merchant in one transaction. Those that another transaction has
   * locked are left for the next time.
   */
  async run(merchantId?: string): Promise<SweepProgress> {
    const now = this.clock.now(merchantId);
    const [merchants, parameters] = sweptMerchants(merchantId);
    const limit = merchantId === undefined ? LIMIT : LIMIT_OF_ONE;
    const sql = due(merchantId === undefined ? 'ix_orders_expiry' : 'ix_orders_status', merchants);
    const found = await this.unitOfWork.statement((manager) => manager.query<Due[]>(sql, [now, ...parameters, limit]));
    await doEach(
      byMerchant(found, ({ id }) => id),
      ([merchant, ids]) => this.#expire(merchant, ids, now),
    );
    return progressOf(found, limit, now);
  }

  nextOf(merchantId: string): Promise<Date | undefined> {
    return this.unitOfWork.statement((manager) => readInstant(manager, NEXT, [merchantId]));
  }

  /** If the orders cannot expire together, each does alone, so that one that fails holds up no other. */
  async #expire(merchantId: string, ids: readonly string[], now: Date): Promise<void> {
    try {
      await this.wallets.creating(() => this.#expireTogether(merchantId, ids, now));
    } catch (error) {
      if (ids.length === 1) throw error;
      await doEach(ids, (id) => this.#expire(merchantId, [id], now));
    }
  }

  #expireTogether(merchantId: string, ids: readonly string[], now: Date): Promise<void> {
    return this.unitOfWork.transaction(async (manager, record) => {
      const orders = await this.orders.lockDue(manager, merchantId, ids, now);
      const loaded = await this.orders.withWallets(manager, orders, 'skip_locked');
      requireStored(loaded.map(({ wallet }) => wallet));
      for (const { order, wallet } of loaded) order.expireIfDue(wallet);
      await this.orders.save(manager, record, loaded);
    });
  }
}
