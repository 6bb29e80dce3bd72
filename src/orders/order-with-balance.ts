import type { EntityManager } from 'typeorm';
import { AVAILABLE, availableParameters, UNCHANGED_AVAILABLE } from '../cashback/balance-sql.js';
import { exactCents } from '../common/money.js';
import { anyOf, byMerchant } from '../database/by-merchant.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import { Order } from './order.entity.js';

/** An order with what its customer can spend at the same instant, without held amounts. */
export interface OrderWithBalance {
  order: Order;
  availableCents: number;
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
  const groups = byMerchant(keys, ({ value }) => (column === 'id' ? value : Buffer.from(value)));
  const rows = await manager.query<OrderRow[]>(
    `${select(manager, UNCHANGED_AVAILABLE)} WHERE ${anyOf(groups.length, `o.merchant_id = ? AND o.${column} IN (?)`)}`,
    [now, ...groups.flat()],
  );
  const found = new Map<string, OrderWithBalance>();
  for (const row of await withChangedBalances(manager, rows, now)) {
    const order = toEntity(manager, Order, row);
    const availableCents = exactCents(row.balance_available ?? 0);
    found.set(keyOf(order.merchantId, column === 'id' ? order.id : order.externalId), { order, availableCents, now });
  }
  return keys.map(({ merchantId, value }) => found.get(keyOf(merchantId, value)));
}

const keyOf = (merchantId: string, value: string): string => `${merchantId} ${value}`;

/** @param available the SQL expression of the wallet's available balance. */
function select(manager: EntityManager, available: string): string {
  const columns = columnNames(manager, Order).map((name) => `o.${name}`);
  return `
    SELECT ${columns.join(', ')}, w.id AS wallet_id, ${available} AS balance_available
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
