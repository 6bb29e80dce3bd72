import { ENTRY_KINDS, type EntryKind } from '../../cashback/entry.entity.js';
import { inPage, isSameText, type SqlChecks } from './page.js';

/** What an entry of each kind refers to; `null` means optional. Entries of the debt have no credit. */
interface Names {
  credit: boolean;
  order: boolean | null;
  refund: boolean | null;
}

const NAMES: Record<EntryKind, Names> = {
  earn: { credit: true, order: true, refund: false },
  grant: { credit: true, order: false, refund: false },
  void: { credit: true, order: false, refund: false },
  redeem: { credit: true, order: true, refund: false },
  return: { credit: true, order: true, refund: true },
  // Taken back by a refund, or repays debt from new cashback or from amounts that a refund or a release returns.
  take_back: { credit: true, order: null, refund: null },
  expire: { credit: true, order: false, refund: false },
  move_out: { credit: true, order: true, refund: false },
  move_in: { credit: true, order: true, refund: false },
  debt: { credit: false, order: true, refund: true },
  repay: { credit: false, order: null, refund: null },
};

/** Checks of ledger entries, by wallet. */
export const ENTRY_CHECKS: SqlChecks = {
  'an entry belongs to an existing wallet and its merchant, and to a credit, an order and a refund of the same customer': `
    SELECT e.wallet_id, e.seq, e.kind, e.merchant_id, w.id AS existing_wallet_id, e.credit_id, c.wallet_id AS credit_wallet_id, e.order_id,
           o.id AS existing_order_id, e.refund_id, r.order_id AS refund_order_id
      FROM cashback_entries e
      LEFT JOIN wallets w ON w.id = e.wallet_id
      LEFT JOIN cashback_credits c ON c.id = e.credit_id
      LEFT JOIN orders o ON o.id = e.order_id
      LEFT JOIN refunds r ON r.id = e.refund_id
      LEFT JOIN customer_changes m ON m.order_id = e.order_id
     WHERE ${inPage('e.wallet_id')}
       AND (w.id IS NULL OR e.merchant_id <> w.merchant_id
            OR (e.credit_id IS NOT NULL AND c.id IS NULL) OR c.wallet_id <> e.wallet_id
            OR (e.order_id IS NOT NULL AND o.id IS NULL) OR o.merchant_id <> w.merchant_id
            OR (o.document <> w.document AND NOT COALESCE(m.previous_wallet_id = e.wallet_id, FALSE) AND NOT (e.kind IN ('take_back', 'repay') AND e.refund_id IS NULL))
            OR (e.refund_id IS NOT NULL AND NOT (r.order_id <=> e.order_id)))`,

  'an entry has the sign of its kind, and a credit, an order and a refund as its kind requires': `
    SELECT e.wallet_id, e.seq, e.kind, e.amount_cents, e.credit_id, e.order_id, e.refund_id
      FROM cashback_entries e
     WHERE ${inPage('e.wallet_id')} AND NOT CASE e.kind ${entriesOfKinds()} ELSE FALSE END`,

  'an entry takes effect when it is written, or as an expiry when its credit expires, and not before its credit was made and available': `
    SELECT e.wallet_id, e.seq, e.kind, e.effective_at, e.created_at, c.seq AS first_seq, c.available_at, c.expires_at
      FROM cashback_entries e LEFT JOIN cashback_credits c ON c.id = e.credit_id
     WHERE ${inPage('e.wallet_id')}
       AND (e.effective_at > e.created_at OR e.effective_at <> CASE e.kind WHEN 'expire' THEN c.expires_at ELSE e.created_at END
            OR e.seq < c.seq OR (e.kind IN ('earn', 'grant', 'move_in') AND e.seq <> c.seq) OR (e.kind = 'redeem' AND e.created_at < c.available_at)
            OR ((e.kind IN ('void', 'return', 'move_out') OR (e.kind = 'take_back' AND e.refund_id IS NOT NULL AND NOT e.order_id <=> COALESCE(c.order_id, c.moved_order_id)))
                AND e.created_at >= c.expires_at))`,

  'an order redeems and earns when it is completed, and a refund moves cashback when it is made, or takes it back later': `
    SELECT e.wallet_id, e.seq, e.kind, e.created_at, o.id AS order_id, o.completed_at, r.id AS refund_id, r.created_at AS refunded_at
      FROM cashback_entries e
      LEFT JOIN orders o ON o.id = e.order_id AND e.kind IN ('redeem', 'earn')
      LEFT JOIN refunds r ON r.id = e.refund_id
     WHERE ${inPage('e.wallet_id')}
       AND (r.created_at > e.created_at OR (r.created_at < e.created_at AND e.kind NOT IN ('take_back', 'debt')) OR (e.kind IN ('redeem', 'earn') AND NOT (o.completed_at <=> e.created_at)))`,

  'what moves from one customer to another is what the correction of the order says': `
    SELECT e.wallet_id, e.seq, e.kind, e.order_id, e.amount_cents, e.created_at, e.made_by, m.moved_cents, m.created_at AS moved_at, m.created_by
      FROM cashback_entries e LEFT JOIN customer_changes m ON m.order_id = e.order_id
     WHERE ${inPage('e.wallet_id')} AND e.kind IN ('move_out', 'move_in')
       AND NOT COALESCE(e.created_at = m.created_at AND e.made_by = m.created_by AND ABS(e.amount_cents) = m.moved_cents
                        AND e.wallet_id = CASE e.kind WHEN 'move_out' THEN m.previous_wallet_id ELSE m.wallet_id END, FALSE)`,

  // Of what an order repays without a refund, events say who did it.
  'an entry has the user and the store of the completion, refund, correction or grant that it is of; an expiry has neither, and a void no store': `
    SELECT e.wallet_id, e.seq, e.kind, e.made_by, e.store, o.completed_by, o.store AS order_store, r.created_by AS refunded_by,
           r.store AS refund_store, g.created_by AS granted_by, c.store AS credit_store
      FROM cashback_entries e
      LEFT JOIN orders o ON o.id = e.order_id
      LEFT JOIN refunds r ON r.id = e.refund_id
      LEFT JOIN cashback_credits c ON c.id = e.credit_id AND e.order_id IS NULL
      LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('e.wallet_id')}
       AND NOT COALESCE(CASE WHEN e.kind = 'expire' THEN e.made_by IS NULL AND e.store IS NULL
                             WHEN e.kind = 'void' THEN e.made_by IS NOT NULL AND e.store IS NULL
                             WHEN e.kind IN ('move_out', 'move_in') THEN ${isSameText('e.store', 'o.store')}
                             WHEN e.kind IN ('earn', 'redeem') THEN e.made_by = o.completed_by AND ${isSameText('e.store', 'o.store')}
                             WHEN e.refund_id IS NOT NULL THEN e.made_by = r.created_by AND ${isSameText('e.store', 'COALESCE(r.store, o.store)')}
                             WHEN e.order_id IS NULL AND e.credit_id IS NOT NULL THEN e.made_by = g.created_by AND ${isSameText('e.store', 'c.store')}
                             ELSE TRUE END, FALSE)`,

  'a debt is repaid with the amount that the entry before took from cashback of the same order, grant or refund, by the same user in the same store': `
    SELECT e.wallet_id, e.seq, e.kind, e.order_id, e.refund_id, e.amount_cents, o.kind AS other_kind, o.amount_cents AS other_cents,
           e.made_by, o.made_by AS other_made_by, e.store, o.store AS other_store
      FROM cashback_entries e
      LEFT JOIN cashback_entries o
        ON o.wallet_id = e.wallet_id AND o.seq = CASE e.kind WHEN 'repay' THEN e.seq - 1 ELSE e.seq + 1 END
     WHERE ${inPage('e.wallet_id')} AND (e.kind = 'repay' OR (e.kind = 'take_back' AND e.refund_id IS NULL))
       AND NOT COALESCE(o.kind = CASE e.kind WHEN 'repay' THEN 'take_back' ELSE 'repay' END AND o.amount_cents = e.amount_cents
                        AND o.order_id <=> e.order_id AND o.refund_id <=> e.refund_id
                        AND o.made_by <=> e.made_by AND ${isSameText('o.store', 'e.store')}, FALSE)`,
};

function entriesOfKinds(): string {
  return Object.entries(NAMES)
    .map(([kind, { credit, order, refund }]) => {
      const sign = ENTRY_KINDS[kind as EntryKind] > 0 ? '>' : '<';
      const names = [named('e.credit_id', credit), named('e.order_id', order), named('e.refund_id', refund)];
      return `WHEN '${kind}' THEN e.amount_cents ${sign} 0${names.join('')}`;
    })
    .join(' ');
}

function named(column: string, must: boolean | null): string {
  return must === null ? '' : ` AND ${column} IS ${must ? 'NOT ' : ''}NULL`;
}
