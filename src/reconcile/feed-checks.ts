import type { EntityManager } from 'typeorm';
import { FEED_EVENT_TYPES } from '../common/domain-event.js';
import { formatMoney } from '../common/money.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import type { OrderDto } from '../orders/dto/order.dto.js';
import type { RefundDto } from '../orders/dto/refund.dto.js';
import { toRefundDto } from '../orders/order.mapper.js';
import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { Refund } from '../orders/refund.entity.js';
import type { OrderRecord } from './order-record.js';
import { CLOCK_MARGIN, type Finding, inPage, type Page, queryPage, type SqlChecks } from './page.js';

/** Returns a SELECT from the events `e` of feeds, and the same from the events that wait for a number. */
const fromBoth = (columns: string, rest: string): string =>
  `SELECT 0 AS is_waiting, e.sequence AS place, ${columns} FROM events e ${rest}
   UNION ALL SELECT 1, e.id, ${columns} FROM event_outbox e ${rest}`;
const valueOf = (path: string): string => `JSON_VALUE(e.data, '$.${path}')`;
const centsOf = (path: string): string => `CAST(${valueOf(path)} AS DECIMAL(20, 2)) * 100`;
const instantOf = (path: string): string => `CAST(LEFT(REPLACE(${valueOf(path)}, 'T', ' '), 23) AS DATETIME(3))`;
const ofWallets = `JOIN wallets w ON w.id = e.subject_id WHERE ${inPage('w.id')} AND ${inPage('e.subject_id')}`;

