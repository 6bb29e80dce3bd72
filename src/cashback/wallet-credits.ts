import { type EntityManager, In } from 'typeorm';
import { inColumn } from '../platform/database/by-merchant.js';
import { columnNames, type Row, toEntity } from '../platform/database/rows.js';
import { exactCents, sumCents } from '../platform/values/money.js';
import { Credit } from './credit.entity.js';
import type { EntryKind } from './entry.entity.js';
import type { Claim } from './cause.js';
import { type WalletAggregate } from './wallet-aggregate.js';
import { byExpiry, freeCents } from './parts.js';
import type { Wallet } from './wallet.entity.js';

// Reads the credits that use cases need of locked wallets.

/** The number of credits that are read first, and the maximum per statement, until they cover an amount. */
const FIRST_PAGE = 50;
const LARGEST_PAGE = 5000;

/** Credits that a use case needs of a wallet. */
export interface NeededCredits {
  wallet: WalletAggregate;
  /** Available credits of this sum. */
  spendCents?: number;
  /** Credits of this sum, from which it can be taken back, beginning with what this order earned. */
  takeBackCents?: number;
  orderId?: string;
}

/** Loads credits until they cover what is needed, or there are no more. */
export async function loadCredits(manager: EntityManager, needs: readonly NeededCredits[]): Promise<void> {
  const uncovered = new Map<WalletAggregate, NeededCredits[]>();
  for (const need of needs)
    if (need.spendCents || need.takeBackCents)
      uncovered.set(need.wallet, [...(uncovered.get(need.wallet) ?? []), need]);
  const [spent, takenBack]: [Uncovered[], Uncovered[]] = [[], []];
  for (const [wallet, own] of uncovered) {
    // Each may take what another one has loaded, so the credits must cover all of them.
    const leftCents = sumCents(own.flatMap(({ spendCents = 0, takeBackCents = 0 }) => [spendCents, takeBackCents]));
    if (own.some(({ spendCents }) => spendCents)) spent.push({ wallet, leftCents, availableOnly: true });
    const isCovered = own.length === 1 && leftCents <= wallet.freeOfEarned(own[0]!.orderId);
    if (own.some(({ takeBackCents }) => takeBackCents) && !isCovered)
      takenBack.push({ wallet, leftCents, availableOnly: false });
  }
  await loadEarliest(manager, spent);
  await loadEarliest(manager, takenBack);
}

/** Loads credits that have expired and are not written off, at most `limit`, which writes them off. */
export async function loadExpired(manager: EntityManager, wallet: WalletAggregate, limit: number): Promise<void> {
  const { id, merchantId } = wallet.row;
  const sql = `
    SELECT ${creditColumns(manager)} FROM cashback_credits
     WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at <= ? ORDER BY expires_at, seq LIMIT ?`;
  const rows = await manager.query<Row[]>(sql, [id, merchantId, wallet.now, limit]);
  wallet.load(rows.map((row) => toEntity(manager, Credit, row)));
}

/** What the credits of an order depend on. */
export type OrderOfCredits = Record<'id' | 'merchantId', string> &
  Record<'heldCents' | 'redeemedCents' | 'earnedCents', number>;

/** An order whose credits to load, with its wallet. */
interface WalletOrder {
  wallet: WalletAggregate;
  order: OrderOfCredits;
}

const ofOrders = (column: string, orders: readonly WalletOrder[]): [condition: string, parameters: unknown[]] =>
  inColumn(
    column,
    orders.map(({ order }) => order),
    ({ id }) => id,
  );

type HoldRow = Row & { holder_id: string; hold_cents: string };

/** Loads what orders hold. */
export async function loadHolds(manager: EntityManager, orders: readonly WalletOrder[]): Promise<void> {
  const holding = orders.filter(({ order }) => order.heldCents > 0);
  if (holding.length === 0) return;
  const [condition, parameters] = ofOrders('h.order_id', holding);
  const sql = `
    SELECT ${creditColumns(manager, 'c')}, h.order_id AS holder_id, h.amount_cents AS hold_cents
      FROM cashback_holds h JOIN cashback_credits c ON c.id = h.credit_id AND c.merchant_id = h.merchant_id
     WHERE ${condition}`;
  const rows = await manager.query<HoldRow[]>(sql, parameters);
  for (const { wallet, order } of holding) {
    const { id: orderId, merchantId } = order;
    const own = rows.filter((row) => row.holder_id === orderId);
    const credits = own.map((row) => toEntity(manager, Credit, row));
    wallet.load(credits);
    wallet.loadHold(
      orderId,
      own.map(({ hold_cents: cents }, at) => {
        return { orderId, creditId: credits[at]!.id, merchantId, amountCents: exactCents(cents) };
      }),
    );
  }
}

