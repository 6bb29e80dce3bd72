import { type Found } from '../platform/database/lists.js';
import { type Asked } from '../platform/database/reads.js';
import { exactCents } from '../platform/values/money.js';
import { type Entry } from './entry.entity.js';
import { type EntryLine } from './wallet.dto.js';

// The entries of a wallet by change: one change can have an entry for each of many credits.

type InWallet = Pick<Asked, 'manager' | 'merchantId'>;

/** Whether two entries are of one change; each grant is one, with what refunds made of it. */
const SAME = `
  n.kind = e.kind AND SIGN(n.amount_cents) = SIGN(e.amount_cents) AND n.order_id <=> e.order_id AND n.refund_id <=> e.refund_id
  AND n.debit_id <=> e.debit_id AND n.effective_at = e.effective_at AND n.created_at = e.created_at AND n.made_by <=> e.made_by
  AND (e.kind NOT IN ('grant', 'void') OR COALESCE(nc.from_credit_id, nc.id) = COALESCE(ec.from_credit_id, ec.id))`;

/** The entries `e` of a wallet after which another change begins. */
const LAST = `
  FROM cashback_entries e
  LEFT JOIN cashback_credits ec ON ec.id = e.credit_id AND ec.merchant_id = e.merchant_id AND e.kind IN ('grant', 'void')
  LEFT JOIN cashback_entries n ON n.wallet_id = e.wallet_id AND n.merchant_id = e.merchant_id AND n.seq = e.seq + 1
  LEFT JOIN cashback_credits nc ON nc.id = n.credit_id AND nc.merchant_id = n.merchant_id AND n.kind IN ('grant', 'void')
 WHERE e.wallet_id = ? AND e.merchant_id = ? AND NOT COALESCE(${SAME}, FALSE)`;

/** Returns those of the entries of a wallet that are the last of their change. */
export async function lastOfChanges(
  { manager, merchantId }: InWallet,
  walletId: string,
  found: readonly Found[],
): Promise<Found[]> {
  const sql = `SELECT e.seq ${LAST} AND e.seq BETWEEN ? AND ?`;
  const seqs = found.map(({ tie }) => Number(tie));
  const bounds = [Math.min(...seqs), Math.max(...seqs)];
  const rows = await manager.query<{ seq: string }[]>(sql, [walletId, merchantId, ...bounds]);
  const last = new Set(rows.map(({ seq }) => Number(seq)));
  return found.filter(({ tie }) => last.has(Number(tie)));
}

/**
 * Makes lines of changes.
 *
 * @param ends the last entries of changes that follow each other, newest first.
 */
export async function toChanges(
  { manager, merchantId }: InWallet,
  walletId: string,
  ends: readonly Entry[],
): Promise<EntryLine[]> {
  const of = [walletId, merchantId];
  const before = `SELECT e.seq ${LAST} AND e.seq < ? ORDER BY e.seq DESC LIMIT 1`;
  const [earlier] = await manager.query<{ seq: string }[]>(before, [...of, ends.at(-1)!.seq]);
  const starts = [...ends.slice(1).map(({ seq }) => seq), Number(earlier?.seq ?? 0)];
  const sum =
    'SELECT ? AS end, COUNT(*) AS number, COUNT(DISTINCT credit_id) AS credits, SUM(amount_cents) AS cents FROM cashback_entries WHERE wallet_id = ? AND merchant_id = ? AND seq > ? AND seq <= ?';
  const sums = await manager.query<Record<'end' | 'number' | 'credits' | 'cents', string>[]>(
    ends.map(() => sum).join(' UNION ALL '),
    ends.flatMap(({ seq }, at) => [seq, ...of, starts[at], seq]),
  );
  const byEnd = new Map(sums.map((row) => [Number(row.end), row]));
  return ends.map((entry): EntryLine => {
    const { number, credits, cents } = byEnd.get(entry.seq)!;
    const creditId = Number(credits) === 1 ? entry.creditId : null;
    return { ...entry, amountCents: exactCents(cents), lines: Number(number), creditId };
  });
}
