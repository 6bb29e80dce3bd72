import type { EntityManager } from 'typeorm';
import type { Spendable } from '../cashback/quote.js';
import { AVAILABLE, availableParameters, UNCHANGED_AVAILABLE } from '../cashback/wallet-sums.js';
import { inColumn } from '../platform/database/by-merchant.js';
import { violatedUniqueKey } from '../platform/database/errors.js';
import { columnNames, insertRows, type Row, toEntity } from '../platform/database/rows.js';
import type { Recorder } from '../platform/values/domain-event.js';
import { exactCents } from '../platform/values/money.js';
import { createdEvent } from './order-events.js';
import { Order } from './order.entity.js';

// What shared statements do: they insert and find orders of several requests, of any merchants, without locks.

/** How much of a statement an order takes. */
export const sizeOf = ({ items, paymentMethods }: Pick<Order, 'items' | 'paymentMethods'>): number =>
  items.length + paymentMethods.length;

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
  const distinct = [...new Map(orders.toReversed().map((order) => [externalKey(order), order])).values()];
  const created = new Set(await insertNew(manager, distinct.sort(byKey)));
  for (const order of created) record(createdEvent(order));
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
    const others = orders.filter((order) => !existing.has(externalKey(order)));
    // If another request has just created one of them, each is tried alone.
    await insertRows(manager, Order, others);
    return others;
  }
}

/** Returns which external IDs merchants have used already, by `externalKey`. */
export async function existingKeys(
  manager: EntityManager,
  orders: readonly Pick<Order, 'merchantId' | 'externalId'>[],
): Promise<Set<string>> {
  const [condition, parameters] = inColumn('external_id', orders, ({ externalId }) => Buffer.from(externalId));
  const rows = await manager.query<{ merchant_id: string; external_id: Buffer }[]>(
    `SELECT merchant_id, external_id FROM orders WHERE ${condition}`,
    parameters,
  );
  return new Set(
    rows.map(({ merchant_id, external_id }) => keyOf({ merchantId: merchant_id, value: external_id.toString() })),
  );
}

export const externalKey = ({ merchantId, externalId: value }: Pick<Order, 'merchantId' | 'externalId'>): string =>
  keyOf({ merchantId, value });

const byKey = (a: Order, b: Order): number => (externalKey(a) < externalKey(b) ? -1 : 1);

const keyOf = ({ merchantId, value }: OrderKey): string => `${merchantId} ${value}`;

/** An order with what its customer can spend at the same instant, without held amounts. */
export interface OrderWithBalance {
  order: Order;
  balance: Spendable;
  now: Date;
}

/** A merchant's order, by its ID or by the merchant's. */
export interface OrderKey {
  merchantId: string;
  value: string;
}

interface OrderRow extends Row {
  merchant_id: string;
  id: string;
  wallet_id: string | null;
  wallet_frozen: number | null;
  /** NULL if there is no wallet, or if dates have changed the balance since the wallet was last written. */
  balance_available: string | null;
}

/**
 * Finds orders, each with its balance in the same statement, so that both are consistent: with two statements, a hold
 * could be counted twice or not at all. It needs no lock and no transaction.
 *
 * @returns for each key the order; undefined if the merchant has none.
 */
export async function findOrdersWithBalances(
  manager: EntityManager,
  column: 'id' | 'external_id',
  keys: readonly OrderKey[],
  now: Date,
): Promise<(OrderWithBalance | undefined)[]> {
  // `external_id` is binary. A binary parameter for `id` would not use its index.
  const valueOf = ({ value }: OrderKey): string | Buffer => (column === 'id' ? value : Buffer.from(value));
  const [condition, parameters] = inColumn(`o.${column}`, keys, valueOf);
  const rows = await manager.query<OrderRow[]>(`${select(manager, UNCHANGED_AVAILABLE)} WHERE ${condition}`, [
    now,
    ...parameters,
  ]);
  const found = new Map<string, OrderWithBalance>();
  for (const row of await withChangedBalances(manager, rows, now)) {
    const order = toEntity(manager, Order, row);
    const balance = { availableCents: exactCents(row.balance_available ?? 0), isFrozen: Boolean(row.wallet_frozen) };
    found.set(keyOf({ merchantId: order.merchantId, value: column === 'id' ? order.id : order.externalId }), {
      order,
      balance,
      now,
    });
  }
  return keys.map(({ merchantId, value }) => found.get(keyOf({ merchantId, value })));
}

/** @param available the SQL expression of the wallet's available balance. */
function select(manager: EntityManager, available: string): string {
  const columns = columnNames(manager, Order).map((name) => `o.${name}`);
  return `
    SELECT ${columns.join(', ')}, w.id AS wallet_id, w.frozen AS wallet_frozen, ${available} AS balance_available
      FROM orders o LEFT JOIN wallets w ON w.merchant_id = o.merchant_id AND w.document = o.document`;
}

/** Reads the orders again where dates have changed the customer's balance since the wallet was last written. */
async function withChangedBalances(manager: EntityManager, rows: OrderRow[], now: Date): Promise<OrderRow[]> {
  const isChanged = (row: OrderRow): boolean => row.wallet_id !== null && row.balance_available === null;
  const changed = rows.filter(isChanged);
  if (changed.length === 0) return rows;
  // One SELECT per order, because servers use the index for a range of dates only for one wallet at a time.
  const one = `${select(manager, AVAILABLE)} WHERE o.merchant_id = ? AND o.id = ?`;
  const again = await manager.query<OrderRow[]>(
    changed.map(() => one).join(' UNION ALL '),
    changed.flatMap((row) => [...availableParameters(now), row.merchant_id, row.id]),
  );
  return [...rows.filter((row) => !isChanged(row)), ...again];
}
