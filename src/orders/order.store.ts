import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ownerKey } from '../cashback/wallet.entity.js';
import { type WalletAggregate } from '../cashback/wallet-aggregate.js';
import { type OnLocked, WalletStore } from '../cashback/wallet.store.js';
import { Recorder } from '../platform/values/domain-event.js';
import { inColumn } from '../platform/database/by-merchant.js';
import { columnNames, insertRows, type Row, toEntity, updateRows } from '../platform/database/rows.js';
import { Order } from './order.entity.js';
import { createdEvent, orderEvent } from './order-events.js';
import { Refund } from './refund.entity.js';

/** A locked order with its customer's locked wallet, in which what the order holds is loaded. */
export interface LoadedOrder {
  order: Order;
  wallet: WalletAggregate;
  /** The order as it was loaded or created. */
  stored: Readonly<Order>;
  /** Whether it is not stored yet. */
  isNew: boolean;
}

/** Content that can be large, and that only an amendment changes. */
const LARGE = ['items', 'metadata'];

/** An order in the same state, without its changes. */
export const copyOf = (order: Readonly<Order>): Order => Object.assign(new Order(), order);

/**
 * Loads orders with their wallets, and saves what they changed, many at once: all rows are locked in one order, the
 * orders by ID, then the wallets by merchant and document.
 */
@Injectable()
export class OrderStore {
  constructor(private readonly wallets: WalletStore) {}

  /**
   * Locks orders.
   *
   * @param onLocked leaves out what another transaction has locked; otherwise it is waited for.
   * @returns the orders that the merchants have.
   */
  lock(
    manager: EntityManager,
    keys: readonly { merchantId: string; orderId: string }[],
    onLocked: OnLocked,
  ): Promise<Order[]> {
    if (keys.length === 0) return Promise.resolve([]);
    const [condition, parameters] = inColumn('id', keys, ({ orderId }) => orderId);
    return this.#lock(manager, columnNames(manager, Order), condition, parameters, onLocked);
  }

  /**
   * Locks orders of a merchant that are due, without their items and metadata. It leaves out what another transaction
   * has locked.
   */
  lockDue(manager: EntityManager, merchantId: string, ids: readonly string[], now: Date): Promise<Order[]> {
    const columns = columnNames(manager, Order).filter((column) => !LARGE.includes(column));
    return this.#lock(
      manager,
      [...columns, 'JSON_ARRAY() AS items', 'NULL AS metadata'],
      "merchant_id = ? AND id IN (?) AND status = 'pending' AND expires_at <= ?",
      [merchantId, ids, now],
      'skip_locked',
    );
  }

  /** Locks the wallets of locked orders. */
  async withWallets(
    manager: EntityManager,
    orders: readonly Order[],
    onLocked: OnLocked,
    {
      isRefund = () => false,
      isNew = () => false,
    }: Partial<Record<'isRefund' | 'isNew', (order: Order) => boolean>> = {},
  ): Promise<LoadedOrder[]> {
    const customers = orders.map((order) => ({
      merchantId: order.merchantId,
      document: order.document,
      order,
      isRefund: isRefund(order),
    }));
    const wallets = await this.wallets.lockAll(manager, customers, onLocked);
    return orders.flatMap((order) => {
      const wallet = wallets.get(ownerKey(order));
      return wallet === undefined ? [] : [{ order, wallet, stored: copyOf(order), isNew: isNew(order) }];
    });
  }

  /**
   * Saves changed orders and their wallets, with one statement per table, and records their events.
   *
   * @param others wallets of other customers.
   */
  async save(
    manager: EntityManager,
    record: Recorder,
    loaded: readonly LoadedOrder[],
    others: readonly WalletAggregate[] = [],
  ): Promise<void> {
    const changed = loaded.filter(({ order }) => order.changes.length > 0);
    const changes = changed.flatMap(({ order }) => order.changes);
    const created = changed.filter(({ isNew }) => isNew);
    const existing = changed.filter(({ isNew }) => !isNew);
    const refundsOf = (type: string): Refund[] =>
      changes.flatMap(({ type: changed, refund }) => (changed === type ? (refund ?? []) : []));
    await insertRows(
      manager,
      Order,
      created.map(({ order }) => order),
    );
    await insertRows(manager, Refund, refundsOf('order.refunded'));
    for (const { id, merchantId, voidedAt, voidedBy, voidReason } of refundsOf('order.refund_voided'))
      await manager.update(Refund, { id, merchantId }, { voidedAt, voidedBy, voidReason });
    await this.wallets.save(manager, record, new Set([...loaded.map(({ wallet }) => wallet), ...others]));
    for (const { stored } of created) record(createdEvent(copyOf(stored)));
    if (existing.length > 0) await this.#update(manager, existing);
    for (const change of changes) record(orderEvent(change));
  }

  async #update(manager: EntityManager, changed: readonly LoadedOrder[]): Promise<void> {
    const isChanged = (property: keyof Order): boolean =>
      changed.some(({ order, stored }) => order[property] !== stored[property]);
    const properties = (Object.keys(manager.dataSource.getMetadata(Order).propertiesMap) as (keyof Order)[]).filter(
      isChanged,
    );
    const orders = changed.map(({ order }) => order);
    const expected = changed.map(({ stored: { id, version } }) => [id, version]);
    await updateRows(manager, Order, orders, properties, {}, ['(id, version) IN (?)', [expected]]);
  }

  async #lock(
    manager: EntityManager,
    columns: readonly string[],
    condition: string,
    parameters: readonly unknown[],
    onLocked: OnLocked,
  ): Promise<Order[]> {
    const sql = `
      SELECT ${columns.join(', ')} FROM orders FORCE INDEX (PRIMARY)
       WHERE ${condition} ORDER BY id FOR UPDATE${onLocked === undefined ? '' : ' SKIP LOCKED'}`;
    const rows = await manager.query<Row[]>(sql, [...parameters]);
    return rows.map((row) => toEntity(manager, Order, row));
  }
}
