import { ENTRY_KINDS, type EntryKind } from '../../cashback/entry.entity.js';
import { NEVER_SQL } from '../../cashback/wallet-sums.js';
import { nowOf } from '../../platform/database/by-merchant.js';
import { endsDay, inPage, isSameText, madeAt, type SqlChecks } from './page.js';

type Reference = boolean | null;

/**
 * Whether an entry of each kind refers to a credit, an order, a refund and a debit; `null` means optional. Entries of
 * the debt have no credit.
 */
const REFERENCES: Record<EntryKind, [credit: boolean, order: Reference, refund: Reference, debit: Reference]> = {
  earn: [true, true, false, false],
  grant: [true, false, false, false],
  void: [true, false, false, false],
  redeem: [true, true, false, false],
  return: [true, true, true, false],
  // Taken back by a refund, or repays debt from new cashback, or from what a refund, a release or a void restores.
  take_back: [true, null, null, null],
  debit: [true, false, false, true],
  expire: [true, false, false, false],
  move_out: [true, true, false, false],
  move_in: [true, true, false, false],
  debt: [false, true, true, false],
  repay: [false, null, null, null],
};

/** The kinds that a void undoes with the opposite sign, and what then is voided. */
const UNDONE: Partial<Record<EntryKind, string>> = {
  return: 'refund_id',
  take_back: 'refund_id',
  debt: 'refund_id',
  debit: 'debit_id',
};

const ENTRIES_OF_KINDS = Object.entries(REFERENCES).map(([kind, references]) => {
  const sign = ENTRY_KINDS[kind as EntryKind] > 0 ? '>' : '<';
  const undone = UNDONE[kind as EntryKind];
  const isUndone = undone === undefined ? '' : ` OR (e.amount_cents <> 0 AND e.${undone} IS NOT NULL)`;
  const isNamed = (column: string, must: boolean | null | undefined): string =>
    must === null ? '' : ` AND e.${column} IS ${must ? 'NOT ' : ''}NULL`;
  const columns = ['credit_id', 'order_id', 'refund_id', 'debit_id'];
  const named = columns.map((column, at) => isNamed(column, references[at]));
  return `WHEN '${kind}' THEN (e.amount_cents ${sign} 0${isUndone})${named.join('')}`;
});

/** Centavos of the credits `c` of a wallet `w` that are not held, and meet a condition. */
const free = (condition: string): string =>
  `COALESCE(SUM(CASE WHEN ${condition} THEN c.remaining_cents - c.held_cents END), 0)`;

const firstDate = (date: string): string =>
  `COALESCE(MIN(CASE WHEN c.remaining_cents > c.held_cents AND ${date} > w.available_as_of THEN ${date} END), ${NEVER_SQL})`;

