import { isDeepStrictEqual } from 'node:util';
import type { Dice } from './dice.js';
import { anId, anything, type Check, count, oneOf } from './expected.js';
import { elements } from './pages.js';
import type { Shop } from './shop.js';
import { brl, cents, instant, sum } from './values.js';
import type { By, Entry } from './wallet.js';

/** A line of the statement, as responses say it. */
interface Line extends Record<string, unknown> {
  kind: string;
  seq: number;
  amount: string;
  balance: string;
  debt: string;
  credit_id: string | null;
  /** "of its credit for every line that has a credit; null for debt/repay" */
  source: { type: string; id: string; external_id: string; store: string | null; return: boolean } | null;
  reason: string | null;
  grant_id: string | null;
  grant_external_id: string | null;
  order_external_id: string | null;
  refund_external_id: string | null;
  debit_external_id: string | null;
  effective_at: string;
  created_at: string;
  by: By;
  store: string | null;
}

/** Compares the lines of a statement with what happened to the wallet, and the changes that they make up. */
export async function compareStatement(shop: Shop, dice: Dice, document: string): Promise<void> {
  const wallet = shop.wallet(document);
  const path = `/wallets/${wallet.id}/entries`;
  const lines = (await elements<Line>(shop, `${path}?limit=${10 + dice.upTo(91)}`)).reverse();
  compareLines(shop, lines);
  compareSums(shop, lines, wallet.entries);
  // "available, pending, held, and expired but not yet written off"
  const { now } = shop;
  const balance = lines.at(-1)?.balance ?? '0.00';
  shop.expectSame(brl(wallet.available(now) + wallet.pending(now) + wallet.held()), balance, 'the last balance');
  // "A page never ends inside a change."
  const changes = changesOf(lines).map(changeView);
  for (const limit of [lines.length > 40 ? 20 : 1 + dice.upTo(4), 100])
    shop.expectSame(
      changes,
      (await elements(shop, `${path}?by=change&limit=${limit}`)).reverse(),
      `the changes in pages of ${limit}`,
    );
}

function compareLines(shop: Shop, lines: Line[]): void {
  const sources = new Map<unknown, Line['source']>();
  const debits = new Set<unknown>();
  let [balance, debt, last] = [0n, 0n, ''];
  for (const [index, line] of lines.entries()) {
    const { kind, credit_id: credit, created_at } = line;
    const isDebt = kind === 'debt' || kind === 'repay';
    if (isDebt) debt += cents(line.amount);
    else balance += cents(line.amount);
    if (!sources.has(credit)) {
      sources.set(credit, line.source);
      shop.expectSame(isDebt ? null : { ...line.source, id: anId }, line.source, `the source of entry ${index + 1}`);
    }
    if (line.debit_external_id !== null) debits.add(line.debit_id);
    // "from 1 without gaps", "Balance after this entry", "Debt after this entry", "`lines`: 1"
    const after = { seq: index + 1, balance: brl(balance), debt: brl(debt), lines: 1, reason: reasonOf(shop, line) };
    const source = sources.get(credit);
    const ids = { credit_id: isDebt ? null : anId, debit_id: line.debit_external_id === null ? null : anId };
    shop.expectSame({ ...line, ...after, source, ...ids, ...grantOf(line) }, line, `entry ${index + 1}`);
    if (created_at < last) shop.sequence.fail(`entry ${index + 1} is not in the order of time`);
    last = created_at;
  }
  const named = new Set(lines.map((line) => line.debit_external_id).filter((id) => id !== null));
  shop.expectSame(named.size, debits.size, 'the number of debits in the statement');
}

/** The grant of a line is the source of its credit. Of a credit that a refund made, a void can name it, too. */
function grantOf({ kind, source, grant_id, grant_external_id }: Line): object {
  if (source?.type === 'grant') return { grant_id: source.id, grant_external_id: source.external_id };
  return kind === 'void' ? { grant_id, grant_external_id } : { grant_id: null, grant_external_id: null };
}

