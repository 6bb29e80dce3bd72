import { GONE } from '../cashback/wallet-credits.js';
import { byOf } from '../platform/http/by.dto.js';
import { decodeCursor, encodeCursor, type PageRequest } from '../platform/database/lists.js';
import { type Answer } from '../platform/database/reads.js';
import { queryNamed } from '../platform/database/rows.js';
import { type By } from '../platform/values/caller.js';
import { exactCents, formatMoney } from '../platform/values/money.js';
import { notFound } from '../platform/values/problem.js';
import { Order } from './order.entity.js';
import { TIMELINE_TYPES, type TimelineLineDto, type TimelinePageDto, type TimelineType } from './timeline.dto.js';

interface Line {
  type: TimelineType;
  at: Date;
  /** The ID of the refund or, for all others, of the order. */
  cause: string;
  cents: string | null;
  made_by: By;
  store: string | null;
  reason: string | null;
  external_id: Buffer | null;
}

/** Lines of one instant and one cause are sorted by type. */
const RANK = `FIELD(type, ${TIMELINE_TYPES.map((type) => `'${type}'`).join()})`;

const OF_ORDER = 'FROM orders WHERE id = :id AND merchant_id = :merchantId';

/** The entries of the credits that the order earned, also those of a corrected customer. */
const OF_EARNED = `
  FROM cashback_entries o JOIN cashback_credits c ON c.id = o.credit_id AND c.merchant_id = o.merchant_id
  JOIN cashback_entries e ON e.credit_id = c.id AND e.merchant_id = c.merchant_id
 WHERE o.order_id = :id AND o.merchant_id = :merchantId AND o.kind IN ('earn', 'move_in')`;

/**
 * A redemption can have an entry for each of many credits, so entries of one kind, instant and cause are one line. A
 * page reads all entries of the order by their index, as a refund does. When the order has ended, its `expires_at` says
 * whether it had expired, because no operation moves it then.
 */
const LINES = `
  SELECT type, at, cause, SUM(found.amount_cents) AS cents, MIN(made_by) AS made_by, MIN(found.store) AS store,
         MIN(found.reason) AS reason, MIN(r.external_id) AS external_id
    FROM (
      SELECT 'created' AS type, created_at AS at, id AS cause, NULL AS amount_cents, created_by AS made_by, store, NULL AS reason ${OF_ORDER}
      UNION ALL SELECT 'expired', expires_at, id, NULL, NULL, NULL, NULL ${OF_ORDER}
        AND (status = 'expired' OR expires_at <= COALESCE(completed_at, cancelled_at))
      UNION ALL SELECT 'completed', completed_at, id, total_cents, completed_by, store, NULL ${OF_ORDER}
        AND completed_at IS NOT NULL
      UNION ALL SELECT 'cancelled', cancelled_at, id, NULL, cancelled_by, store, cancel_reason ${OF_ORDER}
        AND cancelled_at IS NOT NULL
      UNION ALL SELECT 'customer_changed', customer_changed_at, id, NULL, customer_changed_by, store, customer_change_reason ${OF_ORDER}
        AND customer_changed_at IS NOT NULL
      UNION ALL SELECT 'refunded', f.created_at, f.id, f.amount_cents, f.created_by, COALESCE(f.store, o.store), f.reason
        FROM refunds f JOIN orders o ON o.id = f.order_id AND o.merchant_id = f.merchant_id
       WHERE f.order_id = :id AND f.merchant_id = :merchantId
      UNION ALL SELECT 'refund_voided', f.voided_at, f.id, f.amount_cents, f.voided_by, COALESCE(f.store, o.store), f.void_reason
        FROM refunds f JOIN orders o ON o.id = f.order_id AND o.merchant_id = f.merchant_id
       WHERE f.order_id = :id AND f.merchant_id = :merchantId AND f.voided_at IS NOT NULL
      UNION ALL SELECT kind, effective_at, COALESCE(refund_id, order_id), amount_cents, made_by, store, NULL
        FROM cashback_entries WHERE order_id = :id AND merchant_id = :merchantId
      UNION ALL SELECT e.kind, e.effective_at, o.order_id, e.amount_cents, e.made_by, e.store, NULL ${OF_EARNED} AND e.kind IN (${GONE})
      UNION ALL SELECT 'available', c.available_at, o.order_id, e.amount_cents, NULL, NULL, NULL ${OF_EARNED}
        AND c.available_at <= :now AND e.effective_at <= c.available_at
    ) found LEFT JOIN refunds r ON r.id = cause AND r.merchant_id = :merchantId
   WHERE (at, cause, ${RANK}) > (:at, :cause, :rank)
   GROUP BY type, at, cause HAVING COALESCE(SUM(found.amount_cents), 1) <> 0 ORDER BY at, cause, ${RANK} LIMIT :limit`;

/**
 * A page of what happened to an order, oldest first, from what is never deleted: events are. Its lines come from many
 * tables, so it pages by a key of its own.
 *
 * @throws Problem not_found, also for an order of another merchant; validation_failed if the cursor is not valid.
 */
export const TIMELINE: Answer<PageRequest & { id: string }, TimelinePageDto> = async (asked) => {
  const { manager, merchantId, now } = asked;
  const { id, limit, cursor } = asked.query;
  const list = `timeline ${id}`;
  const position = cursor === undefined ? undefined : decodeCursor(list, cursor, ['number', 'string', 'number']);
  const [at, cause, rank] = position ?? [0, '', 0];
  if (!(await manager.existsBy(Order, { id, merchantId }))) throw notFound('no order has this ID');
  const after = { at: new Date(at), cause, rank };
  const found = await queryNamed<Line>(manager, LINES, { id, merchantId, now, ...after, limit: limit + 1 });
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1)! : undefined;
  const keyOf = (line: Line): (string | number)[] => [+line.at, line.cause, TIMELINE_TYPES.indexOf(line.type) + 1];
  return { data: page.map(toLineDto), next_cursor: last === undefined ? null : encodeCursor(list, keyOf(last)) };
};

const toLineDto = (line: Line): TimelineLineDto => ({
  at: line.at,
  type: line.type,
  amount: line.cents === null ? null : formatMoney(exactCents(line.cents)),
  by: byOf(line.made_by),
  store: line.store,
  refund_id: line.external_id && line.cause,
  refund_external_id: line.external_id && line.external_id.toString(),
  reason: line.reason,
});