/** Checks of wallets and their statements, ledger entries, credits and their grants, by wallet. */
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

  'an entry belongs to an existing wallet and its merchant, and to a credit, an order, a refund and a debit of the same customer': `
    SELECT e.wallet_id, e.seq, e.kind, e.merchant_id, w.id AS existing_wallet_id, e.credit_id, c.wallet_id AS credit_wallet_id, e.order_id,
           o.id AS existing_order_id, e.refund_id, r.order_id AS refund_order_id, e.debit_id, d.wallet_id AS debit_wallet_id
      FROM cashback_entries e
      LEFT JOIN wallets w ON w.id = e.wallet_id
      LEFT JOIN cashback_credits c ON c.id = e.credit_id
      LEFT JOIN orders o ON o.id = e.order_id
      LEFT JOIN refunds r ON r.id = e.refund_id
      LEFT JOIN debits d ON d.id = e.debit_id
      LEFT JOIN customer_changes m ON m.order_id = e.order_id
     WHERE ${inPage('e.wallet_id')}
       AND (w.id IS NULL OR e.merchant_id <> w.merchant_id
            OR (e.credit_id IS NOT NULL AND c.id IS NULL) OR c.wallet_id <> e.wallet_id
            OR (e.order_id IS NOT NULL AND o.id IS NULL) OR o.merchant_id <> w.merchant_id
            OR (o.document <> w.document AND NOT COALESCE(m.previous_wallet_id = e.wallet_id, FALSE) AND NOT (e.kind IN ('take_back', 'repay') AND e.refund_id IS NULL))
            OR (e.refund_id IS NOT NULL AND NOT (r.order_id <=> e.order_id))
            OR (e.debit_id IS NOT NULL AND NOT (d.wallet_id <=> e.wallet_id)))`,

  'an entry has the sign of its kind, unless a void undoes another one, and a credit, an order, a refund and a debit as its kind requires': `
    SELECT e.wallet_id, e.seq, e.kind, e.amount_cents, e.credit_id, e.order_id, e.refund_id, e.debit_id
      FROM cashback_entries e
     WHERE ${inPage('e.wallet_id')} AND NOT CASE e.kind ${ENTRIES_OF_KINDS.join(' ')} ELSE FALSE END`,

  'what has the opposite sign undoes a refund when it is voided, by who voids it, or restores what a debit took, after it was voided': `
    SELECT e.wallet_id, e.seq, e.kind, e.amount_cents, e.created_at, e.made_by, r.voided_at, r.voided_by, d.voided_at AS debit_voided_at
      FROM cashback_entries e
      LEFT JOIN refunds r ON r.id = e.refund_id
      LEFT JOIN debits d ON d.id = e.debit_id
     WHERE ${inPage('e.wallet_id')}
       AND ((e.kind IN ('return', 'debt') AND e.amount_cents < 0) OR (e.kind IN ('take_back', 'debit') AND e.amount_cents > 0))
       AND NOT COALESCE(CASE e.kind WHEN 'debit' THEN e.created_at >= d.voided_at
                                    ELSE e.created_at = r.voided_at AND e.made_by = r.voided_by END, FALSE)`,

  'a debit of the merchant took what its entries say, and its voids restored what theirs say': `
    SELECT d.id AS debit_id, d.merchant_id, d.amount_cents, d.restored_cents, d.first_seq, d.last_seq, d.created_at, d.voided_at, s.*
      FROM debits d JOIN wallets w ON w.id = d.wallet_id
      LEFT JOIN (SELECT e.debit_id AS entries_of, SUM(CASE WHEN e.amount_cents < 0 THEN -e.amount_cents ELSE 0 END) AS taken_cents,
                        SUM(CASE WHEN e.amount_cents > 0 THEN e.amount_cents ELSE 0 END) AS given_cents,
                        MIN(CASE WHEN e.amount_cents < 0 THEN e.seq END) AS entries_from, MAX(CASE WHEN e.amount_cents < 0 THEN e.seq END) AS entries_to
                   FROM cashback_entries e WHERE ${inPage('e.wallet_id')} AND e.kind = 'debit' GROUP BY e.debit_id) s ON s.entries_of = d.id
     WHERE ${inPage('d.wallet_id')}
       AND NOT COALESCE(d.merchant_id = w.merchant_id AND ${madeAt('d.id', 'd.created_at')} AND d.amount_cents = s.taken_cents AND d.restored_cents = s.given_cents
                        AND d.first_seq = s.entries_from AND d.last_seq = s.entries_to AND d.requested_cents >= d.amount_cents
                        AND (d.takes_available = 1 OR d.requested_cents = d.amount_cents)
                        AND (d.voided_at IS NULL) = (d.voided_by IS NULL) AND (d.voided_at IS NOT NULL OR (d.restored_cents = 0 AND d.void_reason IS NULL))
                        AND COALESCE(d.voided_at >= d.created_at, TRUE), FALSE)`,

  'a wallet that was never frozen is not frozen': `
    SELECT w.id AS wallet_id, w.frozen, w.freeze_changed_at, w.freeze_changed_by
      FROM wallets w
     WHERE ${inPage('w.id')} AND ((w.freeze_changed_at IS NULL) <> (w.freeze_changed_by IS NULL)
                                  OR (w.freeze_changed_at IS NULL AND (w.frozen <> 0 OR w.freeze_reason IS NOT NULL)))`,

  'an entry takes effect when it is written, or as an expiry when its credit expires, and not before its credit was made and available': `
    SELECT e.wallet_id, e.seq, e.kind, e.effective_at, e.created_at, c.seq AS first_seq, c.available_at, c.expires_at
      FROM cashback_entries e LEFT JOIN cashback_credits c ON c.id = e.credit_id
     WHERE ${inPage('e.wallet_id')}
       AND (e.effective_at > e.created_at OR e.effective_at <> CASE e.kind WHEN 'expire' THEN c.expires_at ELSE e.created_at END
            OR e.seq < c.seq OR (e.kind IN ('earn', 'grant', 'move_in') AND e.seq <> c.seq) OR (e.kind = 'redeem' AND e.created_at < c.available_at)
            OR ((e.kind IN ('void', 'return', 'move_out', 'debit') OR (e.kind = 'take_back' AND e.refund_id IS NOT NULL AND NOT e.order_id <=> COALESCE(c.order_id, c.moved_order_id)))
                AND e.created_at >= c.expires_at))`,

  'an order redeems and earns when it is completed, and a refund moves cashback when it is made or voided, or takes it back later': `
    SELECT e.wallet_id, e.seq, e.kind, e.created_at, o.id AS order_id, o.completed_at, r.id AS refund_id, r.created_at AS refunded_at
      FROM cashback_entries e
      LEFT JOIN orders o ON o.id = e.order_id AND e.kind IN ('redeem', 'earn')
      LEFT JOIN refunds r ON r.id = e.refund_id
     WHERE ${inPage('e.wallet_id')}
       AND (r.created_at > e.created_at OR (r.created_at < e.created_at AND e.kind NOT IN ('take_back', 'debt') AND NOT (e.created_at <=> r.voided_at)) OR (e.kind IN ('redeem', 'earn') AND NOT (o.completed_at <=> e.created_at)))`,

  'what moves from one customer to another is what the correction of the order says': `
    SELECT e.wallet_id, e.seq, e.kind, e.order_id, e.amount_cents, e.created_at, e.made_by, m.moved_cents, m.created_at AS moved_at, m.created_by
      FROM cashback_entries e LEFT JOIN customer_changes m ON m.order_id = e.order_id
     WHERE ${inPage('e.wallet_id')} AND e.kind IN ('move_out', 'move_in')
       AND NOT COALESCE(e.created_at = m.created_at AND e.made_by = m.created_by AND ABS(e.amount_cents) = m.moved_cents
                        AND e.wallet_id = CASE e.kind WHEN 'move_out' THEN m.previous_wallet_id ELSE m.wallet_id END, FALSE)`,

  // Of what an order repays without a refund, events say who did it.
  'an entry has the user and the store of the completion, refund, debit, correction or grant that it is of; an expiry has neither, and a void no store': `
    SELECT e.wallet_id, e.seq, e.kind, e.made_by, e.store, o.completed_by, o.store AS order_store, r.created_by AS refunded_by,
           r.store AS refund_store, r.voided_by, d.created_by AS debited_by, d.store AS debit_store, g.created_by AS granted_by, c.store AS credit_store
      FROM cashback_entries e
      LEFT JOIN orders o ON o.id = e.order_id
      LEFT JOIN refunds r ON r.id = e.refund_id
      LEFT JOIN debits d ON d.id = e.debit_id
      LEFT JOIN cashback_credits c ON c.id = e.credit_id AND e.order_id IS NULL
      LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('e.wallet_id')}
       AND NOT COALESCE(CASE WHEN e.kind = 'expire' THEN e.made_by IS NULL AND e.store IS NULL
                             WHEN e.kind = 'void' THEN e.made_by IS NOT NULL AND e.store IS NULL
                             WHEN e.kind IN ('move_out', 'move_in') THEN ${isSameText('e.store', 'o.store')}
                             WHEN e.kind IN ('earn', 'redeem') THEN e.made_by = o.completed_by AND ${isSameText('e.store', 'o.store')}
                             WHEN e.refund_id IS NOT NULL THEN (e.made_by = r.created_by OR (e.created_at <=> r.voided_at AND e.made_by <=> r.voided_by))
                                                               AND ${isSameText('e.store', 'COALESCE(r.store, o.store)')}
                             WHEN e.debit_id IS NOT NULL THEN (CASE WHEN e.amount_cents < 0 AND e.kind = 'debit' THEN e.made_by = d.created_by ELSE e.made_by IS NOT NULL END)
                                                              AND ${isSameText('e.store', 'd.store')}
                             WHEN e.order_id IS NULL AND e.credit_id IS NOT NULL THEN e.made_by = g.created_by AND ${isSameText('e.store', 'c.store')}
                             ELSE TRUE END, FALSE)`,

  'a debt is repaid with the amount that the entry before took from cashback of the same order, grant, refund or debit, by the same user in the same store': `
    SELECT e.wallet_id, e.seq, e.kind, e.order_id, e.refund_id, e.amount_cents, o.kind AS other_kind, o.amount_cents AS other_cents,
           e.made_by, o.made_by AS other_made_by, e.store, o.store AS other_store
      FROM cashback_entries e
      LEFT JOIN cashback_entries o
        ON o.wallet_id = e.wallet_id AND o.seq = CASE e.kind WHEN 'repay' THEN e.seq - 1 ELSE e.seq + 1 END
     WHERE ${inPage('e.wallet_id')} AND (e.kind = 'repay' OR (e.kind = 'take_back' AND e.refund_id IS NULL))
       AND NOT COALESCE(o.kind = CASE e.kind WHEN 'repay' THEN 'take_back' ELSE 'repay' END AND o.amount_cents = e.amount_cents
                        AND o.order_id <=> e.order_id AND o.refund_id <=> e.refund_id AND o.debit_id <=> e.debit_id
                        AND o.made_by <=> e.made_by AND ${isSameText('o.store', 'e.store')}, FALSE)`,

  // That its order exists and is of the same customer follows from the entry that made it.
  'a credit belongs to an existing wallet and its merchant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id, w.id AS existing_wallet_id
      FROM cashback_credits c LEFT JOIN wallets w ON w.id = c.wallet_id
     WHERE ${inPage('c.wallet_id')} AND (w.id IS NULL OR c.merchant_id <> w.merchant_id)`,

  'the remaining amount of a credit is the sum of its entries, and its held amount that of its holds, from 0 to its amount; what refunds of its order have claimed is held, and nothing is free then': `
    SELECT c.id AS credit_id, c.order_id, c.claimed_cents, c.held_cents, c.remaining_cents, c.amount_cents, e.entries_cents, h.holds_cents
      FROM cashback_credits c
      LEFT JOIN (SELECT e.credit_id, SUM(e.amount_cents) AS entries_cents
                   FROM cashback_entries e WHERE ${inPage('e.wallet_id')} GROUP BY e.credit_id) e ON e.credit_id = c.id
      LEFT JOIN (SELECT h.credit_id, SUM(h.amount_cents) AS holds_cents FROM cashback_credits c JOIN cashback_holds h ON h.credit_id = c.id
                  WHERE ${inPage('c.wallet_id')} GROUP BY h.credit_id) h ON h.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND NOT (c.remaining_cents <=> e.entries_cents AND c.held_cents = COALESCE(h.holds_cents, 0)
                AND 0 <= c.held_cents AND c.held_cents <= c.remaining_cents AND c.remaining_cents <= c.amount_cents
                AND (c.claimed_cents = 0 OR (c.order_id IS NOT NULL AND c.claimed_cents BETWEEN 1 AND c.held_cents AND c.remaining_cents = c.held_cents)))`,

  'a credit has the amount, order, refund, date and, unless it was returned, store of the entry with its number, which earned, granted or returned it': `
    SELECT c.id AS credit_id, c.wallet_id, c.seq, e.kind, c.amount_cents, e.amount_cents AS entry_cents, c.order_id,
           e.order_id AS entry_order_id, c.refund_id, e.refund_id AS entry_refund_id, c.created_at, e.created_at AS entry_created_at,
           c.store, e.store AS entry_store
      FROM cashback_credits c LEFT JOIN cashback_entries e ON e.wallet_id = c.wallet_id AND e.seq = c.seq
     WHERE ${inPage('c.wallet_id')}
       AND NOT COALESCE(e.credit_id = c.id AND c.amount_cents = e.amount_cents AND c.created_at = e.created_at AND c.refund_id <=> e.refund_id
                        AND ${madeAt('c.id', 'c.created_at')} AND (c.refund_id IS NOT NULL OR ${isSameText('c.store', 'e.store')})
                        AND CASE WHEN c.refund_id IS NOT NULL THEN e.kind = 'return' AND c.order_id IS NULL
                                 WHEN c.moved_order_id IS NOT NULL THEN e.kind = 'earn' AND c.order_id IS NULL AND c.moved_order_id = e.order_id
                                 WHEN c.order_id IS NOT NULL THEN e.kind IN ('earn', 'move_in') AND c.order_id = e.order_id
                                 ELSE e.kind = 'grant' END, FALSE)`,

  'a credit becomes available before it expires, and expires after it was made': `
    SELECT c.id AS credit_id, c.created_at, c.available_at, c.expires_at
      FROM cashback_credits c
     WHERE ${inPage('c.wallet_id')} AND (c.available_at >= c.expires_at OR c.created_at >= c.expires_at)`,

  'a credit that a refund made, and no other, comes from an earned or granted credit of the wallet, with its store': `
    SELECT c.id AS credit_id, c.refund_id, c.from_credit_id, f.wallet_id AS from_wallet_id, f.from_credit_id AS from_from_credit_id,
           c.store, f.store AS from_store
      FROM cashback_credits c LEFT JOIN cashback_credits f ON f.id = c.from_credit_id
     WHERE ${inPage('c.wallet_id')} AND (c.refund_id IS NOT NULL OR c.from_credit_id IS NOT NULL)
       AND NOT COALESCE(c.refund_id IS NOT NULL AND f.wallet_id = c.wallet_id AND f.from_credit_id IS NULL AND f.seq < c.seq
                        AND ${isSameText('c.store', 'f.store')}, FALSE)`,

  'a grant has the credit that no order earned and no refund made, with its merchant': `
    SELECT g.credit_id, g.merchant_id, c.order_id, c.refund_id, w.merchant_id AS wallet_merchant_id
      FROM cashback_grants g
      LEFT JOIN cashback_credits c ON c.id = g.credit_id
      LEFT JOIN wallets w ON w.id = c.wallet_id
     WHERE ${inPage('g.credit_id')}
       AND NOT COALESCE(c.order_id IS NULL AND c.moved_order_id IS NULL AND c.refund_id IS NULL AND w.merchant_id = g.merchant_id, FALSE)`,

  'a credit that no order earned and no refund made has a grant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id
      FROM cashback_credits c LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND c.order_id IS NULL AND c.moved_order_id IS NULL AND c.refund_id IS NULL AND g.credit_id IS NULL`,

  'a grant is available and expires at the requested dates': `
    SELECT g.credit_id, c.created_at, g.requested_available_at, g.requested_available_on, c.available_at,
           g.requested_expires_at, g.requested_expires_on, c.expires_at
      FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND NOT (CASE WHEN g.requested_available_at IS NOT NULL THEN c.available_at = g.requested_available_at
                     WHEN c.available_at = c.created_at THEN TRUE
                     ELSE COALESCE(${endsDay('c.available_at + INTERVAL 1 DAY', 'g.requested_available_on')} AND c.available_at > c.created_at, FALSE) END
                AND COALESCE(c.expires_at = g.requested_expires_at, ${endsDay('c.expires_at', 'g.requested_expires_on')}, TRUE))`,

  'what was voided of a grant, by whom and why, is there if it was voided, and is the sum of the void entries on its credit and those that refunds made from it': `
    SELECT g.credit_id, c.created_at, g.voided_cents, g.voided_at, g.voided_by, s.entries_cents, s.first_entry_at
      FROM cashback_credits c
      JOIN cashback_grants g ON g.credit_id = c.id
      LEFT JOIN (SELECT COALESCE(c.from_credit_id, c.id) AS credit_id, SUM(e.amount_cents) AS entries_cents, MIN(e.created_at) AS first_entry_at
                   FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id
                  WHERE ${inPage('e.wallet_id')} AND e.kind = 'void' GROUP BY COALESCE(c.from_credit_id, c.id)) s ON s.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (COALESCE(g.voided_cents, 0) <> -COALESCE(s.entries_cents, 0) OR (g.voided_cents IS NULL) <> (g.voided_at IS NULL)
            OR (g.voided_by IS NULL) <> (g.voided_at IS NULL) OR (g.void_reason IS NOT NULL AND g.voided_at IS NULL)
            OR g.voided_at < c.created_at OR g.voided_at > s.first_entry_at)`,
};