/** Checks of feeds, by wallet. An entry and its event have the same instant. */
export const FEED_CHECKS: SqlChecks = {
  'the events of a feed are numbered without gaps from its oldest to its last number': `
    SELECT e.merchant_id, e.sequence, e.subject_id, f.oldest_sequence, f.last_sequence
      FROM events e
      LEFT JOIN event_feeds f ON f.merchant_id = e.merchant_id
      LEFT JOIN events p ON p.merchant_id = e.merchant_id AND p.sequence = e.sequence - 1
      LEFT JOIN events n ON n.merchant_id = e.merchant_id AND n.sequence = e.sequence + 1
     WHERE ${inPage('e.subject_id')} AND (f.merchant_id IS NULL OR (p.sequence IS NULL) <> (e.sequence = f.oldest_sequence)
                                          OR (n.sequence IS NULL) <> (e.sequence = f.last_sequence))`,

  'no feed is kept since an instant in the future': `
    SELECT f.merchant_id, f.kept_since
      FROM event_feeds f WHERE ${inPage('f.merchant_id')} AND f.kept_since - ${CLOCK_MARGIN} > :now`,

  'an event is about an order or a wallet of its merchant; that of a wallet names it and no personal data': fromBoth(
    'e.merchant_id, e.type, e.subject_id, o.id AS order_id, w.id AS wallet_id',
    `LEFT JOIN orders o ON o.id = e.subject_id AND o.merchant_id = e.merchant_id AND e.type LIKE 'order.%'
     LEFT JOIN wallets w ON w.id = e.subject_id AND w.merchant_id = e.merchant_id AND e.type NOT LIKE 'order.%'
     WHERE ${inPage('e.subject_id')} AND o.id IS NULL
       AND NOT COALESCE(w.id = ${valueOf('wallet.id')} AND e.type IN ('${FEED_EVENT_TYPES.join("', '")}')
                        AND e.data NOT REGEXP '"(document|metadata|reason)" *:', FALSE)`,
  ),

  'what was granted, voided, expired or changed the debt is what the events of the same instant say': `
    SELECT x.subject_id AS wallet_id, x.type, x.credit_id, x.at, SUM(x.entries_cents) AS entries_cents, SUM(x.events_cents) AS events_cents
      FROM (${fromBoth(
        `e.merchant_id, e.subject_id, e.type, COALESCE(${valueOf('grant.id')}, '') AS credit_id, e.occurred_at AS at, 0 AS entries_cents,
         CASE e.type WHEN 'wallet.debt_changed' THEN ${centsOf('change')} ELSE ${centsOf('amount')} END AS events_cents`,
        `${ofWallets} AND e.type IN ('cashback.granted', 'cashback.voided', 'cashback.expired', 'wallet.debt_changed')`,
      )} UNION ALL
            SELECT 0, e.seq, e.merchant_id, e.wallet_id,
                   CASE e.kind WHEN 'grant' THEN 'cashback.granted' WHEN 'void' THEN 'cashback.voided'
                               WHEN 'expire' THEN 'cashback.expired' ELSE 'wallet.debt_changed' END,
                   CASE WHEN e.kind IN ('grant', 'void') THEN e.credit_id ELSE '' END, e.created_at,
                   CASE WHEN e.kind IN ('void', 'expire') THEN -e.amount_cents ELSE e.amount_cents END, 0
              FROM cashback_entries e WHERE ${inPage('e.wallet_id')} AND e.kind IN ('grant', 'void', 'expire', 'debt', 'repay')) x
      LEFT JOIN event_feeds f ON f.merchant_id = x.merchant_id WHERE COALESCE(x.at >= f.kept_since, TRUE)
     GROUP BY x.subject_id, x.merchant_id, x.type, x.credit_id, x.at
    HAVING NOT COALESCE(SUM(x.entries_cents) = SUM(x.events_cents), FALSE)`,

  'the grant in an event is that of its rows': fromBoth(
    'e.merchant_id, e.subject_id AS wallet_id, e.type, c.id AS credit_id, c.amount_cents, c.available_at, c.expires_at',
    `LEFT JOIN cashback_credits c ON c.id = CONVERT(${valueOf('grant.id')} USING ascii) COLLATE ascii_bin AND c.wallet_id = e.subject_id
     LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('e.subject_id')} AND e.type IN ('cashback.granted', 'cashback.voided')
       AND NOT COALESCE(g.external_id = CAST(${valueOf('grant.external_id')} AS BINARY) AND ${centsOf('grant.amount')} = c.amount_cents
                        AND ${instantOf('grant.available_at')} = c.available_at
                        AND ${instantOf('grant.expires_at')} = c.expires_at, FALSE)`,
  ),

  'a date of a wallet is announced once': `
    SELECT x.subject_id AS wallet_id, x.type, x.date, COUNT(*) AS events
      FROM (${fromBoth(
        `e.subject_id, e.type, COALESCE(${valueOf('available_at')}, ${valueOf('expires_at')}) AS date`,
        `${ofWallets} AND e.type IN ('cashback.available', 'cashback.expiring')`,
      )}) x GROUP BY x.subject_id, x.type, x.date HAVING COUNT(*) > 1`,
};

type OrderEvent = Record<'order_id' | 'type' | 'data', string> & { occurred_at: Date };

/** In the sequence of the feed. Their data is parsed here: MySQL takes five times as long. */
const ORDER_EVENTS = `${fromBoth(
  'e.subject_id AS order_id, e.type, e.occurred_at, e.data',
  `WHERE ${inPage('e.subject_id')} AND e.type LIKE 'order.%'`,
)} ORDER BY order_id, is_waiting, place`;

export async function wrongOrderEvents(manager: EntityManager, page: Page, orders: OrderRecord[]): Promise<Finding[]> {
  const byOrder = new Map<string, OrderEvent[]>(orders.map((o) => [o.order_id, []]));
  const read = await queryPage<OrderEvent>(manager, ORDER_EVENTS, page);
  for (const event of read) byOrder.get(event.order_id)?.push(event);
  const refunds = await readRefunds(manager, page);
  const invariant = 'each version of an order after the first has one event of its type, and the last one is the order';
  return orders.flatMap((o) => {
    const events = byOrder.get(o.order_id)!;
    const { order_id, status, version, updated_at } = o;
    const types = events.map(({ type }) => type);
    return areVersions(o, events, refunds) ? [] : [{ invariant, order_id, status, version, updated_at, events: types }];
  });
}

