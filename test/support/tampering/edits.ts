import { readFileSync } from 'node:fs';
import path from 'node:path';

/** An edit of a row with direct access to the database. */
export interface Edit {
  /** What reconcile has to find: a kind of row, or that and a part of the invariant. */
  section: string;
  title: string;
  /** The statement, with IDs of the scenes in braces. */
  sql: string;
}

const UNKNOWN = "'00000000-0000-7000-8000-000000000000'";
const CREDITS = 'cashback_credits WHERE wallet_id = {$1.wallet}';
const SUMMED = 'merchant_id = (SELECT merchant_id FROM wallets WHERE id = {returned.wallet})';
const LATER = 'created_at > (SELECT created_at FROM refunds WHERE id = {undone.refund2})';

/** The rows of a line: the table, and which of its rows. `$1` and `$2` are the words after the first one. */
const ROWS: Record<string, string> = {
  wallet: 'wallets WHERE id = {$1.wallet}',
  order: 'orders WHERE id = {$1.order}',
  correction: 'customer_changes WHERE order_id = {$1.order}',
  // The credit that an order earned; the first one that was granted, and that a refund made.
  earned: 'cashback_credits WHERE order_id = {$1.order}',
  granted: `${CREDITS} AND order_id IS NULL ORDER BY id LIMIT 1`,
  returned: `${CREDITS} AND refund_id IS NOT NULL ORDER BY id LIMIT 1`,
  // The credit that returned for a second time, and the one that the first customer had for a corrected order.
  again: 'cashback_credits WHERE refund_id = {again.refund1}',
  away: 'cashback_credits WHERE moved_order_id = {moved.order}',
  hold: 'cashback_holds WHERE order_id = {$1.order} LIMIT 1',
  refund: 'refunds WHERE id = {$1.refund1}',
  refund2: 'refunds WHERE id = {$1.refund2}',
  undone: 'refunds WHERE id = {undone.refund2}',
  grant: `cashback_grants WHERE credit_id IN (SELECT id FROM ${CREDITS}) ORDER BY credit_id LIMIT 1`,
  debit: 'debits WHERE wallet_id = {$1.wallet}',
  entry: "cashback_entries WHERE wallet_id = {$1.wallet} AND kind = '$2' ORDER BY seq LIMIT 1",
  // The entries by which a refund was undone.
  undoes: `cashback_entries WHERE refund_id = {undone.refund2} AND ${LATER} AND kind = '$1'`,
  ledger_days: `ledger_days WHERE ${SUMMED} ORDER BY day, kind LIMIT 1`,
  ...Object.fromEntries(
    ['sales_days', 'refund_days', 'grant_days'].map((table) => [
      table,
      `${table} WHERE ${SUMMED} ORDER BY day LIMIT 1`,
    ]),
  ),
  sum_position: `sum_positions WHERE ${SUMMED} AND sums = '$1'`,
  rules: 'policy_bases WHERE merchant_id = {ruled.merchant} AND version = $1',
  merchant: 'merchants WHERE id = {ruled.merchant}',
  // Both rows of a campaign, and its latest one.
  campaign: 'policy_versions WHERE id = {ruled.campaign}',
  version: 'policy_versions WHERE id = {ruled.campaign} ORDER BY stored_at DESC LIMIT 1',
  feed: 'event_feeds WHERE merchant_id = {merchant.id}',
  // The first event of a type about the order or the wallet of a scene.
  event: "events WHERE type = '$1' AND subject_id = {$2} ORDER BY sequence LIMIT 1",
};

const OF_WALLET = (scene: string): string => `WHERE c.wallet_id = {${scene}.wallet}`;
const CREDIT = 'SELECT c.id FROM cashback_credits c';
/** What a change can name beside the scenes. */
const NAMES: [name: RegExp, sql: (scene: string) => string][] = [
  [/\{unknown\}/g, () => UNKNOWN],
  [
    /\{other\.credit\}/g,
    () => '(SELECT id FROM (SELECT id FROM cashback_credits WHERE order_id = {redeemed.order}) o)',
  ],
  [/\{grants of (\w+)\}/g, (scene) => `${CREDIT} JOIN cashback_grants g ON g.credit_id = c.id ${OF_WALLET(scene)}`],
  [/\{returned of (\w+)\}/g, (scene) => `${CREDIT} ${OF_WALLET(scene)} AND c.refund_id IS NOT NULL ORDER BY c.id`],
  [
    /\{entry\.columns\}/g,
    () =>
      'wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, order_id, refund_id, effective_at, created_at, made_by, store',
  ],
];

/** Reads edits.txt. */
export function readEdits(): Edit[] {
  const [, ...sections] = readFileSync(path.join(import.meta.dirname, 'edits.txt'), 'utf8').split(/^# /m);
  return sections.flatMap((text) => {
    const [section = '', ...lines] = text
      .replaceAll(/\n {4}/g, ' ')
      .trim()
      .split(/\n+/);
    return lines.flatMap((line) => editsOf(line)).map((edit) => ({ section, ...edit }));
  });
}

function editsOf(line: string): Omit<Edit, 'section'>[] {
  const [, kind = '', scenes = '', changes = ''] = /^(\w+)(?: (.*?))?: (.*)$/.exec(line) ?? [];
  if (kind === 'sql') return [{ title: changes, sql: named(changes) }];
  return scenes.split(', ').flatMap((words) =>
    changes.split(/; ?/).map((change) => ({
      title: `${kind} ${words}: ${change}`,
      sql: named(statement(change, rowsOf(kind, words.split(' ')))),
    })),
  );
}

function rowsOf(kind: string, [first = '', second = '']: string[]): string {
  const rows = ROWS[kind];
  if (rows === undefined) throw new Error(`edits.txt names ${kind}, which is no kind of row`);
  const subject = `${second}.${first.startsWith('order.') ? 'order' : 'wallet'}`;
  return rows.replaceAll('$1', first).replaceAll('$2', kind === 'event' ? subject : second);
}

function statement(change: string, rows: string): string {
  if (change === 'DELETE') return `DELETE FROM ${rows}`;
  const table = rows.split(' ')[0];
  const where = rows.slice(rows.indexOf(' '));
  const [, id] = /^COPY (.*)$/.exec(change) ?? [];
  if (id !== undefined)
    return `INSERT INTO event_outbox (merchant_id, event_id, type, subject_id, data, occurred_at, made_by)
      SELECT merchant_id, ${id}, type, subject_id, data, occurred_at, made_by FROM ${rows}`;
  const [, from, to] = /^(.*?) ->(?: (.*))?$/.exec(change) ?? [];
  if (from !== undefined) return `UPDATE ${table} SET data = REPLACE(data, '${from}', '${to ?? ''}')${where}`;
  const assignments = change.includes('(') ? change : change.replaceAll(/(^|, )(\w+) (?=[+-])/g, '$1$2 = $2 ');
  return `UPDATE ${table} SET ${assignments}${where}`;
}

function named(sql: string): string {
  return NAMES.reduce((text, [name, expand]) => text.replace(name, (_, scene: string) => expand(scene)), sql);
}
