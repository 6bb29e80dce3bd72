import { nextChange } from '../cashback/balance-sql.js';
import { CLOCK_MARGIN, inPage, type SqlChecks } from './finding.js';

const NEXT_CHANGE = nextChange('wallet_id = w.id AND merchant_id = w.merchant_id', 'w.available_as_of');

/** Checks of wallets and their statements, by wallet. */
export const WALLET_CHECKS: SqlChecks = {
  'the balance of a wallet is the sum of the remaining amounts of its credits': `
    SELECT w.id AS wallet_id, w.balance_cents, COALESCE(SUM(c.remaining_cents), 0) AS credits_cents
      FROM wallets w LEFT JOIN cashback_credits c ON c.wallet_id = w.id
     WHERE ${inPage('w.id')}
     GROUP BY w.id, w.balance_cents
    HAVING w.balance_cents <> COALESCE(SUM(c.remaining_cents), 0)`,

  'the stored available balance of a wallet is the sum of its available credits at that instant': `
    SELECT w.id AS wallet_id, w.available_cents, w.available_as_of, COALESCE(SUM(c.remaining_cents), 0) AS credits_cents
      FROM wallets w LEFT JOIN cashback_credits c
        ON c.wallet_id = w.id AND c.available_at <= w.available_as_of AND c.expires_at > w.available_as_of
     WHERE ${inPage('w.id')} AND w.available_seq = w.last_seq
     GROUP BY w.id, w.available_cents, w.available_as_of
    HAVING w.available_cents <> COALESCE(SUM(c.remaining_cents), 0)`,

  'the available balance that a wallet keeps changes at the next date of its credits and holds': `
    SELECT w.id AS wallet_id, w.available_as_of, w.available_until, ${NEXT_CHANGE} AS next_change_at
      FROM wallets w
     WHERE ${inPage('w.id')} AND w.available_until_seq = w.last_seq
       AND NOT (w.available_seq <=> w.last_seq AND w.available_until <=> ${NEXT_CHANGE})`,

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

  'entries are numbered from 1 without gaps, and each balance and debt follow from the previous entry': `
    SELECT e.wallet_id, e.seq, e.kind, e.amount_cents, e.balance_cents, e.debt_cents, p.seq AS previous_seq,
           p.balance_cents AS previous_balance_cents, p.debt_cents AS previous_debt_cents
      FROM cashback_entries e LEFT JOIN cashback_entries p ON p.wallet_id = e.wallet_id AND p.seq = e.seq - 1
     WHERE ${inPage('e.wallet_id')}
       AND ((p.seq IS NULL) <> (e.seq = 1)
            OR e.balance_cents <> COALESCE(p.balance_cents, 0) + (CASE WHEN e.credit_id IS NULL THEN 0 ELSE e.amount_cents END)
            OR e.debt_cents <> COALESCE(p.debt_cents, 0) + (CASE WHEN e.credit_id IS NULL THEN e.amount_cents ELSE 0 END)
            OR e.balance_cents < 0 OR e.debt_cents < 0)`,

  'entries are in the order in which they were written': `
    SELECT e.wallet_id, e.seq, e.created_at, p.created_at AS previous_created_at
      FROM cashback_entries e JOIN cashback_entries p ON p.wallet_id = e.wallet_id AND p.seq = e.seq - 1
     WHERE ${inPage('e.wallet_id')} AND e.created_at < p.created_at - ${CLOCK_MARGIN}`,
};
