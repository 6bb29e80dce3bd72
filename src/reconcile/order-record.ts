import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import type { Policy } from '../merchants/policy.js';
import type { OrderPaymentMethod, StoredStatus } from '../orders/order.entity.js';
import { validityOf } from '../cashback/quote.js';
import { COMEBACK, COMEBACK_KINDS } from './credit-checks.js';
import { inPage, type Page } from './finding.js';
import { queryPage } from './query-page.js';

/** An order with all that the rules compare it with. Names are those of the columns, because findings carry them. */
export interface OrderRecord {
  order_id: string;
  status: StoredStatus;
  total_cents: number;
  redemption_cents: number;
  earned_cents: number;
  refunded_cents: number;
  returned_cents: number;
  clawed_back_cents: number;
  created_at: Date;
  expires_at: Date;
  completed_at: Date | null;
  cancelled_at: Date | null;
  policy: Policy;
  payment_methods: OrderPaymentMethod[];
  final_payment_methods: OrderPaymentMethod[] | null;
  /** The wallet of its merchant and document; null where the customer has none. */
  wallet_id: string | null;
  credit_id: string | null;
  credit_wallet_id: string | null;
  credit_cents: number | null;
  credit_available_at: Date | null;
  credit_expires_at: Date | null;
  credit_created_at: Date | null;
  /** Whether an entry says that the credit came back, to expire on the date that it has. */
  credit_came_back: boolean;
  /** Sums in centavos of its entries, refunds and holds; 0 where there are none. */
  redeem_entries: number;
  earn_entries: number;
  restore_entries: number;
  clawback_entries: number;
  refunds_cents: number;
  refunds_returned_cents: number;
  refunds_clawed_back_cents: number;
  held_cents: number;
}

const ORDERS = `
  SELECT o.id AS order_id, o.status, o.total_cents, o.redemption_cents, o.earned_cents, o.refunded_cents, o.returned_cents,
         o.clawed_back_cents, o.created_at, o.expires_at, o.completed_at, o.cancelled_at, CAST(o.policy AS CHAR) AS policy,
         CAST(o.payment_methods AS CHAR) AS payment_methods, CAST(o.final_payment_methods AS CHAR) AS final_payment_methods,
         w.id AS wallet_id, c.id AS credit_id, c.wallet_id AS credit_wallet_id, c.amount_cents AS credit_cents,
         c.available_at AS credit_available_at, c.expires_at AS credit_expires_at, c.created_at AS credit_created_at
    FROM orders o
    LEFT JOIN wallets w ON w.merchant_id = o.merchant_id AND w.document = o.document
    LEFT JOIN cashback_credits c ON c.order_id = o.id
   WHERE ${inPage('o.id')}`;

/** A clawback that paid a debt is not one of the order's refunds. */
const SUMS = [
  `SELECT e.order_id,
          SUM(CASE WHEN e.kind = 'redeem' THEN -e.amount_cents ELSE 0 END) AS redeem_entries,
          SUM(CASE WHEN e.kind = 'earn' THEN e.amount_cents ELSE 0 END) AS earn_entries,
          SUM(CASE WHEN e.kind = 'restore' THEN e.amount_cents ELSE 0 END) AS restore_entries,
          SUM(CASE WHEN e.kind = 'clawback' AND e.refund_id IS NOT NULL THEN -e.amount_cents
                   WHEN e.kind = 'debt' THEN e.amount_cents ELSE 0 END) AS clawback_entries
     FROM cashback_entries e WHERE ${inPage('e.order_id')} GROUP BY e.order_id`,
  `SELECT r.order_id, SUM(r.amount_cents) AS refunds_cents, SUM(r.returned_cents) AS refunds_returned_cents,
          SUM(r.clawed_back_cents) AS refunds_clawed_back_cents
     FROM refunds r WHERE ${inPage('r.order_id')} GROUP BY r.order_id`,
  `SELECT h.order_id, SUM(h.amount_cents) AS held_cents FROM cashback_holds h WHERE ${inPage('h.order_id')} GROUP BY h.order_id`,
];

const NO_SUMS = {
  redeem_entries: 0,
  earn_entries: 0,
  restore_entries: 0,
  clawback_entries: 0,
  refunds_cents: 0,
  refunds_returned_cents: 0,
  refunds_clawed_back_cents: 0,
  held_cents: 0,
};

type JsonColumn = 'policy' | 'payment_methods' | 'final_payment_methods';
type OrderRow = Omit<OrderRecord, JsonColumn | 'credit_came_back' | keyof typeof NO_SUMS> &
  Record<JsonColumn, string | null>;

/** Reads the orders of a page, each with its sums. @param parse reads a JSON column; most orders have the same policy. */
export async function readOrders(manager: EntityManager, page: Page, parse: Parse): Promise<OrderRecord[]> {
  const rows = await queryPage<OrderRow>(manager, ORDERS, page);
  const records = rows.map((row): OrderRecord => ({
    ...row,
    policy: parse(row.policy) as Policy,
    payment_methods: parse(row.payment_methods) as OrderPaymentMethod[],
    final_payment_methods: parse(row.final_payment_methods) as OrderPaymentMethod[] | null,
    credit_came_back: false,
    ...NO_SUMS,
  }));
  const byId = new Map(records.map((record) => [record.order_id, record]));
  for (const sql of SUMS) {
    for (const { order_id: id, ...sums } of await queryPage<{ order_id: string } & Record<string, string>>(
      manager,
      sql,
      page,
    )) {
      const record = byId.get(id);
      if (record) for (const [name, sum] of Object.entries(sums)) Object.assign(record, { [name]: exactCents(sum) });
    }
  }
  await markComebacks(manager, records);
  return records;
}

type Parse = (json: string | null) => unknown;

/** Returns a reader of JSON that remembers some texts. */
export function rememberingParse(): Parse {
  const remembered = new Map<string, unknown>();
  return (json) => {
    if (json === null) return null;
    const known = remembered.get(json);
    if (known !== undefined) return known;
    const value: unknown = JSON.parse(json);
    if (remembered.size === 1000) remembered.clear();
    remembered.set(json, value);
    return value;
  };
}

/** Few credits have another last date than the policy gave them: only for these the entries are searched. */
async function markComebacks(manager: EntityManager, records: OrderRecord[]): Promise<void> {
  const moved = records.filter(
    ({ completed_at: completedAt, credit_expires_at: expiresAt, policy }) =>
      completedAt !== null && expiresAt !== null && +expiresAt !== +validityOf(policy, completedAt).expiresAt,
  );
  if (moved.length === 0) return;
  const rows = await manager.query<{ id: string }[]>(
    `SELECT DISTINCT c.id FROM cashback_credits c JOIN cashback_entries e ON e.credit_id = c.id
      WHERE c.id IN (?) AND e.kind IN ${COMEBACK_KINDS} AND e.effective_at = c.expires_at - ${COMEBACK}`,
    [moved.map((record) => record.credit_id)],
  );
  const ids = new Set(rows.map(({ id }) => id));
  for (const record of moved) record.credit_came_back = ids.has(String(record.credit_id));
}
