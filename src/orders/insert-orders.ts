import type { EntityManager } from 'typeorm';
import type { Recorder } from '../common/domain-event.js';
import { anyOf, byMerchant } from '../database/by-merchant.js';
import { violatedUniqueKey } from '../database/errors.js';
import { insertRows } from '../database/rows.js';
import { Order } from './order.entity.js';

/**
 * Inserts the orders that are new. The unique key of `external_id` decides, also among the orders of one statement.
 * It is a plain INSERT, because ON DUPLICATE KEY UPDATE would wait for each transaction that has locked the existing
 * order.
 *
 * @returns for each order, false if its merchant already has one with its `external_id`.
 */
export async function insertOrders(
  manager: EntityManager,
  orders: readonly Order[],
  record: Recorder,
): Promise<boolean[]> {
  // Sorted, so that two statements with the same external IDs cannot wait for each other.
  const distinct = [...new Map(orders.toReversed().map((order) => [keyOf(order), order])).values()];
  const created = new Set(await insertNew(manager, distinct.sort(byKey)));
  for (const { merchantId, id: orderId } of created) record({ type: 'order.created', merchantId, orderId });
  return orders.map((order) => created.has(order));
}

/** @returns the orders that it inserted. */
async function insertNew(manager: EntityManager, orders: readonly Order[]): Promise<readonly Order[]> {
  try {
    await insertRows(manager, Order, orders);
    return orders;
  } catch (error) {
    if (violatedUniqueKey(error) !== 'uq_orders_merchant_external_id') throw error;
    if (orders.length === 1) return [];
    const existing = await existingKeys(manager, orders);
    const others = orders.filter((order) => !existing.has(keyOf(order)));
    // If another request has just created one of them, each is tried alone.
    if (others.length > 0) await insertRows(manager, Order, others);
    return others;
  }
}

async function existingKeys(manager: EntityManager, orders: readonly Order[]): Promise<Set<string>> {
  const groups = byMerchant(orders, ({ externalId }) => Buffer.from(externalId));
  const rows = await manager.query<{ merchant_id: string; external_id: Buffer }[]>(
    `SELECT merchant_id, external_id FROM orders
      WHERE ${anyOf(groups.length, 'merchant_id = ? AND external_id IN (?)')}`,
    groups.flat(),
  );
  return new Set(
    rows.map(({ merchant_id, external_id }) => keyOf({ merchantId: merchant_id, externalId: external_id.toString() })),
  );
}

const keyOf = ({ merchantId, externalId }: Pick<Order, 'merchantId' | 'externalId'>): string =>
  `${merchantId} ${externalId}`;

const byKey = (a: Order, b: Order): number => (keyOf(a) < keyOf(b) ? -1 : 1);
