import type { EntityManager } from 'typeorm';

/** The order, the refund or the granted credit of a line. */
interface Named {
  orderId?: string | null;
  refundId?: string | null;
  creditId?: string | null;
}

/** What the merchant knows of a grant. */
export interface GrantName {
  externalId: string;
  reason: string | null;
}

/** What the merchant calls the resources of a page, by their ID. A credit that an order earned is not in `grants`. */
export interface ExternalNames {
  orders: ReadonlyMap<string, string>;
  refunds: ReadonlyMap<string, string>;
  grants: ReadonlyMap<string, GrantName>;
}

interface NameRow {
  id: string;
  external_id: Buffer;
  reason: string | null;
}

const ORDERS = 'SELECT id, external_id FROM orders WHERE merchant_id = ? AND id IN (?)';
const REFUNDS = 'SELECT id, external_id FROM refunds WHERE merchant_id = ? AND id IN (?)';
const GRANTS = `
  SELECT g.credit_id AS id, g.external_id, c.reason
    FROM cashback_grants g JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
   WHERE g.merchant_id = ? AND g.credit_id IN (?)`;

/** Reads what the merchant calls the resources of a page: one statement for each kind that the page has. */
export async function readNames(
  manager: EntityManager,
  merchantId: string,
  lines: readonly Named[],
): Promise<ExternalNames> {
  const read = async (sql: string, member: keyof Named): Promise<NameRow[]> => {
    const ids = [...new Set(lines.map((line) => line[member]).filter((id) => typeof id === 'string'))];
    return ids.length === 0 ? [] : manager.query<NameRow[]>(sql, [merchantId, ids]);
  };
  const orders = await read(ORDERS, 'orderId');
  const refunds = await read(REFUNDS, 'refundId');
  const grants = await read(GRANTS, 'creditId');
  const externalId = (row: NameRow): string => row.external_id.toString('utf8');
  return {
    orders: new Map(orders.map((row) => [row.id, externalId(row)])),
    refunds: new Map(refunds.map((row) => [row.id, externalId(row)])),
    grants: new Map(grants.map((row) => [row.id, { externalId: externalId(row), reason: row.reason }])),
  };
}