/** A refund of an order at an instant, as its event contains it. */
const refundOf = (id: string, at: Date, refund?: RefundDto): string => `${id} ${+at} ${JSON.stringify(refund)}`;

async function readRefunds(manager: EntityManager, page: Page): Promise<Set<string>> {
  const sql = `SELECT ${columnNames(manager, Refund).join(', ')} FROM refunds WHERE ${inPage('order_id')}`;
  const rows = await queryPage<Row>(manager, sql, page);
  const refunds = rows.map((row) => toEntity(manager, Refund, row));
  return new Set(refunds.map((refund) => refundOf(refund.orderId, refund.createdAt, toRefundDto(refund))));
}

/** Events that happened before `kept_since` may have been deleted. */
function areVersions(o: OrderRecord, events: readonly OrderEvent[], refunds: ReadonlySet<string>): boolean {
  if (o.updated_at < o.kept_since) return true;
  const least = o.created_at < o.kept_since ? Math.min(1, o.version - 1) : o.version - 1;
  try {
    return events.length >= least && events.every((event, at) => isVersion(o, event, events.length - at, refunds));
  } catch {
    return false; // The data is not that of an order.
  }
}

/** Whether the event is the `nthLast` of the order. Its instant is that of the rows of the same transaction. */
function isVersion(o: OrderRecord, event: OrderEvent, nthLast: number, refunds: ReadonlySet<string>): boolean {
  const { type, occurred_at: at, data } = event;
  const { order, refund, wallet } = JSON.parse(data) as { order: OrderDto; refund?: RefundDto; wallet: { id: string } };
  const isCreated = order.external_id === o.external_id && +new Date(order.created_at) === +o.created_at;
  const isOfOrder = order.id === o.order_id && wallet.id === o.wallet_id && isCreated;
  const hasItsRefund = type !== 'order.refunded' || refunds.has(refundOf(o.order_id, at, refund));
  const isInTime = type !== 'order.completed' || +at === Number(o.completed_at);
  const isLast = +at === +o.updated_at && +at === Number(o.cancelled_at ?? at) && said(order) === stored(o);
  const isNext =
    order.version > 1 && order.version === o.version + 1 - nthLast && type === typeOf(o, order, type, nthLast);
  return isOfOrder && isInTime && isNext && hasItsRefund && (nthLast > 1 || isLast) && !PERSONAL.test(data);
}
const PERSONAL = /"(document|items|reason)":|"metadata":\{"/;

/** The type of an event. Of an order that stays pending, only the request tells an amendment from a renewal. */
function typeOf(o: OrderRecord, { status, cashback }: OrderDto, type: string, nthLast: number): string {
  if (o.completed_at !== null && nthLast <= o.refunds + 1)
    return nthLast > o.refunds ? 'order.completed' : 'order.refunded';
  if (status !== 'pending') return o.cancelled_at !== null && nthLast === 1 ? 'order.cancelled' : 'order.expired';
  if (type === 'order.amended' || type === 'order.renewed') return type;
  return cashback.to_redeem.held === '0.00' ? 'order.redemption_released' : 'order.redemption_held';
}

/** The status, amounts and expiry of an order in an event; what could still be received depends on dates too. */
function said(order: OrderDto): string {
  const { to_redeem: r, to_receive: t } = order.cashback;
  const amounts = [order.total, order.eligible_total, r.held, r.lapsed, r.redeemed, r.returned];
  const earned = COMPLETED_STATUSES.includes(order.status) ? t.amount : '0.00';
  return [order.status, ...amounts, earned, t.taken_back, order.refunded.amount, order.expires_at].join(' ');
}

function stored(o: OrderRecord): string {
  const redemption = [
    o.eligible_total_cents ?? o.total_cents,
    o.held_cents,
    o.lapsed_cents,
    o.redeemed_cents,
    o.returned_cents,
  ];
  const amounts = [o.total_cents, ...redemption, o.earned_cents, o.taken_back_cents, o.refunded_cents];
  return `${o.status} ${amounts.map(formatMoney).join(' ')} ${o.expires_at.toISOString()}`;
}
