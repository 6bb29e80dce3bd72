import { type EntityManager, type EntityTarget } from 'typeorm';
import { GONE } from '../../cashback/wallet-credits.js';
import { CustomerChange } from '../../orders/customer-change.entity.js';
import { Order } from '../../orders/order.entity.js';
import { Refund } from '../../orders/refund.entity.js';
import { columnNames, type Row, toEntity } from '../../platform/database/rows.js';
import { type By } from '../../platform/values/caller.js';
import { exactCents } from '../../platform/values/money.js';
import { ENTRY_SUMS } from './ledger-checks.js';
import { inPage, type Page, queryPage } from './page.js';

const SUM_NAMES = [
  'holds_cents',
  'redeem_entries',
  'earn_entries',
  'return_entries',
  'take_back_entries',
  'gone_cents',
  'gone_before_cents',
] as const;

/** The row of an order, with columns of other rows, and sums in centavos. Findings show its names. */
export interface OrderRow extends Row, Record<(typeof SUM_NAMES)[number], number> {
  order_id: string;
  /** Null if its merchant does not exist. */
  existing_merchant_id: string | null;
  /** Since when the merchant's events are kept. */
  kept_since: Date;
  /** The wallet of its merchant and document; null if the customer has none. */
  wallet_id: string | null;
  /** The credit that it earned. */
  credit_wallet_id: string | null;
  credit_cents: number | null;
  credit_claimed_cents: number | null;
  credit_available_at: Date | null;
  credit_expires_at: Date | null;
  credit_created_at: Date | null;
}

/** A `redeem` or `return` entry, with its credit. */
export interface CreditMove {
  order_id: string;
  refund_id: string | null;
  cents: number;
  credit_id: string;
  seq: number;
  available_at: Date;
  expires_at: Date;
  created_at: Date;
  credit_refund_id: string | null;
  from_credit_id: string | null;
}

export interface OrderEvent {
  order_id: string;
  type: string;
  occurred_at: Date;
  made_by: By;
  data: string;
}

/** An order with everything that the rules need. */
export interface OrderRecord {
  order: Order;
  row: OrderRow;
  refunds: Refund[];
  change: CustomerChange | undefined;
  /**
   * What it redeemed and what refunds returned that stand, in the order of the ledger. Only read if something was
   * returned.
   */
  moves: CreditMove[];
  /** In the sequence of the feed. */
  events: OrderEvent[];
}

/** Content that can be large. Only refunds by items depend on any. */
const LARGE: Record<string, string> = {
  items:
    'IF(EXISTS (SELECT 1 FROM refunds WHERE order_id = o.id AND returned_items IS NOT NULL), o.items, JSON_ARRAY())',
  metadata: 'JSON_ARRAY()',
};

const ordersOf = (columns: string[]): string => `
  SELECT o.id AS order_id, ${columns.map((column) => `${LARGE[column] ?? `o.${column}`} AS ${column}`).join(', ')},
         m.id AS existing_merchant_id, f.kept_since, w.id AS wallet_id, c.wallet_id AS credit_wallet_id, c.amount_cents AS credit_cents,
         c.claimed_cents AS credit_claimed_cents, c.available_at AS credit_available_at, c.expires_at AS credit_expires_at, c.created_at AS credit_created_at,
         ${SUM_NAMES.map((name) => `0 AS ${name}`).join(', ')}
    FROM orders o
    LEFT JOIN merchants m ON m.id = o.merchant_id
    LEFT JOIN event_feeds f ON f.merchant_id = o.merchant_id
    LEFT JOIN wallets w ON w.merchant_id = o.merchant_id AND w.document = o.document
    LEFT JOIN cashback_credits c ON c.order_id = o.id
   WHERE ${inPage('o.id')}`;

