import { type EntityManager } from 'typeorm';

/** The order, the refund, the debit or the granted credit of a line. */
interface Named {
  orderId?: string | null;
  refundId?: string | null;
  debitId?: string | null;
  creditId?: string | null;
}

/** What the merchant calls an order, and when it was sold, if it says so. */
interface OrderName {
  externalId: string;
  soldAt: Date | null;
}

/** What the merchant calls a refund and its order. */
interface RefundName {
  externalId: string;
  orderId: string;
  orderExternalId: string;
}

/** What the merchant knows of a grant or a debit. */
interface ReasonedName {
  externalId: string;
  reason: string | null;
}

/** What the merchant calls the resources of a page, by their ID. A credit that an order earned is not in `grants`. */
export interface ExternalNames {
  orders: ReadonlyMap<string, OrderName>;
  refunds: ReadonlyMap<string, RefundName>;
  grants: ReadonlyMap<string, ReasonedName>;
  debits: ReadonlyMap<string, ReasonedName>;
}

interface NameRow {
  id: string;
  external_id: Buffer;
}

const ORDERS = 'SELECT id, external_id, sold_at FROM orders WHERE merchant_id = ? AND id IN (?)';
const REFUNDS = `
  SELECT r.id, r.external_id, o.id AS order_id, o.external_id AS order_external_id
    FROM refunds r JOIN orders o ON o.id = r.order_id AND o.merchant_id = r.merchant_id
   WHERE r.merchant_id = ? AND r.id IN (?)`;
const GRANTS = `
  SELECT g.credit_id AS id, g.external_id, c.reason
    FROM cashback_grants g JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
   WHERE g.merchant_id = ? AND g.credit_id IN (?)`;
const DEBITS = 'SELECT id, external_id, reason FROM debits WHERE merchant_id = ? AND id IN (?)';

/** Reads what the merchant calls the resources of a page: one statement for each kind that the page has. */
export async function readNames(
  manager: EntityManager,
  merchantId: string,
  lines: readonly Named[],
): Promise<ExternalNames> {
  const read = async <Row extends NameRow>(sql: string, member: keyof Named): Promise<Row[]> => {
    const ids = [...new Set(lines.map((line) => line[member]).filter((id) => typeof id === 'string'))];
    return ids.length === 0 ? [] : manager.query<Row[]>(sql, [merchantId, ids]);
  };
  const orders = await read<NameRow & { sold_at: Date | null }>(ORDERS, 'orderId');
  const refunds = await read<NameRow & { order_id: string; order_external_id: Buffer }>(REFUNDS, 'refundId');
  const reasoned = async (sql: string, member: keyof Named): Promise<Map<string, ReasonedName>> => {
    const rows = await read<NameRow & { reason: string | null }>(sql, member);
    return new Map(rows.map(({ id, external_id, reason }) => [id, { externalId: external_id.toString(), reason }]));
  };
  return {
    orders: new Map(orders.map((row) => [row.id, { externalId: row.external_id.toString(), soldAt: row.sold_at }])),
    refunds: new Map(
      refunds.map(({ id, external_id, order_id: orderId, order_external_id }) => {
        return [id, { externalId: external_id.toString(), orderId, orderExternalId: order_external_id.toString() }];
      }),
    ),
    grants: await reasoned(GRANTS, 'creditId'),
    debits: await reasoned(DEBITS, 'debitId'),
  };
}
