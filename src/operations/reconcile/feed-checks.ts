import { SUMS } from '../../merchants/merchant.entity.js';
import { nowOf } from '../../platform/database/by-merchant.js';
import { FEED_EVENT_TYPES } from '../../platform/values/domain-event.js';
import { CLOCK_MARGIN, endsDay, inPage, isInDay, isSameText, madeAt, type SqlChecks } from './page.js';

/** Stands for the column with the ID of an event. */
const EVENT_ID = '{event id}';

/** Returns a SELECT from the events `e` of feeds, and the same from the events that wait for a number. */
const fromBoth = (columns: string, rest: string): string =>
  [
    ['events', 'e.id'],
    ['event_outbox', 'e.event_id'],
  ]
    .map(([table, id]) => `SELECT ${columns} FROM ${table} e ${rest}`.replaceAll(EVENT_ID, id!))
    .join(' UNION ALL ');
const valueOf = (path: string): string => `JSON_VALUE(e.data, '$.${path}')`;
const centsOf = (path: string): string => `CAST(${valueOf(path)} AS DECIMAL(20, 2)) * 100`;
const instantOf = (path: string): string => `CAST(LEFT(REPLACE(${valueOf(path)}, 'T', ' '), 23) AS DATETIME(3))`;
const ofWallets = `JOIN wallets w ON w.id = e.subject_id WHERE ${inPage('w.id')} AND ${inPage('e.subject_id')}`;
const LEDGER_TYPES =
  "('cashback.granted', 'cashback.voided', 'cashback.debited', 'cashback.debit_voided', 'cashback.expired', 'wallet.debt_changed')";

/** The rows `r` whose change at an instant and by a user no event of their wallet tells. */
const withoutEvent = (
  from: string,
  { id, walletId, at, by, type }: Record<'id' | 'walletId' | 'at' | 'by' | 'type', string>,
) => {
  const event = `e.subject_id = ${walletId} AND e.type = ${type} AND e.occurred_at = ${at} AND e.made_by = ${by}`;
  return `
    SELECT ${walletId} AS wallet_id, ${id} AS id, ${at} AS at, ${by} AS made_by
      FROM ${from} JOIN event_feeds f ON f.merchant_id = r.merchant_id
     WHERE ${inPage(walletId)} AND ${at} >= f.kept_since
       AND NOT EXISTS (SELECT 1 FROM events e WHERE ${event})
       AND NOT EXISTS (SELECT 1 FROM event_outbox e WHERE e.merchant_id = r.merchant_id AND ${event})`;
};