/** Loads the claims on the credits that are loaded. Most have none. */
export async function loadClaims(manager: EntityManager, wallets: Iterable<WalletAggregate>): Promise<void> {
  for (const wallet of wallets) {
    const orders = wallet.unreadClaims;
    if (orders.length === 0) continue;
    const claims = await manager.query<Claim[]>(CLAIMS, [wallet.row.merchantId, orders]);
    wallet.loadClaims(
      orders,
      claims.map((claim) => ({ ...claim, amountCents: exactCents(claim.amountCents) })),
    );
  }
}

/** Loads credits of a wallet by their IDs. */
export async function loadById(
  manager: EntityManager,
  wallet: WalletAggregate,
  ids: readonly string[],
): Promise<Credit[]> {
  if (ids.length === 0) return [];
  const { id: walletId, merchantId } = wallet.row;
  return wallet.load(await manager.findBy(Credit, { id: In(ids), walletId, merchantId }));
}

/** Loads what a refund of an order has moved, its credits, and what it claims. */
export async function loadMoved(
  manager: EntityManager,
  wallet: WalletAggregate,
  { orderId, refundId }: { orderId: string; refundId: string },
): Promise<void> {
  const { merchantId } = wallet.row;
  const rows = await manager.query<MovedRow[]>(MOVED, [merchantId, refundId]);
  await loadById(
    manager,
    wallet,
    rows.flatMap(({ creditId }) => creditId ?? []),
  );
  wallet.load(await manager.findBy(Credit, { orderId, merchantId }));
  await loadClaims(manager, [wallet]);
  wallet.loadMoved(
    refundId,
    rows.map(({ amountCents, ...row }) => ({ ...row, amountCents: exactCents(amountCents) })),
  );
}

type MovedRow = { kind: EntryKind; creditId: string | null; amountCents: string };

const MOVED = `
  SELECT kind, credit_id AS creditId, SUM(amount_cents) AS amountCents FROM cashback_entries
   WHERE merchant_id = ? AND refund_id = ? GROUP BY kind, credit_id HAVING amountCents <> 0`;

/** What refunds took back and no entry has taken. */
const CLAIMS = `
  SELECT r.order_id AS orderId, r.id AS refundId, r.created_by AS \`by\`, COALESCE(r.store, o.store) AS store,
         r.taken_back_cents - (SELECT COALESCE(SUM(CASE e.kind WHEN 'return' THEN 0 WHEN 'take_back' THEN -e.amount_cents ELSE e.amount_cents END), 0)
                                 FROM cashback_entries e WHERE e.refund_id = r.id AND e.merchant_id = r.merchant_id) AS amountCents
    FROM refunds r JOIN orders o ON o.id = r.order_id AND o.merchant_id = r.merchant_id
   WHERE r.merchant_id = ? AND r.order_id IN (?) AND r.voided_at IS NULL HAVING amountCents > 0 ORDER BY r.version`;

type RefundableRow = Row & { refunded_id: string; redeemed_cents: string; gone_cents: string | null };

/** What is gone of a credit although nobody has spent it: what has expired, or debits took and did not restore. */
export const GONE = "'expire', 'debit'";

/** Loads what orders redeemed from which credits, and the credits that they earned. Most orders have only one. */
export async function loadRefundable(manager: EntityManager, orders: readonly WalletOrder[]): Promise<void> {
  if (orders.length === 0) return;
  const rows = await readRefundable(manager, orders);
  for (const { wallet, order } of orders) {
    const own = rows.filter((row) => row.refunded_id === order.id);
    const found = own.map((row) => ({ row, credit: toEntity(manager, Credit, row) }));
    const loaded = new Map(wallet.load(found.map(({ credit }) => credit)).map((credit) => [credit.id, credit]));
    const redeemed = found.map(({ row, credit }) => [loaded.get(credit.id)!, exactCents(row.redeemed_cents)] as const);
    const earned = found.find(({ credit }) => credit.orderId === order.id);
    wallet.loadRefundable(order.id, {
      redeemed: new Map(redeemed.filter(([, cents]) => cents > 0)),
      goneCents: exactCents(earned?.row.gone_cents ?? 0),
    });
  }
}

