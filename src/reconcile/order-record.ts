import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { type Policy, policyFrom } from '../merchants/policy.js';
import type { OrderStatus } from '../orders/order-transitions.js';
import type { OrderPaymentMethod } from '../orders/order-content.js';
import { inPage, type Page, queryAll, queryPage } from './page.js';

const SUM_NAMES = [
  'redeem_entries',
  'earn_entries',
  'return_entries',
  'take_back_entries',
  'refunds_cents',
  'refunds_eligible_cents',
  'refunds_returned_cents',
  'refunds_taken_back_cents',
  'holds_cents',
  'refunds',
] as const;
/** Sums in centavos of an order's entries, refunds and holds, and the number of refunds; 0 if there are none. */
type SumName = (typeof SUM_NAMES)[number];

/** An order with everything that the rules need. The names are those of the columns, because findings show them. */
export interface OrderRecord extends Record<SumName, number> {
  order_id: string;
  external_id: string;
  status: OrderStatus;
  total_cents: number;
  eligible_total_cents: number | null;
  held_cents: number;
  lapsed_cents: number;
  redeemed_cents: number;
  earned_cents: number;
  refunded_cents: number;
  refunded_eligible_cents: number;
  returned_cents: number;
  taken_back_cents: number;
  version: number;
  updated_at: Date;
  created_at: Date;
  expires_at: Date;
  /** The expiry that the creation asked for, if any. */
  requested_expires_at: Date | null;
  completed_at: Date | null;
  cancelled_at: Date | null;
  cashback_available_at: Date | null;
  cashback_expires_at: Date | null;
  policy: Policy;
  payment_methods: OrderPaymentMethod[];
  final_payment_methods: OrderPaymentMethod[] | null;
  /** Null if its merchant does not exist. */
  merchant_id: string | null;
  /** Since when the merchant's events are kept. */
  kept_since: Date;
  /** The wallet of its merchant and document; null if the customer has none. */
  wallet_id: string | null;
  credit_id: string | null;
  credit_wallet_id: string | null;
  credit_cents: number | null;
  credit_available_at: Date | null;
  credit_expires_at: Date | null;
  credit_created_at: Date | null;
  /** How much of the credit expired unspent: refunds do not take that back. Read only if they took back too little. */
  credit_expired_cents: number;
}

const ORDERS = `
  SELECT o.id AS order_id, CONVERT(o.external_id USING utf8mb4) AS external_id, o.status, o.total_cents, o.eligible_total_cents, o.held_cents, o.lapsed_cents, o.redeemed_cents, o.earned_cents,
         o.refunded_cents, o.refunded_eligible_cents, o.returned_cents, o.taken_back_cents, o.version, o.updated_at, o.created_at, o.expires_at, o.requested_expires_at, o.completed_at, o.cancelled_at,
         o.cashback_available_at, o.cashback_expires_at, CAST(o.policy AS CHAR) AS policy,
         CAST(o.payment_methods AS CHAR) AS payment_methods, CAST(o.final_payment_methods AS CHAR) AS final_payment_methods,
         m.id AS merchant_id, f.kept_since, w.id AS wallet_id, c.id AS credit_id, c.wallet_id AS credit_wallet_id, c.amount_cents AS credit_cents,
         c.available_at AS credit_available_at, c.expires_at AS credit_expires_at,
         c.created_at AS credit_created_at,
         0 AS credit_expired_cents, ${SUM_NAMES.map((name) => `0 AS ${name}`).join(', ')}
    FROM orders o
    LEFT JOIN merchants m ON m.id = o.merchant_id
    LEFT JOIN event_feeds f ON f.merchant_id = o.merchant_id
    LEFT JOIN wallets w ON w.merchant_id = o.merchant_id AND w.document = o.document
    LEFT JOIN cashback_credits c ON c.order_id = o.id
   WHERE ${inPage('o.id')}`;