/**
 * The sums of entries `e` that an order and a refund have too. What repays a debt is taken from a credit (`take_back`)
 * and from the debt (`repay`): the two cancel out.
 */
export const ENTRY_SUMS = `
  SUM(CASE WHEN e.kind = 'return' THEN e.amount_cents ELSE 0 END) AS return_entries,
  SUM(CASE WHEN e.kind = 'take_back' THEN -e.amount_cents WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents ELSE 0 END) AS take_back_entries`;

/** Checks of holds and refunds, by order. */
export const REFUND_CHECKS: SqlChecks = {
  'a hold is that of a pending order of the customer, on a credit that was available': `
    SELECT h.order_id, h.credit_id, h.merchant_id, c.wallet_id, o.status, c.available_at, c.expires_at
      FROM cashback_holds h
      LEFT JOIN cashback_credits c ON c.id = h.credit_id
      LEFT JOIN wallets w ON w.id = c.wallet_id
      LEFT JOIN orders o ON o.id = h.order_id
     WHERE ${inPage('h.order_id')}
       AND NOT COALESCE(o.status = 'pending' AND h.merchant_id = o.merchant_id AND w.merchant_id = o.merchant_id AND w.document = o.document
                        AND h.amount_cents > 0 AND c.available_at <= o.updated_at AND c.expires_at > o.created_at, FALSE)`,

  'an order has a campaign of its merchant, or none, and was not sold after it was created': `
    SELECT o.id AS order_id, o.campaign_id, o.sold_at, o.created_at
      FROM orders o
     WHERE ${inPage('o.id')}
       AND ((o.campaign_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM policy_versions v WHERE v.merchant_id = o.merchant_id AND v.id = o.campaign_id))
            OR o.sold_at > o.created_at + INTERVAL 5 MINUTE)`,

  'a refund belongs to a completed order and its merchant': `
    SELECT r.id AS refund_id, r.merchant_id, r.order_id, o.status, r.created_at, o.completed_at
      FROM refunds r LEFT JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND NOT COALESCE(r.merchant_id = o.merchant_id AND r.created_at >= o.completed_at AND ${madeAt('r.id', 'r.created_at')}, FALSE)`,

  'a refund has the eligible part that its request asks for, and all of its amount if the whole order is eligible': `
    SELECT r.id AS refund_id, r.order_id, r.amount_cents, r.eligible_cents, r.requested_eligible_cents, o.eligible_total_cents
      FROM refunds r JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (r.eligible_cents NOT BETWEEN 0 AND r.amount_cents OR r.requested_eligible_cents <> r.eligible_cents
            OR (o.eligible_total_cents IS NULL AND (r.eligible_cents <> r.amount_cents OR r.requested_eligible_cents IS NOT NULL)))`,

  'the amounts of a refund are the sums of its entries, apart from what it can have claimed; those of one that was voided are zero': `
    SELECT r.id AS refund_id, r.order_id, r.voided_at, r.returned_cents, r.taken_back_cents, s.return_entries, s.take_back_entries, c.claimed_cents
      FROM refunds r
      LEFT JOIN (SELECT e.refund_id, ${ENTRY_SUMS} FROM refunds r JOIN cashback_entries e ON e.refund_id = r.id
                  WHERE ${inPage('r.order_id')} GROUP BY e.refund_id) s ON s.refund_id = r.id
      LEFT JOIN cashback_credits c ON c.order_id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (IF(r.voided_at IS NULL, r.returned_cents, 0) <> COALESCE(s.return_entries, 0)
            OR IF(r.voided_at IS NULL, r.taken_back_cents, 0) - COALESCE(s.take_back_entries, 0) NOT BETWEEN 0 AND IF(r.voided_at IS NULL, COALESCE(c.claimed_cents, 0), 0))`,
};

/** Checks of the rules, by merchant. */
export const MERCHANT_CHECKS: SqlChecks = {
  "a merchant's rules are those of its latest version, and no version is missing": `
    SELECT m.id AS merchant_id, m.policy_version, b.version, v.versions
      FROM merchants m
      LEFT JOIN policy_bases b ON b.merchant_id = m.id AND b.version = m.policy_version
      LEFT JOIN (SELECT merchant_id, COUNT(*) AS versions, MAX(version) AS latest FROM policy_bases GROUP BY merchant_id) v ON v.merchant_id = m.id
     WHERE ${inPage('m.id')} AND NOT COALESCE(b.policy = m.policy AND v.versions = m.policy_version AND v.latest = m.policy_version, FALSE)`,
};
