import type { EntityManager } from 'typeorm';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';

/** The orders that were completed in a part of time, and how many customers these have now. */
export interface OrderCounts {
  orders: number;
  customers: number;
}

const countsBy = (key: string): string => `
  SELECT ${key} AS part, COUNT(*) AS orders, COUNT(DISTINCT document) AS customers
    FROM orders FORCE INDEX (ix_orders_completion)
   WHERE merchant_id = ? AND status IN (?) AND completed_at >= ? AND completed_at < ?
   GROUP BY 1 WITH ROLLUP`;

/**
 * Counts the orders of each store (an empty text is none) or, by number, of each period that follows another one. Of
 * all it also counts the customers of several ones once; its key is null.
 *
 * @param bounds the beginning of each period, and the end of the last one.
 */
export async function countOrders(
  manager: EntityManager,
  merchantId: string,
  bounds: readonly Date[],
  isByStore: boolean,
): Promise<Map<string | null, OrderCounts>> {
  const ends = bounds.slice(1);
  const period = `CASE ${ends.map((_, at) => `WHEN completed_at < ? THEN '${at}'`).join(' ')} END`;
  const sql = countsBy(isByStore ? "COALESCE(store, '')" : period);
  const parameters = [...(isByStore ? [] : ends), merchantId, COMPLETED_STATUSES, bounds[0], bounds.at(-1)];
  const rows = await manager.query<Record<'part' | 'orders' | 'customers', string>[]>(sql, parameters);
  return new Map(
    rows.map(({ part, orders, customers }) => [part, { orders: Number(orders), customers: Number(customers) }]),
  );
}

export const NO_ORDERS: OrderCounts = { orders: 0, customers: 0 };
