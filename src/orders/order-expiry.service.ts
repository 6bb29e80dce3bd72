import { Injectable } from '@nestjs/common';
import { createMissingWallets } from '../cashback/wallets.service.js';
import { lockAndSum } from '../cashback/wallet-summary.js';
import { Clock } from '../common/clock.js';
import { doEach, doneUntil, type SharedWork } from '../common/sweep.js';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import { byMerchant } from '../database/by-merchant.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { LockedOrders, orderEvent } from './locked-orders.js';
import { Order } from './order.entity.js';
import { toOrderDto } from './order.mapper.js';

/** How many orders are looked up at a time. */
const LIMIT = 200;

const DUE = `/* ${ALL_MERCHANTS} */
  SELECT id, merchant_id AS merchantId, redemption_cents AS heldCents, expires_at AS expiresAt
    FROM orders FORCE INDEX (ix_orders_expiry)
   WHERE status = 'pending' AND expires_at <= ? ORDER BY expires_at LIMIT ?`;

const lockWithoutHold = (columns: string): string => `
  SELECT ${columns} FROM orders FORCE INDEX (PRIMARY)
   WHERE merchant_id = ? AND id IN (?) AND status = 'pending' AND expires_at <= ? AND redemption_cents = 0
     FOR UPDATE SKIP LOCKED`;

const EXPIRE = `
  UPDATE orders FORCE INDEX (PRIMARY)
     SET status = 'expired', version = version + 1, updated_at = GREATEST(updated_at, ?)
   WHERE merchant_id = ? AND id IN (?) AND status = 'pending'`;

type Due = Pick<Order, 'id' | 'merchantId' | 'expiresAt'> & { heldCents: string | number };

/** Expires pending orders whose time has come, and releases what they hold. */
@Injectable()
export class OrderExpiryService implements SharedWork {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: LockedOrders,
    private readonly clock: Clock,
  ) {}

  /**
   * Expires the orders that are due first. Those that another transaction has locked are left for the next time.
   *
   * @returns the instant up to which no order is due any more.
   */
  async next(): Promise<Date> {
    const now = this.clock.now();
    const due = await this.unitOfWork.statement((manager) => manager.query<Due[]>(DUE, [now, LIMIT]));
    const withoutHold = due.filter((order) => !holdsCashback(order));
    const groups = byMerchant(withoutHold, ({ id }) => id);
    await doEach(groups, ([merchantId, ids]) => this.#expireWithoutHold(merchantId, ids, now));
    await doEach(due.filter(holdsCashback), (order) => this.#expire(order));
    return doneUntil(due, LIMIT, now);
  }

  /** Expires orders that hold nothing: their wallet does not change. */
  async #expireWithoutHold(merchantId: string, dueIds: string[], now: Date): Promise<void> {
    await this.unitOfWork.transaction(async (manager, record) => {
      // Their events do not have the items and the metadata, which can be large.
      const columns = columnNames(manager, Order).filter((column) => !['items', 'metadata'].includes(column));
      const rows = await manager.query<Row[]>(lockWithoutHold(columns.join(', ')), [merchantId, dueIds, now]);
      if (rows.length === 0) return;
      const locked = rows.map((row) => toEntity(manager, Order, row));
      const documents = locked.map(({ document }) => document);
      await createMissingWallets(manager, merchantId, documents, now);
      const sums = await lockAndSum(manager, merchantId, 'document', documents, now, 'skip_locked');
      const orders = locked.filter(({ document }) => sums.has(document));
      if (orders.length === 0) return;
      const ids = orders.map(({ id }) => id);
      const { affectedRows } = await manager.query<{ affectedRows: number }>(EXPIRE, [now, merchantId, ids]);
      if (affectedRows !== ids.length) throw new Error('a locked order was changed by another transaction');
      for (const order of orders) {
        const updatedAt = now < order.updatedAt ? order.updatedAt : now;
        const expired: Order = { ...order, status: 'expired', version: order.version + 1, updatedAt, items: [] };
        const wallet = sums.get(order.document)!;
        const dto = toOrderDto(expired, wallet.availableCents, updatedAt);
        record(orderEvent('order.expired', expired, dto, wallet));
      }
    });
  }

  /** Expires an order that holds cashback: the order's row first, then the wallet's. */
  async #expire({ id, merchantId }: Due): Promise<void> {
    await this.unitOfWork.transaction(async (manager, record) => {
      const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
      const order = await manager.findOne(Order, { where: { id, merchantId, status: 'pending' }, lock });
      if (order === null) return;
      const wallet = await this.orders.lockWallet(manager, record, order);
      if (order.status === 'expired') await this.orders.save(manager, record, order, wallet);
    });
  }
}

const holdsCashback = ({ heldCents }: Due): boolean => Number(heldCents) > 0;
