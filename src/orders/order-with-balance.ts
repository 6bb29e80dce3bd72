import type { EntityManager } from 'typeorm';
import {
  availableCents,
  BALANCE_COLUMNS,
  balanceParameters,
  type BalanceRow,
  balanceSql,
} from '../cashback/balances.service.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import { Order } from './order.entity.js';

/** An order with what its customer has free to spend: both of one moment. */
export interface OrderWithBalance {
  order: Order;
  availableCents: number;
}

/**
 * Finds an order and the balance it is shown with in one statement, and so in one moment: read one after
 * the other, a hold could be seen twice or not at all. It takes no lock and no transaction.
 */
export async function findOrderWithBalance(
  manager: EntityManager,
  merchantId: string,
  key: { id: string } | { externalId: string },
  now: Date,
): Promise<OrderWithBalance | undefined> {
  const [column, value] = 'id' in key ? ['id', key.id] : ['external_id', Buffer.from(key.externalId)];
  const wanted = [merchantId, value];
  const parameters = [...wanted, ...balanceParameters(merchantId, wanted, now)];
  const rows = await manager.query<(Row & BalanceRow)[]>(
    orderWithBalanceSql(columnNames(manager, Order), column),
    parameters,
  );
  const found = rows.find((row) => row.id !== null);
  const balance = rows.filter((row) => row.id === null);
  return found && { order: toEntity(manager, Order, found), availableCents: availableCents(balance, now) };
}

/** One row of the order, and those of its balance, in which the order's columns are empty. */
function orderWithBalanceSql(columns: string[], key: string): string {
  const which = `FROM orders o WHERE o.merchant_id = ? AND o.${key} = ?`;
  return `
  SELECT ${columns.map((column) => `o.${column}`).join(', ')}, ${BALANCE_COLUMNS.map((column) => `NULL AS ${column}`).join(', ')} ${which}
   UNION ALL ${balanceSql(`SELECT o.document ${which}`, columns.length)}`;
}
