import type { EntityManager } from 'typeorm';
import { AVAILABLE, availableParameters, HELD } from '../cashback/balance-sql.js';
import { availableToDebtor, type OrderBalance } from '../cashback/balances.service.js';
import { exactCents } from '../common/money.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import { Order } from './order.entity.js';

/** An order with its balance at the same instant. */
export interface OrderWithBalance {
  order: Order;
  balance: OrderBalance;
}

/**
 * Finds an order with its balance in one statement, so that both are consistent: with two statements, a hold could be
 * counted twice or not at all. It needs no lock and no transaction.
 */
export async function findOrderWithBalance(
  manager: EntityManager,
  merchantId: string,
  key: { id: string } | { externalId: string },
  now: Date,
): Promise<OrderWithBalance | undefined> {
  const [column, value] = 'id' in key ? ['id', key.id] : ['external_id', Buffer.from(key.externalId)];
  const columns = columnNames(manager, Order).map((name) => `o.${name}`);
  const [row] = await manager.query<
    (Row & { balance_available: string | null; balance_held: string; balance_debt: string | null })[]
  >(
    `SELECT ${columns.join(', ')}, ${AVAILABLE} AS balance_available, ${HELD} AS balance_held,
            w.debt_cents AS balance_debt
       FROM orders o LEFT JOIN wallets w ON w.merchant_id = o.merchant_id AND w.document = o.document
      WHERE o.merchant_id = ? AND o.${column} = ?`,
    [...availableParameters(now), now, merchantId, value],
  );
  if (row === undefined) return undefined;
  const order = toEntity(manager, Order, row);
  const availableCents =
    exactCents(row.balance_debt) > 0 ? await availableToDebtor(manager, order, now) : exactCents(row.balance_available);
  return { order, balance: { availableCents, heldCents: exactCents(row.balance_held) } };
}