async function readRefundable(manager: EntityManager, orders: readonly WalletOrder[]): Promise<RefundableRow[]> {
  const columns = creditColumns(manager, 'c');
  const [selects, parameters]: [string[], unknown[]] = [[], []];
  const redeeming = orders.filter(({ order }) => order.redeemedCents > 0);
  if (redeeming.length > 0) {
    const [condition, own] = ofOrders('e.order_id', redeeming);
    parameters.push(...own);
    selects.push(`
      SELECT ${columns}, e.order_id AS refunded_id, -e.amount_cents AS redeemed_cents, 0 AS gone_cents
        FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id
       WHERE ${condition} AND e.kind = 'redeem'`);
  }
  const earning = orders.filter(({ order }) => order.earnedCents > 0);
  if (earning.length > 0) {
    const [condition, own] = ofOrders('c.order_id', earning);
    parameters.push(...own);
    selects.push(`
      SELECT ${columns}, c.order_id AS refunded_id, 0 AS redeemed_cents,
             (SELECT -SUM(e.amount_cents) FROM cashback_entries e
               WHERE e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind IN (${GONE})) AS gone_cents
        FROM cashback_credits c WHERE ${condition}`);
  }
  return selects.length === 0 ? [] : manager.query(selects.join(' UNION ALL '), parameters);
}

interface Uncovered {
  wallet: WalletAggregate;
  leftCents: number;
  availableOnly: boolean;
  after?: Credit | undefined;
}

/** Loads credits that have not expired and are not wholly held, earliest expiry first, until they cover an amount. */
async function loadEarliest(manager: EntityManager, uncovered: Uncovered[]): Promise<void> {
  let open = uncovered;
  for (let limit = FIRST_PAGE; open.length > 0; limit = Math.min(limit * 4, LARGEST_PAGE)) {
    const pages = open.map(({ wallet, ...page }) => ({ ...page, wallet: wallet.row, now: wallet.now, limit }));
    const found = await openCredits(manager, pages);
    open = open.filter((need, at) => {
      const page = found[at]!;
      need.after = page.at(-1);
      for (const credit of need.wallet.load(page)) need.leftCents -= freeCents(credit);
      return need.leftCents > 0 && page.length === limit;
    });
  }
}

/** The position after which a page of open credits starts. */
type CreditPosition = Pick<Credit, 'seq' | 'expiresAt'>;

/** A page of the credits of a wallet. */
interface OpenCreditsPage {
  wallet: Pick<Wallet, 'id' | 'merchantId'>;
  now: Date;
  after?: CreditPosition | undefined;
  limit: number;
  /** Whether pending credits are excluded. */
  availableOnly: boolean;
}

/**
 * Reads pages of wallets' credits that have not expired and are not wholly held, earliest expiry first: each page has a
 * wallet of its own. Many credits can have the same expiry, so the rest of that expiry and the later ones are two
 * ranges of the index.
 */
async function openCredits(manager: EntityManager, pages: readonly OpenCreditsPage[]): Promise<Credit[][]> {
  const columns = creditColumns(manager);
  const parameters: unknown[] = [];
  const selects = pages.flatMap(({ wallet, now, after, limit, availableOnly }) => {
    const start = after !== undefined && after.expiresAt > now ? after : undefined;
    const ranges: [condition: string, ...values: unknown[]][] = [['expires_at > ?', start?.expiresAt ?? now]];
    if (start !== undefined) ranges.unshift(['expires_at = ? AND seq > ?', start.expiresAt, start.seq]);
    const available = availableOnly ? 'AND available_at <= ?' : '';
    return ranges.map(([condition, ...values]) => {
      parameters.push(wallet.id, wallet.merchantId, ...values, ...(availableOnly ? [now] : []), limit);
      return `
        (SELECT ${columns} FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
          WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND ${condition} ${available}
          ORDER BY expires_at, seq LIMIT ?)`;
    });
  });
  const rows = await manager.query<Row[]>(selects.join(' UNION ALL '), parameters);
  const credits = rows.map((row) => toEntity(manager, Credit, row)).sort(byExpiry);
  return pages.map(({ wallet, limit }) => credits.filter(({ walletId }) => walletId === wallet.id).slice(0, limit));
}

function creditColumns(manager: EntityManager, table?: string): string {
  const names = columnNames(manager, Credit);
  return (table === undefined ? names : names.map((name) => `${table}.${name}`)).join(', ');
}