/** "the grant's only on `grant` and `void` lines, the debit's on `debit` lines …, otherwise null" */
function reasonOf(shop: Shop, { kind, source, debit_external_id }: Line): string | undefined | Check {
  if (kind === 'debit')
    return shop.debits.find(({ request }) => request.external_id === debit_external_id)?.request.reason;
  if (kind !== 'grant' && kind !== 'void') return undefined;
  // Of what a refund made from the grant's credit, the line does not say which grant that is.
  if (source?.type !== 'grant') return anything;
  return shop.grants.find(({ request }) => request.external_id === source.external_id)?.request.reason;
}

/** Compares what each user did to one credit for the same reason, in the same place and at the same instant. */
function compareSums(shop: Shop, lines: Line[], entries: Entry[]): void {
  const [actual, expected] = [new Map<string, bigint>(), new Map<string, bigint>()];
  for (const { source, kind, by, store, ...line } of lines) {
    const { order_external_id: order, refund_external_id: refund, debit_external_id: debit } = line;
    const origin = source && [source.type, source.external_id, source.store, source.return];
    add(actual, cents(line.amount), [kind, origin, order, refund, debit, line.effective_at, by, store]);
  }
  for (const { credit, amount, kind, order, refund, debit, at, by, store } of entries) {
    const type = credit?.kind === 'grant' ? 'grant' : 'order';
    const origin = credit && [type, credit.origin, credit.store, credit.kind === 'return'];
    add(expected, amount, [kind, origin, order, refund, debit, instant(at), by, store]);
  }
  shop.expectSame(nonZero(expected), nonZero(actual), 'the sums of the entries');
}

function add(sums: Map<string, bigint>, amount: bigint, what: unknown[]): void {
  const key = JSON.stringify(what.map((one) => one ?? null));
  sums.set(key, (sums.get(key) ?? 0n) + amount);
}

const nonZero = (sums: Map<string, bigint>): object =>
  Object.fromEntries([...sums].filter(([, amount]) => amount !== 0n).map(([key, amount]) => [key, brl(amount)]));

/** "one line for all consecutive lines of one change" */
function changesOf(lines: Line[]): Line[][] {
  const changes: Line[][] = [];
  for (const line of lines) {
    const change = changes.at(-1);
    if (change && isSameChange(change, line)) change.push(line);
    else changes.push([line]);
  }
  return changes;
}

/** "same kind, sign, order, refund, debit, grant, effective_at, created_at, by" */
function isSameChange(change: Line[], line: Line): boolean {
  const { effective_at, created_at, by, kind } = line;
  const what = ({ amount, order_id, refund_id, debit_id }: Line): unknown[] => [
    ...[amount.startsWith('-'), order_id, refund_id, debit_id],
  ];
  const [first] = change as [Line];
  // Of a credit that a refund made, the line need not say which grant was voided.
  const grants = new Set([...change, line].map(({ grant_id }) => grant_id).filter((id) => id !== null));
  return (
    isDeepStrictEqual(
      [...what(first), first.kind, first.effective_at, first.created_at, first.by],
      [...what(line), kind, effective_at, created_at, by],
    ) &&
    (!['grant', 'void'].includes(kind) || grants.size <= 1)
  );
}

/** "amount is the sum, `seq`, `balance`, `debt` those of its last line, `lines` their number" */
function changeView(lines: Line[]): object {
  const last = lines.at(-1)!;
  const isSeveral = new Set(lines.map(({ credit_id }) => credit_id)).size > 1;
  if (lines.length > 1) count(`a change of several lines: ${last.kind}`);
  return {
    ...last,
    ...{ amount: brl(sum(lines.map(({ amount }) => cents(amount)))), lines: lines.length },
    reason: oneOf(...lines.map(({ reason }) => reason)),
    // "`credit_id`/`source`/`grant_*` null if there are several credits"
    ...(isSeveral && { credit_id: null, source: null, grant_id: null, grant_external_id: null }),
  };
}
