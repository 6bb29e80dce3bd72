import { NEVER_SQL } from '../cashback/balance-sql.js';
import { nowOf } from '../database/by-merchant.js';
import { inPage, madeAt, type SqlChecks } from './page.js';

/** Centavos of the credits `c` of a wallet `w` that are not held, and meet a condition. */
const free = (condition: string): string =>
  `COALESCE(SUM(CASE WHEN ${condition} THEN c.remaining_cents - c.held_cents END), 0)`;

const firstDate = (date: string): string =>
  `COALESCE(MIN(CASE WHEN c.remaining_cents > c.held_cents AND ${date} > w.available_as_of THEN ${date} END), ${NEVER_SQL})`;

/** Checks of wallets and their statements, by wallet. */
export const WALLET_CHECKS: SqlChecks = {
  'the sums of a wallet, and the next date that changes them, follow from its credits': `
    SELECT w.id AS wallet_id, w.balance_cents, w.available_cents, w.pending_cents, w.held_cents, w.available_as_of, w.available_until, s.*
      FROM wallets w
      JOIN (SELECT w.id, COALESCE(SUM(c.remaining_cents), 0) AS credits_balance, COALESCE(SUM(c.held_cents), 0) AS credits_held,
                   ${free('c.available_at <= w.available_as_of AND c.expires_at > w.available_as_of')} AS credits_available,
                   ${free('c.available_at > w.available_as_of')} AS credits_pending,
                   LEAST(${firstDate('c.available_at')}, ${firstDate('c.expires_at')}) AS next_change_at
              FROM wallets w LEFT JOIN cashback_credits c ON c.wallet_id = w.id WHERE ${inPage('w.id')} GROUP BY w.id) s ON s.id = w.id
     WHERE (w.balance_cents, w.held_cents, w.available_cents, w.pending_cents, w.available_until)
        <> (s.credits_balance, s.credits_held, s.credits_available, s.credits_pending, s.next_change_at)`,

  'a wallet with a debt has nothing available or pending': `
    SELECT w.id AS wallet_id, w.debt_cents, w.available_cents, w.pending_cents
      FROM wallets w WHERE ${inPage('w.id')} AND w.debt_cents > 0 AND w.available_cents + w.pending_cents > 0`,

  'a wallet has the number, balance, debt and at least the date of its last entry': `
    SELECT w.id AS wallet_id, w.last_seq, w.balance_cents, w.debt_cents, w.available_as_of, l.balance_cents AS entry_balance_cents,
           l.debt_cents AS entry_debt_cents, l.created_at AS entry_created_at
      FROM wallets w LEFT JOIN cashback_entries l ON l.wallet_id = w.id AND l.seq = w.last_seq
     WHERE ${inPage('w.id')}
       AND (w.balance_cents <> COALESCE(l.balance_cents, 0) OR w.debt_cents <> COALESCE(l.debt_cents, 0)
            OR w.available_as_of < l.created_at OR (w.last_seq <> 0 AND l.seq IS NULL)
            OR EXISTS (SELECT 1 FROM cashback_entries n WHERE n.wallet_id = w.id AND n.seq > w.last_seq))`,

  'a wallet is as old as its ID, and not younger than its sums, which are not of the future, and its first entry': `
    SELECT w.id AS wallet_id, w.created_at, w.available_as_of, e.created_at AS entry_created_at
      FROM wallets w LEFT JOIN cashback_entries e ON e.wallet_id = w.id AND e.seq = 1
     WHERE ${inPage('w.id')}
       AND NOT (${madeAt('w.id', 'w.created_at')} AND w.created_at <= w.available_as_of AND w.created_at <= COALESCE(e.created_at, w.created_at)
                AND w.available_as_of <= ${nowOf('w.merchant_id')} + INTERVAL 1 DAY)`,

  'entries are numbered from 1 without gaps, in the order in which they were written, and each balance and debt follow from the previous entry': `
    SELECT e.wallet_id, e.seq, e.kind, e.amount_cents, e.balance_cents, e.debt_cents, e.created_at, p.seq AS previous_seq,
           p.balance_cents AS previous_balance_cents, p.debt_cents AS previous_debt_cents, p.created_at AS previous_created_at
      FROM cashback_entries e LEFT JOIN cashback_entries p ON p.wallet_id = e.wallet_id AND p.seq = e.seq - 1
     WHERE ${inPage('e.wallet_id')}
       AND ((p.seq IS NULL) <> (e.seq = 1) OR e.created_at < p.created_at
            OR e.balance_cents <> COALESCE(p.balance_cents, 0) + (CASE WHEN e.credit_id IS NULL THEN 0 ELSE e.amount_cents END)
            OR e.debt_cents <> COALESCE(p.debt_cents, 0) + (CASE WHEN e.credit_id IS NULL THEN e.amount_cents ELSE 0 END)
            OR e.balance_cents < 0 OR e.debt_cents < 0)`,
};