/** What repays a debt is taken from a credit (`take_back`) and from the debt (`repay`): the two cancel out. */
const SUMS = [
  `SELECT e.order_id,
          SUM(CASE WHEN e.kind = 'redeem' THEN -e.amount_cents ELSE 0 END) AS redeem_entries,
          SUM(CASE WHEN e.kind = 'earn' THEN e.amount_cents ELSE 0 END) AS earn_entries,
          SUM(CASE WHEN e.kind = 'return' THEN e.amount_cents ELSE 0 END) AS return_entries,
          SUM(CASE WHEN e.kind = 'take_back' THEN -e.amount_cents
                   WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents ELSE 0 END) AS take_back_entries
     FROM cashback_entries e WHERE ${inPage('e.order_id')} GROUP BY e.order_id`,
  `SELECT r.order_id, SUM(r.amount_cents) AS refunds_cents, SUM(r.eligible_cents) AS refunds_eligible_cents, COUNT(*) AS refunds,
          SUM(r.returned_cents) AS refunds_returned_cents,
          SUM(r.taken_back_cents) AS refunds_taken_back_cents
     FROM refunds r WHERE ${inPage('r.order_id')} GROUP BY r.order_id`,
  `SELECT h.order_id, SUM(h.amount_cents) AS holds_cents FROM cashback_holds h WHERE ${inPage('h.order_id')} GROUP BY h.order_id`,
];

type JsonColumn = 'policy' | 'payment_methods' | 'final_payment_methods';
type OrderRow = Omit<OrderRecord, JsonColumn> & Record<JsonColumn, string | null>;

/** Reads the orders of a page, each with its sums. @param parse parses a JSON column. */
export async function readOrders(manager: EntityManager, page: Page, parse: Parse): Promise<OrderRecord[]> {
  const rows = await queryPage<OrderRow>(manager, ORDERS, page);
  // The rows themselves become the records: copying a million rows would take longer than checking all rules.
  const records = rows.map((row) => Object.assign(row, parsed(row, parse)));
  const byId = new Map(records.map((record) => [record.order_id, record]));
  for (const sql of SUMS) addSums(byId, await queryPage<SumRow>(manager, sql, page));
  await addExpired(manager, records);
  return records;
}

function parsed(row: OrderRow, parse: Parse): Pick<OrderRecord, JsonColumn> {
  return {
    policy: policyFrom(parse(row.policy) as Partial<Policy>),
    payment_methods: parse(row.payment_methods) as OrderPaymentMethod[],
    final_payment_methods: parse(row.final_payment_methods) as OrderPaymentMethod[] | null,
  };
}

type SumRow = { order_id: string } & Partial<Record<SumName, string>>;

/** Other checks find entries, refunds and holds of orders that do not exist. */
function addSums(byId: Map<string, OrderRecord>, rows: SumRow[]): void {
  for (const row of rows) {
    const record = byId.get(row.order_id);
    if (record === undefined) continue;
    for (const name of SUM_NAMES) if (row[name] !== undefined) record[name] = exactCents(row[name]);
  }
}

/** Enough for the policies of most merchants; a few hundred bytes each. */
const REMEMBERED_TEXTS = 1000;

export type Parse = (json: string | null) => unknown;

/** Returns a JSON parser that caches some texts, because most orders have the same policy. */
export function rememberingParse(): Parse {
  const remembered = new Map<string, unknown>();
  return (json) => {
    if (json === null) return null;
    const known = remembered.get(json);
    if (known !== undefined) return known;
    const value: unknown = JSON.parse(json);
    if (remembered.size === REMEMBERED_TEXTS) remembered.clear();
    remembered.set(json, value);
    return value;
  };
}

/** Only reads entries for the few refunded orders whose cashback was not all taken back. */
async function addExpired(manager: EntityManager, records: OrderRecord[]): Promise<void> {
  const kept = records.filter((o) => o.credit_id !== null && o.refunded_cents > 0);
  const byCredit = new Map(kept.filter(tookBackTooLittle).map((record) => [String(record.credit_id), record]));
  if (byCredit.size === 0) return;
  const rows = await queryAll<{ credit_id: string; cents: string }>(
    manager,
    "SELECT credit_id, -SUM(amount_cents) AS cents FROM cashback_entries WHERE credit_id IN (?) AND kind = 'expire' GROUP BY credit_id",
    [[...byCredit.keys()]],
  );
  for (const { credit_id: id, cents } of rows) byCredit.get(id)!.credit_expired_cents = exactCents(cents);
}

const tookBackTooLittle = (o: OrderRecord): boolean =>
  BigInt(o.taken_back_cents) * BigInt(o.eligible_total_cents ?? o.total_cents) <
  BigInt(o.earned_cents) * BigInt(o.refunded_eligible_cents);