const SUMS = [
  `SELECT e.order_id, SUM(CASE WHEN e.kind = 'redeem' THEN -e.amount_cents ELSE 0 END) AS redeem_entries,
          SUM(CASE WHEN e.kind = 'earn' THEN e.amount_cents ELSE 0 END) AS earn_entries, ${ENTRY_SUMS}
     FROM cashback_entries e WHERE ${inPage('e.order_id')} GROUP BY e.order_id`,
  `SELECT h.order_id, SUM(h.amount_cents) AS holds_cents FROM cashback_holds h WHERE ${inPage('h.order_id')} GROUP BY h.order_id`,
  `SELECT o.id AS order_id, -SUM(e.amount_cents) AS gone_cents
     FROM orders o JOIN cashback_credits c ON c.order_id = o.id JOIN cashback_entries e ON e.credit_id = c.id AND e.kind IN (${GONE})
    WHERE ${inPage('o.id')} AND o.refunded_cents > 0 GROUP BY o.id`,
  `SELECT m.order_id, -SUM(e.amount_cents) AS gone_before_cents
     FROM customer_changes m JOIN cashback_credits c ON c.wallet_id = m.previous_wallet_id AND c.moved_order_id = m.order_id
     JOIN cashback_entries e ON e.credit_id = c.id AND e.kind IN (${GONE}) AND e.created_at <= m.created_at
    WHERE ${inPage('m.order_id')} GROUP BY m.order_id`,
];

const MOVES = `
  SELECT e.order_id, e.refund_id, e.amount_cents AS cents, e.credit_id, c.seq, c.available_at, c.expires_at, c.created_at,
         c.refund_id AS credit_refund_id, c.from_credit_id
    FROM orders o JOIN cashback_entries e ON e.order_id = o.id AND e.kind IN ('redeem', 'return') JOIN cashback_credits c ON c.id = e.credit_id
    LEFT JOIN refunds r ON r.id = e.refund_id
   WHERE ${inPage('o.id')} AND o.returned_cents > 0 AND r.voided_at IS NULL ORDER BY e.order_id, e.seq`;

const EVENTS = ['0 AS is_waiting, e.sequence AS place FROM events', '1, e.id FROM event_outbox']
  .map(
    (from) =>
      `SELECT e.subject_id AS order_id, e.type, e.occurred_at, e.made_by, e.data, ${from} e WHERE ${inPage('e.subject_id')} AND e.type LIKE 'order.%'`,
  )
  .join(' UNION ALL ');

/** Reads the orders of a page. Other checks find rows of orders that do not exist. */
export async function readOrders(manager: EntityManager, page: Page): Promise<OrderRecord[]> {
  const read = <Found>(sql: string): Promise<Found[]> => queryPage<Found>(manager, sql, page);
  const rows = await read<OrderRow>(ordersOf(columnNames(manager, Order)));
  const records = rows.map((row): OrderRecord => {
    return { order: toEntity(manager, Order, row), row, refunds: [], change: undefined, moves: [], events: [] };
  });
  const byId = new Map(records.map((record) => [record.row.order_id, record]));
  for (const sql of SUMS)
    for (const { order_id: id, ...sums } of await read<{ order_id: string } & Record<string, string>>(sql))
      for (const [name, cents] of Object.entries(sums))
        Object.assign(byId.get(id)?.row ?? {}, { [name]: exactCents(cents) });
  const readAll = async <T extends { orderId: string }>(target: EntityTarget<T>, table: string): Promise<T[]> => {
    const columns = columnNames(manager, target).join(', ');
    const found = await read<Row>(
      `SELECT ${columns} FROM ${table} WHERE ${inPage('order_id')} ORDER BY order_id, version`,
    );
    return found.map((row) => toEntity(manager, target, row));
  };
  for (const refund of await readAll(Refund, 'refunds')) byId.get(refund.orderId)?.refunds.push(refund);
  for (const change of await readAll(CustomerChange, 'customer_changes'))
    Object.assign(byId.get(change.orderId) ?? {}, { change });
  for (const move of await read<CreditMove>(MOVES)) byId.get(move.order_id)?.moves.push(move);
  for (const event of await read<OrderEvent>(`${EVENTS} ORDER BY order_id, is_waiting, place`))
    byId.get(event.order_id)?.events.push(event);
  return records;
}
