import { NEVER_SQL } from '../cashback/balance-sql.js';
import { CLOCK_MARGIN, inPage, type SqlChecks } from './page.js';

/** Centavos of the credits `c` of a wallet `w` that were available at the instant of its stored balance. */
const AVAILABLE = `COALESCE(SUM(CASE WHEN c.available_at <= w.available_as_of AND c.expires_at > w.available_as_of
                                     THEN c.remaining_cents - c.held_cents END), 0)`;

const firstDate = (date: string): string =>
  `COALESCE(MIN(CASE WHEN c.remaining_cents > c.held_cents AND ${date} > w.available_as_of THEN ${date} END), ${NEVER_SQL})`;

/** When a date of the credits `c` of a wallet `w` first changes that balance. */
const NEXT_CHANGE = `LEAST(${firstDate('c.available_at')}, ${firstDate('c.expires_at')})`;

/** Centavos of the credits `c` of a wallet `w` that had not expired at that instant. */
const UNEXPIRED = `COALESCE(SUM(CASE WHEN c.expires_at > w.available_as_of THEN c.remaining_cents - c.held_cents END), 0)`;

/** Checks of wallets and their statements, by wallet. */
export const WALLET_CHECKS: SqlChecks = {
  'the balance of a wallet, its available balance and the next date that changes it follow from its credits': `
    SELECT w.id AS wallet_id, w.balance_cents, w.available_cents, w.available_as_of, w.available_until,
           COALESCE(SUM(c.remaining_cents), 0) AS credits_cents, ${AVAILABLE} AS available_credits_cents, ${NEXT_CHANGE} AS next_change_at
      FROM wallets w LEFT JOIN cashback_credits c ON c.wallet_id = w.id
     WHERE ${inPage('w.id')}
     GROUP BY w.id, w.balance_cents, w.available_cents, w.available_as_of, w.available_until
    HAVING w.balance_cents <> COALESCE(SUM(c.remaining_cents), 0)
        OR w.available_cents <> ${AVAILABLE}
        OR w.available_until <> ${NEXT_CHANGE}`,

  'a wallet with a debt has no cashback that could repay it': `
    SELECT w.id AS wallet_id, w.debt_cents, ${UNEXPIRED} AS unexpired_cents
      FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id
     WHERE ${inPage('w.id')} AND w.debt_cents > 0
     GROUP BY w.id, w.debt_cents
    HAVING ${UNEXPIRED} > 0`,

  'a wallet has the number, balance and debt of its last entry': `
    SELECT w.id AS wallet_id, w.last_seq, w.balance_cents, w.debt_cents, l.balance_cents AS entry_balance_cents, l.debt_cents AS entry_debt_cents
      FROM wallets w LEFT JOIN cashback_entries l ON l.wallet_id = w.id AND l.seq = w.last_seq
     WHERE ${inPage('w.id')}
       AND (w.balance_cents <> COALESCE(l.balance_cents, 0) OR w.debt_cents <> COALESCE(l.debt_cents, 0)
            OR (w.last_seq <> 0 AND l.seq IS NULL)
            OR EXISTS (SELECT 1 FROM cashback_entries n WHERE n.wallet_id = w.id AND n.seq > w.last_seq))`,

  'a wallet is not younger than its first entry': `
    SELECT w.id AS wallet_id, w.created_at, e.created_at AS entry_created_at
      FROM wallets w JOIN cashback_entries e ON e.wallet_id = w.id AND e.seq = 1
     WHERE ${inPage('w.id')} AND w.created_at > e.created_at + ${CLOCK_MARGIN}`,

  'entries are numbered from 1 without gaps, in the order in which they were written, and each balance and debt follow from the previous entry': `
    SELECT e.wallet_id, e.seq, e.kind, e.amount_cents, e.balance_cents, e.debt_cents, e.created_at, p.seq AS previous_seq,
           p.balance_cents AS previous_balance_cents, p.debt_cents AS previous_debt_cents, p.created_at AS previous_created_at
      FROM cashback_entries e LEFT JOIN cashback_entries p ON p.wallet_id = e.wallet_id AND p.seq = e.seq - 1
     WHERE ${inPage('e.wallet_id')}
       AND ((p.seq IS NULL) <> (e.seq = 1) OR e.created_at < p.created_at - ${CLOCK_MARGIN}
            OR e.balance_cents <> COALESCE(p.balance_cents, 0) + (CASE WHEN e.credit_id IS NULL THEN 0 ELSE e.amount_cents END)
            OR e.debt_cents <> COALESCE(p.debt_cents, 0) + (CASE WHEN e.credit_id IS NULL THEN e.amount_cents ELSE 0 END)
            OR e.balance_cents < 0 OR e.debt_cents < 0)`,
};