/** How many entries before an event are compared with it. */
const LAST_ENTRIES = 100;
/** How many entries back. Servers use no index for a range whose ends are in another table. */
const BACK = Array.from({ length: LAST_ENTRIES }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');

/** Whether an entry `e` leaves the wallet as an event `x` says. */
const SAYS_THE_SAME =
  'e.debt_cents = x.debt_cents AND x.balance_cents BETWEEN e.balance_cents - x.expired_cents AND e.balance_cents';

/**
 * The sums of wallets `w` that events say: of their own, of their orders, and of orders of which they were the wallet
 * until the customer was corrected.
 */
const SAID = [
  ['wallet', 'JOIN wallets w ON w.id = e.subject_id', 'TRUE'],
  [
    'wallet',
    'JOIN orders o ON o.id = e.subject_id JOIN wallets w ON w.merchant_id = o.merchant_id AND w.document = o.document',
    `e.type <> 'order.created' AND ${valueOf('wallet.id')} = w.id`,
  ],
  ...['wallet', 'previous_wallet'].map((said) => [
    said,
    'JOIN customer_changes m ON m.order_id = e.subject_id JOIN wallets w ON w.id = m.previous_wallet_id',
    `${valueOf(`${said}.id`)} = w.id`,
  ]),
].map(([said, join, condition]) =>
  fromBoth(
    `w.id AS wallet_id, e.occurred_at AS at, 1 AS place, 0 AS seq, 0 AS expired_cents, ${EVENT_ID} AS event_id, e.type,
     ${centsOf(`${said}.debt`)} AS debt_cents,
     ${centsOf(`${said}.available`)} + ${centsOf(`${said}.pending`)} + ${centsOf(`${said}.held`)} AS balance_cents`,
    `${join} WHERE ${inPage('w.id')} AND ${condition}`,
  ),
);

/** What entries change: the number of the last one, and what has expired and is not written off. */
const STEPS = [
  ['created_at', '0, seq, 0', 'cashback_entries', ''],
  ['effective_at', '0, 0, -amount_cents', 'cashback_entries', "AND kind = 'expire'"],
  ['created_at', '2, 0, amount_cents', 'cashback_entries', "AND kind = 'expire'"],
  ['expires_at', '0, 0, remaining_cents - held_cents', 'cashback_credits', 'AND is_open = 1'],
].map(
  ([at, values, table, condition]) =>
    `SELECT wallet_id, ${at}, ${values}, NULL, NULL, NULL, NULL FROM ${table} WHERE ${inPage('wallet_id')} ${condition}`,
);

/**
 * Checks of feeds, and of how far their merchants' ledgers have been summed, by wallet. An entry and its event have the
 * same instant.
 */
export const FEED_CHECKS: SqlChecks = {
  'the events of a feed are numbered without gaps from its oldest to its last number': `
    SELECT e.merchant_id, e.sequence, e.subject_id, f.oldest_sequence, f.last_sequence
      FROM events e
      LEFT JOIN event_feeds f ON f.merchant_id = e.merchant_id
      LEFT JOIN events p ON p.merchant_id = e.merchant_id AND p.sequence = e.sequence - 1
      LEFT JOIN events n ON n.merchant_id = e.merchant_id AND n.sequence = e.sequence + 1
     WHERE ${inPage('e.subject_id')} AND (f.merchant_id IS NULL OR (p.sequence IS NULL) <> (e.sequence = f.oldest_sequence)
                                          OR (n.sequence IS NULL) <> (e.sequence = f.last_sequence))`,

  'the events of a feed are kept for at least four days': `
    SELECT f.merchant_id, f.kept_since, m.created_at
      FROM event_feeds f LEFT JOIN merchants m ON m.id = f.merchant_id
     WHERE ${inPage('f.merchant_id')}
       AND NOT COALESCE(f.kept_since <= m.created_at OR f.kept_since <= CAST(:now AS DATETIME(3)) - INTERVAL 4 DAY + ${CLOCK_MARGIN}, FALSE)`,

  'the dates of credits are announced: both kinds have a position': `
    SELECT c.merchant_id, COUNT(s.kind) AS positions
      FROM (SELECT '' AS merchant_id UNION ALL SELECT merchant_id FROM sandbox_clocks WHERE stands_at IS NOT NULL) c
      LEFT JOIN event_sweeps s ON s.merchant_id = c.merchant_id
     WHERE :after = '' GROUP BY c.merchant_id HAVING COUNT(s.kind) <> 2`,

  'no date of credits is announced earlier than a week before it': `
    SELECT s.merchant_id, s.kind, s.done_until FROM event_sweeps s
     WHERE :after = '' AND s.done_until > ${nowOf('s.merchant_id')} + ${CLOCK_MARGIN} + INTERVAL IF(s.kind = 'expiring', 7, 0) DAY`,

  'an event has the instant of its ID, and is about an order or a wallet of its merchant; that of a wallet names it and no personal data':
    fromBoth(
      'e.merchant_id, e.type, e.subject_id, e.occurred_at, o.id AS order_id, w.id AS wallet_id',
      `LEFT JOIN orders o ON o.id = e.subject_id AND o.merchant_id = e.merchant_id AND e.type LIKE 'order.%'
       LEFT JOIN wallets w ON w.id = e.subject_id AND w.merchant_id = e.merchant_id AND e.type NOT LIKE 'order.%'
       WHERE ${inPage('e.subject_id')}
         AND NOT COALESCE(SUBSTRING(${EVENT_ID}, 15, 1) = '7' AND ${madeAt(EVENT_ID, 'e.occurred_at')} AND (o.id IS NOT NULL OR (w.id = ${valueOf('wallet.id')} AND e.type IN ('${FEED_EVENT_TYPES.join("', '")}')
                          AND e.data NOT REGEXP '"(document|metadata|reason|note|void_reason)" *:')), FALSE)`,
    ),

  'what was granted, voided, debited, expired or changed the debt, and who did it, is what the events of the same instant say': `
    SELECT x.subject_id AS wallet_id, x.type, x.of_id, x.at, x.made_by, SUM(x.entries_cents) AS entries_cents, SUM(x.events_cents) AS events_cents
      FROM (${fromBoth(
        `e.merchant_id, e.subject_id, e.type, COALESCE(${valueOf('grant.id')}, ${valueOf('debit.id')}, '') AS of_id, e.occurred_at AS at, e.made_by, 0 AS entries_cents,
         CASE e.type WHEN 'wallet.debt_changed' THEN ${centsOf('change')} ELSE ${centsOf('amount')} END AS events_cents`,
        `${ofWallets} AND e.type IN ${LEDGER_TYPES}`,
      )} UNION ALL
            SELECT e.merchant_id, e.wallet_id,
                   CASE e.kind WHEN 'grant' THEN 'cashback.granted' WHEN 'void' THEN 'cashback.voided'
                               WHEN 'debit' THEN IF(e.amount_cents < 0, 'cashback.debited', 'cashback.debit_voided')
                               WHEN 'expire' THEN 'cashback.expired' ELSE 'wallet.debt_changed' END,
                   CASE WHEN e.kind IN ('grant', 'void') THEN COALESCE(c.from_credit_id, e.credit_id) WHEN e.kind = 'debit' THEN e.debit_id ELSE '' END,
                   e.created_at, e.made_by,
                   CASE WHEN e.kind IN ('void', 'expire') THEN -e.amount_cents WHEN e.kind = 'debit' THEN ABS(e.amount_cents) ELSE e.amount_cents END, 0
              FROM cashback_entries e LEFT JOIN cashback_credits c ON c.id = e.credit_id
             WHERE ${inPage('e.wallet_id')} AND e.kind IN ('grant', 'void', 'debit', 'expire', 'debt', 'repay')) x
      LEFT JOIN event_feeds f ON f.merchant_id = x.merchant_id WHERE COALESCE(x.at >= f.kept_since, TRUE)
     GROUP BY x.subject_id, x.merchant_id, x.type, x.of_id, x.at, x.made_by
    HAVING NOT COALESCE(SUM(x.entries_cents) = SUM(x.events_cents), FALSE)`,

  // An event of the same instant, or of a clock that is ahead, can have the sums before the last entries. What had
  // expired and was not written off is in the balance of the ledger, but not in the sums of an event. Entries are
  // counted, because MariaDB looks at all earlier rows again for each MAX. Where a clock stands still, any number of
  // entries has one instant.
  'the wallet in an event has the debt and the balance of the ledger at that time': `
    SELECT x.* FROM (
      SELECT wallet_id, event_id, type, at, debt_cents, balance_cents, CAST(SUM(seq > 0) OVER earlier AS SIGNED) AS seq, SUM(expired_cents) OVER earlier AS expired_cents
        FROM (${[...SAID, ...STEPS].join(' UNION ALL ')}) steps
      WINDOW earlier AS (PARTITION BY wallet_id ORDER BY at, place ROWS UNBOUNDED PRECEDING)) x
     WHERE NOT (x.seq <= ${LAST_ENTRIES} AND x.debt_cents = 0 AND x.balance_cents = 0)
       AND CASE WHEN x.event_id IS NULL THEN FALSE ELSE NOT EXISTS (
             SELECT 1 FROM (${BACK}) back STRAIGHT_JOIN cashback_entries e ON e.wallet_id = x.wallet_id AND e.seq = x.seq - back.n
              WHERE ${SAYS_THE_SAME}) AND NOT EXISTS (
             SELECT 1 FROM cashback_entries e WHERE e.wallet_id = x.wallet_id AND e.created_at = x.at AND ${SAYS_THE_SAME}) END`,

  'the grant in an event is that of its rows, and is not voided before its date': fromBoth(
    'e.merchant_id, e.subject_id AS wallet_id, e.type, e.occurred_at, c.id AS credit_id, c.amount_cents, c.available_at, c.expires_at, c.store, g.voided_at',
    `LEFT JOIN cashback_credits c ON c.id = CONVERT(${valueOf('grant.id')} USING ascii) COLLATE ascii_bin AND c.wallet_id = e.subject_id
     LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('e.subject_id')} AND e.type IN ('cashback.granted', 'cashback.voided')
       AND NOT COALESCE(g.external_id = CAST(${valueOf('grant.external_id')} AS BINARY) AND ${centsOf('grant.amount')} = c.amount_cents
                        AND ${isSameText(valueOf('grant.store'), 'c.store')}
                        AND ${instantOf('grant.available_at')} = c.available_at AND ${instantOf('grant.expires_at')} = c.expires_at
                        AND IF(g.requested_expires_at IS NULL, ${endsDay('c.expires_at', valueOf('grant.expires_on'))}, ${isInDay('c.expires_at', valueOf('grant.expires_on'))})
                        AND (e.type = 'cashback.granted' OR e.occurred_at >= g.voided_at), FALSE)`,
  ),

  'a grant was voided first at the instant and by the user of an event': withoutEvent(
    'cashback_grants r JOIN cashback_credits c ON c.id = r.credit_id',
    { id: 'r.credit_id', walletId: 'c.wallet_id', at: 'r.voided_at', by: 'r.voided_by', type: "'cashback.voided'" },
  ),

  'the debit in an event is that of its rows': fromBoth(
    'e.merchant_id, e.subject_id AS wallet_id, e.type, e.occurred_at, d.id AS debit_id, d.amount_cents, d.store, d.voided_at',
    `LEFT JOIN debits d ON d.id = CONVERT(${valueOf('debit.id')} USING ascii) COLLATE ascii_bin AND d.wallet_id = e.subject_id
     WHERE ${inPage('e.subject_id')} AND e.type IN ('cashback.debited', 'cashback.debit_voided')
       AND NOT COALESCE(d.external_id = CAST(${valueOf('debit.external_id')} AS BINARY) AND ${centsOf('debit.amount')} = d.amount_cents
                        AND ${isSameText(valueOf('debit.store'), 'd.store')}
                        AND IF(e.type = 'cashback.debited', e.occurred_at = d.created_at AND e.made_by = d.created_by, e.occurred_at >= d.voided_at), FALSE)`,
  ),

  'a debit was voided first at the instant and by the user of an event': withoutEvent('debits r', {
    ...{ id: 'r.id', walletId: 'r.wallet_id', at: 'r.voided_at', by: 'r.voided_by', type: "'cashback.debit_voided'" },
  }),

  'a wallet was last frozen or unfrozen at the instant and by the user of an event': withoutEvent('wallets r', {
    ...{ id: 'r.id', walletId: 'r.id', at: 'r.freeze_changed_at', by: 'r.freeze_changed_by' },
    type: "IF(r.frozen = 1, 'wallet.frozen', 'wallet.unfrozen')",
  }),

  'an event that a wallet was frozen or unfrozen says so of the wallet': fromBoth(
    'e.merchant_id, e.subject_id AS wallet_id, e.type, e.occurred_at',
    `WHERE ${inPage('e.subject_id')} AND e.type IN ('wallet.frozen', 'wallet.unfrozen')
       AND NOT COALESCE(CAST(JSON_EXTRACT(e.data, '$.wallet.frozen') AS CHAR) = IF(e.type = 'wallet.frozen', 'true', 'false'), FALSE)`,
  ),

  'what an order repays without a refund is by the user, or by the date, of an event of the order at the same instant': `
    SELECT e.wallet_id, e.seq, e.order_id, e.made_by, e.created_at
      FROM cashback_entries e JOIN event_feeds f ON f.merchant_id = e.merchant_id
     WHERE ${inPage('e.wallet_id')} AND e.kind = 'repay' AND e.order_id IS NOT NULL AND e.refund_id IS NULL AND e.created_at >= f.kept_since
       AND NOT EXISTS (SELECT 1 FROM events v WHERE v.subject_id = e.order_id AND v.occurred_at = e.created_at AND v.made_by <=> e.made_by)
       AND NOT EXISTS (SELECT 1 FROM event_outbox v WHERE v.merchant_id = e.merchant_id AND v.subject_id = e.order_id
                          AND v.occurred_at = e.created_at AND v.made_by <=> e.made_by)`,

  'a date of credits is announced once, by no user, and at most with their amounts': `
    SELECT x.wallet_id, x.type, x.date, COUNT(*) AS events, MAX(x.cents) AS cents
      FROM (${fromBoth(
        `e.subject_id AS wallet_id, e.type, e.made_by, ${centsOf('amount')} AS cents, ${isInDay(instantOf('expires_at'), valueOf('expires_on'))} AS is_day,
         CASE e.type WHEN 'cashback.available' THEN ${instantOf('available_at')} ELSE ${instantOf('expires_at')} END AS date`,
        `${ofWallets} AND e.type IN ('cashback.available', 'cashback.expiring')`,
      )}) x
     GROUP BY x.wallet_id, x.type, x.date
    HAVING COUNT(*) > 1 OR COUNT(x.made_by) > 0 OR MIN(COALESCE(x.is_day, x.type = 'cashback.available')) = 0
        OR NOT COALESCE(MAX(x.cents) BETWEEN 1 AND (
             SELECT SUM(c.amount_cents) FROM cashback_credits c
              WHERE c.wallet_id = x.wallet_id AND x.date = CASE x.type WHEN 'cashback.available' THEN c.available_at ELSE c.expires_at END), FALSE)`,

  'each sum of a merchant has a position that is past, and is due soon': `
    SELECT m.id AS merchant_id, s.sums, p.summed_until, p.due_at
      FROM merchants m JOIN (${SUMS.map((sums) => `SELECT '${sums}' AS sums`).join(' UNION ALL ')}) s
      LEFT JOIN sum_positions p ON p.merchant_id = m.id AND p.sums = s.sums
     WHERE ${inPage('m.id')} AND NOT COALESCE(p.summed_until <= ${nowOf('m.id')} + ${CLOCK_MARGIN}
                                              AND p.due_at <= ${nowOf('m.id')} + INTERVAL 1 HOUR, FALSE)`,
};
