import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletStore } from '../cashback/wallet.store.js';
import type { Recorder } from '../common/domain-event.js';
import { columnNames, insertRows, type Row, toEntity, updateRows } from '../database/rows.js';
import { Order } from './order.entity.js';
import { orderEvent } from './order-events.js';
import { Refund } from './refund.entity.js';

/** A locked order with its customer's locked wallet, in which what the order holds is loaded. */
export interface LoadedOrder {
  order: Order;
  wallet: WalletAggregate;
  /** The order as it is stored. */
  stored: Readonly<Order>;
}

/** Content that can be large, and that only an amendment changes. */
const LARGE = ['items', 'metadata'];

/**
 * Loads orders with their wallets, and saves what they changed, many at once: all rows are locked in one order, the
 * orders by ID, then the wallets by document.
 */
@Injectable()
export class OrderStore {
  constructor(private readonly wallets: WalletStore) {}

  /** Locks an order and its wallet. @returns undefined if the merchant has no such order. */
  async load(manager: EntityManager, merchantId: string, id: string): Promise<LoadedOrder | undefined> {
    const sql = `SELECT ${columnNames(manager, Order).join(', ')} FROM orders WHERE merchant_id = ? AND id = ? FOR UPDATE`;
    const rows = await manager.query<Row[]>(sql, [merchantId, id]);
    return (await this.#withWallets(manager, merchantId, rows))[0];
  }

  /**
   * Locks orders that are due, and their wallets, without the items and metadata of the orders. It leaves out what
   * another transaction has locked.
   */
  async loadDue(manager: EntityManager, merchantId: string, ids: readonly string[], now: Date): Promise<LoadedOrder[]> {
    const columns = columnNames(manager, Order).filter((column) => !LARGE.includes(column));
    const sql = `
      SELECT ${columns.join(', ')}, JSON_ARRAY() AS items, NULL AS metadata FROM orders FORCE INDEX (PRIMARY)
       WHERE merchant_id = ? AND id IN (?) AND status = 'pending' AND expires_at <= ? ORDER BY id FOR UPDATE SKIP LOCKED`;
    const rows = await manager.query<Row[]>(sql, [merchantId, ids, now]);
    return this.#withWallets(manager, merchantId, rows, 'skip_locked');
  }

  /** Saves changed orders of a merchant and their wallets, with one statement per table, and records their events. */
  async save(manager: EntityManager, record: Recorder, loaded: readonly LoadedOrder[]): Promise<void> {
    const changed = loaded.filter(({ order }) => order.changes.length > 0);
    const changes = changed.flatMap(({ order }) => order.changes);
    const refunds = changes.flatMap(({ refund }) => refund ?? []);
    if (refunds.length > 0) await insertRows(manager, Refund, refunds);
    await this.wallets.save(manager, record, new Set(loaded.map(({ wallet }) => wallet)));
    if (changed.length === 0) return;
    const isChanged = (property: keyof Order): boolean =>
      changed.some(({ order, stored }) => order[property] !== stored[property]);
    const { propertiesMap } = manager.dataSource.getMetadata(Order);
    const properties = (Object.keys(propertiesMap) as (keyof Order)[]).filter(isChanged);
    const orders = changed.map(({ order }) => order);
    const expected = changed.map(({ stored: { id, version } }) => [id, version]);
    await updateRows(manager, Order, orders, properties, {}, ['(id, version) IN (?)', [expected]]);
    for (const change of changes) record(orderEvent(change));
  }

  async #withWallets(
    manager: EntityManager,
    merchantId: string,
    rows: readonly Row[],
    onLocked?: 'skip_locked',
  ): Promise<LoadedOrder[]> {
    if (rows.length === 0) return [];
    const orders = rows.map((row) => toEntity(manager, Order, row));
    const wallets = await this.wallets.lockAll(manager, merchantId, orders, onLocked);
    const loaded = orders.flatMap((order) => {
      const wallet = wallets.get(order.document);
      return wallet === undefined ? [] : [{ order, wallet, stored: { ...order } as Order }];
    });
    const holding = loaded.filter(({ order }) => order.heldCents > 0);
    await this.wallets.loadHolds(manager, merchantId, new Map(holding.map(({ order, wallet }) => [order.id, wallet])));
    return loaded;
  }
}
