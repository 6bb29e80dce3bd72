import { inPage, type SqlChecks } from './page.js';

/** The entries of an order `o` that last released what it held. */
const LAST_RELEASED = `(
  SELECT SUM(e.amount_cents) FROM cashback_entries e
   WHERE e.order_id = o.id AND e.kind = 'release' AND e.created_at = (
     SELECT MAX(l.created_at) FROM cashback_entries l WHERE l.order_id = o.id AND l.kind = 'release'))`;

/** Checks of what expired orders held, by order. */
export const LAPSE_CHECKS: SqlChecks = {
  'only an expired order has a lapsed amount, which was released when it expired': `
    SELECT o.id AS order_id, o.status, o.lapsed_cents, ${LAST_RELEASED} AS released_cents
      FROM orders o
     WHERE ${inPage('o.id')} AND o.lapsed_cents <> 0
       AND NOT (o.status = 'expired' AND o.lapsed_cents <=> ${LAST_RELEASED})`,
};
