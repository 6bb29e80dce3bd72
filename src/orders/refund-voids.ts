import type { RefundedOrder } from '../cashback/refund-parts.js';
import { type Moved, obstacleTo } from '../cashback/undo.js';
import type { Asked } from '../platform/database/reads.js';
import { exactCents } from '../platform/values/money.js';
import { type Obstacle, Problem } from '../platform/values/problem.js';
import type { Refund } from './refund.entity.js';

// When a refund can be undone.

/**
 * Whether a refund is the latest change of its order, apart from refunds that were undone since: each made a version,
 * and its void another one.
 *
 * @param later refunds of the order that were made after it.
 */
export const isLatest = ({ version }: Refund, orderVersion: number, later: readonly Refund[]): boolean =>
  later.every(({ voidedAt }) => voidedAt !== null) && orderVersion === version + 2 * later.length;

export const notVoidable = (obstacle: Obstacle): Problem =>
  new Problem('refund_not_voidable', { obstacle, ...(obstacle === 'later_change' && { next_action: 'read_order' }) });

/** What an order has after a refund, or after a refund was undone. */
export const afterRefund = (order: RefundedOrder, refund: Refund, change: 'made' | 'undone') => {
  const sign = change === 'made' ? 1 : -1;
  return {
    refundedCents: order.refundedCents + sign * refund.amountCents,
    refundedEligibleCents: order.refundedEligibleCents + sign * refund.eligibleCents,
    returnedCents: order.returnedCents + sign * refund.returnedCents,
    takenBackCents: order.takenBackCents + sign * refund.takenBackCents,
    keptCents: order.keptCents - sign * refund.dueCents,
  };
};

const LATER =
  'FROM refunds l WHERE l.order_id = r.order_id AND l.merchant_id = r.merchant_id AND l.created_at >= r.created_at AND l.version > r.version';

/** The refunds that are the latest change of their order, as `isLatest` says it. */
const LATEST = `
  SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id AND o.merchant_id = r.merchant_id
   WHERE r.merchant_id = ? AND r.id IN (?) AND r.voided_at IS NULL
     AND NOT EXISTS (SELECT 1 ${LATER} AND l.voided_at IS NULL) AND o.version = r.version + 2 * (SELECT COUNT(*) ${LATER})`;

const MOVED = `
  SELECT e.refund_id, e.kind, e.credit_id, SUM(e.amount_cents) AS cents, MIN(c.remaining_cents) AS remaining_cents,
         MIN(c.held_cents) AS held_cents, MIN(c.expires_at) AS expires_at, MIN(c.moved_order_id) AS moved_order_id, MIN(w.debt_cents) AS debt_cents
    FROM cashback_entries e JOIN wallets w ON w.id = e.wallet_id AND w.merchant_id = e.merchant_id
    LEFT JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id
   WHERE e.merchant_id = ? AND e.refund_id IN (?) GROUP BY e.refund_id, e.kind, e.credit_id`;

type MovedRow = Pick<Moved, 'kind'> & {
  refund_id: string;
  credit_id: string | null;
  expires_at: Date;
  moved_order_id: string | null;
} & Record<'cents' | 'remaining_cents' | 'held_cents' | 'debt_cents', string>;

/** Returns which refunds of a merchant can be undone now, by their IDs. */
export async function readVoidable(
  { manager, merchantId, now }: Pick<Asked, 'manager' | 'merchantId' | 'now'>,
  refunds: readonly Refund[],
): Promise<ReadonlySet<string>> {
  const standing = refunds.filter(({ voidedAt }) => voidedAt === null).map(({ id }) => id);
  if (standing.length === 0) return new Set();
  const latest = (await manager.query<{ id: string }[]>(LATEST, [merchantId, standing])).map(({ id }) => id);
  if (latest.length === 0) return new Set();
  const rows = await manager.query<MovedRow[]>(MOVED, [merchantId, latest]);
  const byRefund = new Map(latest.map((id): [string, MovedRow[]] => [id, []]));
  for (const row of rows) byRefund.get(row.refund_id)!.push(row);
  return new Set(
    latest.filter((id) => {
      const own = byRefund.get(id)!;
      return obstacleTo(own.map(toMoved), exactCents(own[0]?.debt_cents ?? 0), now) === undefined;
    }),
  );
}

const toMoved = ({
  kind,
  cents,
  credit_id: id,
  expires_at: expiresAt,
  moved_order_id: movedOrderId,
  ...row
}: MovedRow) => ({
  kind,
  amountCents: exactCents(cents),
  credit: id === null ? null : { id, expiresAt, movedOrderId, ...amountsIn(row) },
});

const amountsIn = (row: Pick<MovedRow, 'remaining_cents' | 'held_cents'>) => ({
  remainingCents: exactCents(row.remaining_cents),
  heldCents: exactCents(row.held_cents),
});
