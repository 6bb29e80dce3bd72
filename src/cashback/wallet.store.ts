import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { newId } from '../common/ids.js';
import { exactCents, formatMoney, sumCents } from '../common/money.js';
import { inColumn } from '../database/by-merchant.js';
import { chunks, columnNames, insertRows, type Row, toEntity, updateRows } from '../database/rows.js';
import type { Outcome, Shared } from '../database/shared.js';
import { SharedStatements } from '../database/shared-statements.js';
import { NEVER, NEXT_CHANGE, nextChangeParameters } from './balance-sql.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { Hold } from './hold.entity.js';
import { byExpiry, freeCents, WalletAggregate } from './wallet-aggregate.js';
import { aboutWallet, walletData } from './wallet-events.js';
import { bringUpToDate, type WalletSums } from './wallet-sums.js';
import { ownerKey, Wallet, type WalletOwner } from './wallet.entity.js';

/** The number of credits that are read first, and the maximum per statement, until they cover an amount. */
const FIRST_PAGE = 50;
const LARGEST_PAGE = 5000;

/** A customer whose wallet to lock, and what a use case of an order needs of it. */
export interface Customer extends WalletOwner {
  order?: { id: string; updatedAt: Date; heldCents: number; redeemedCents: number; earnedCents: number };
  /** Whether what the order redeemed and earned is loaded, too. */
  isRefund?: boolean;
}

/** Credits that a use case needs of a wallet. */
export interface NeededCredits {
  wallet: WalletAggregate;
  /** Available credits of this sum. */
  spendCents?: number;
  /** Credits of this sum, from which it can be taken back, beginning with what this order earned. */
  takeBackCents?: number;
  orderId: string;
}

export type OnLocked = 'skip_locked' | undefined;

/**
 * What becomes of a use case without its wallet: another transaction has locked it, or there is none. Then, unless the
 * use case is refused with an empty one, it is created first.
 */
export type NotLocked = 'locked' | { again: () => Promise<void>; empty: WalletAggregate };

/** Performs a use case with an empty wallet. @returns what becomes of it, or its refusal. */
export function unlessRefused<Value>(
  other: NotLocked,
  perform: (empty: WalletAggregate) => Outcome<Value>,
): Outcome<Value> {
  const outcome = other === 'locked' ? other : perform(other.empty);
  return outcome !== 'locked' && 'error' in outcome ? outcome : other;
}

/** Wallets, and what becomes of use cases without theirs, by `ownerKey`. */
interface LockedWallets {
  wallets: Map<string, WalletAggregate>;
  others: Map<string, NotLocked>;
}

/**
 * Loads and saves wallets in a transaction. It locks the rows of wallets by merchant and document, after those of
 * orders. Other rows of a wallet are not locked: who writes them has locked the wallet first, and at READ COMMITTED
 * each statement sees what was committed before.
 */
@Injectable()
export class WalletStore {
  readonly #created: Shared<WalletOwner, void>;

  constructor(
    shared: SharedStatements,
    private readonly clock: Clock,
  ) {
    // In a transaction of their own: another transaction that creates the same would be waited for.
    this.#created = shared.create('new_wallets', async (manager, owners) => {
      await this.#insert(manager, owners);
      return owners.map((): void => undefined);
    });
  }

  /** Locks one customer's wallet, and creates it if it does not exist. */
  async lock(manager: EntityManager, owner: WalletOwner): Promise<WalletAggregate> {
    const find = async (): Promise<WalletAggregate | undefined> =>
      (await this.lockAll(manager, [owner])).wallets.get(ownerKey(owner));
    const existing = await find();
    if (existing !== undefined) return existing;
    await this.#insert(manager, [owner]);
    return (await find())!;
  }

  /**
   * Locks the wallets of customers, with what their orders hold. Use cases use the aggregate's `now`, which is read
   * after the lock and is never before the last change of the wallet and of its orders: the clocks of instances differ.
   *
   * @param onLocked leaves out wallets that another transaction has locked; otherwise they are waited for.
   */
  async lockAll(manager: EntityManager, customers: readonly Customer[], onLocked?: OnLocked): Promise<LockedWallets> {
    if (customers.length === 0) return { wallets: new Map(), others: new Map() };
    const orders = customers.flatMap(({ merchantId, order, isRefund }) =>
      order === undefined ? [] : [{ merchantId, ...order, isRefund }],
    );
    const rows = await lockRows(manager, customers, onLocked);
    const holding = orders.filter(({ heldCents }) => heldCents > 0);
    const holds = await readHolds(manager, holding);
    const refunded = orders.filter(({ isRefund }) => isRefund);
    const refundable = await readRefundable(manager, refunded);
    const wallets = await this.#open(manager, rows, customers);
    for (const { order, isRefund, ...owner } of customers) {
      const wallet = wallets.get(ownerKey(owner));
      if (wallet === undefined || order === undefined) continue;
      if (order.heldCents > 0) loadHold(manager, wallet, order.id, holds);
      if (isRefund) loadRefundable(manager, wallet, order.id, refundable);
    }
    const left = customers.filter((owner) => !wallets.has(ownerKey(owner)));
    const locked = onLocked === undefined ? new Set() : await existing(manager, left);
    const others = left.map((owner): [string, NotLocked] => {
      if (locked.has(ownerKey(owner))) return [ownerKey(owner), 'locked'];
      const now = this.clock.now(owner.merchantId);
      return [
        ownerKey(owner),
        { again: () => this.#created.get(owner), empty: new WalletAggregate(newWallet(owner, now), now) },
      ];
    });
    return { wallets, others: new Map(others) };
  }

  /** Loads credits until they cover what is needed, or there are no more. */
  async loadCredits(manager: EntityManager, needs: readonly NeededCredits[]): Promise<void> {
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
  async loadExpired(manager: EntityManager, wallet: WalletAggregate, limit: number): Promise<void> {
    const { id, merchantId } = wallet.row;
    const sql = `
      SELECT ${creditColumns(manager)} FROM cashback_credits
       WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at <= ? ORDER BY expires_at, seq LIMIT ?`;
    const rows = await manager.query<Row[]>(sql, [id, merchantId, wallet.now, limit]);
    wallet.load(rows.map((row) => toEntity(manager, Credit, row)));
  }

  /** Saves changed wallets, with one statement per table. */
  async save(manager: EntityManager, record: Recorder, wallets: Iterable<WalletAggregate>): Promise<void> {
    const changed = [...wallets].filter(({ isChanged }) => isChanged);
    if (changed.length === 0) return;
    for (const credits of chunks(changed.flatMap((wallet) => [...wallet.changedCredits])))
      await insertRows(manager, Credit, credits, ['remaining_cents', 'held_cents']);
    const ended = changed.flatMap(({ row: { merchantId }, endedHolds }) =>
      endedHolds.map((id) => ({ merchantId, id })),
    );
    if (ended.length > 0) {
      const [condition, parameters] = ofOrders('order_id', ended);
      await manager.query(`DELETE FROM cashback_holds WHERE ${condition}`, parameters);
    }
    for (const holds of chunks(changed.flatMap((wallet) => wallet.newHolds))) await insertRows(manager, Hold, holds);
    for (const entries of chunks(changed.flatMap((wallet) => wallet.entries)))
      await insertRows(manager, Entry, entries);
    await saveRows(manager, changed);
    for (const wallet of changed) recordMovements(record, wallet);
  }

  async #open(
    manager: EntityManager,
    rows: readonly Wallet[],
    customers: readonly Customer[],
  ): Promise<Map<string, WalletAggregate>> {
    const changedAt = new Map<string, number>();
    for (const { order, ...owner } of customers)
      changedAt.set(ownerKey(owner), Math.max(changedAt.get(ownerKey(owner)) ?? 0, +(order?.updatedAt ?? 0)));
    const wallets = rows.map((row) => {
      const now = Math.max(+this.clock.now(row.merchantId), +row.availableAsOf, changedAt.get(ownerKey(row)) ?? 0);
      return new WalletAggregate(row, new Date(now));
    });
    await bringUpToDate(
      manager,
      wallets.map((wallet) => [wallet.row, wallet.now]),
    );
    return new Map(wallets.map((wallet) => [ownerKey(wallet.row), wallet]));
  }

  /** If several transactions create a wallet, the unique key lets one succeed, and the others change nothing. */
  async #insert(manager: EntityManager, owners: readonly WalletOwner[]): Promise<void> {
    // Sorted, so that two statements do not wait for each other.
    const distinct = new Map(owners.map((owner) => [ownerKey(owner), owner]));
    const rows = Array.from(
      [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)),
      ([, owner]) => newWallet(owner, this.clock.now(owner.merchantId)),
    );
    await insertRows(manager, Wallet, rows, ['merchant_id']);
  }
}

/** Locks wallets in the order of merchants and documents, so that no two transactions wait for each other. */
async function lockRows(manager: EntityManager, owners: readonly WalletOwner[], onLocked: OnLocked): Promise<Wallet[]> {
  const [condition, parameters] = ofOwners(owners);
  const sql = `
    SELECT ${columnNames(manager, Wallet).join(', ')} FROM wallets FORCE INDEX (uq_wallets_merchant_document)
     WHERE ${condition} ORDER BY merchant_id, document FOR UPDATE${onLocked === undefined ? '' : ' SKIP LOCKED'}`;
  const rows = await manager.query<Row[]>(sql, parameters);
  return rows.map((row) => toEntity(manager, Wallet, row));
}

/** Locks wallets of one merchant, so that what they have is not changed before the event that says it. */
export async function lockAndSum(
  manager: EntityManager,
  merchantId: string,
  ids: readonly string[],
  now: Date,
): Promise<Map<string, WalletSums>> {
  const locked = new Map<string, Wallet>();
  const documents = 'SELECT merchant_id AS merchantId, document FROM wallets WHERE merchant_id = ? AND id IN (?)';
  // An erasure can replace a document before the wallet is locked.
  for (let left = ids; left.length > 0; left = left.filter((id) => !locked.has(id))) {
    const owners = await manager.query<WalletOwner[]>(documents, [merchantId, left]);
    for (const wallet of await lockRows(manager, owners, undefined)) locked.set(wallet.id, wallet);
  }
  await bringUpToDate(
    manager,
    Array.from(locked.values(), (wallet) => [wallet, now]),
  );
  return locked;
}

/** Returns which customers have wallets, by `ownerKey`, also if they are locked. */
async function existing(manager: EntityManager, owners: readonly WalletOwner[]): Promise<Set<string>> {
  if (owners.length === 0) return new Set();
  const [condition, parameters] = ofOwners(owners);
  const sql = `SELECT merchant_id AS merchantId, document FROM wallets WHERE ${condition}`;
  return new Set((await manager.query<WalletOwner[]>(sql, parameters)).map(ownerKey));
}

const ofOwners = (owners: readonly WalletOwner[]): [condition: string, parameters: unknown[]] =>
  inColumn('document', owners, ({ document }) => document);

interface OwnedOrder {
  id: string;
  merchantId: string;
}

const ofOrders = (column: string, orders: readonly OwnedOrder[]): [condition: string, parameters: unknown[]] =>
  inColumn(column, orders, ({ id }) => id);

type HoldRow = Row & { holder_id: string; hold_cents: string };

async function readHolds(manager: EntityManager, orders: readonly OwnedOrder[]): Promise<HoldRow[]> {
  if (orders.length === 0) return [];
  const [condition, parameters] = ofOrders('h.order_id', orders);
  const sql = `
    SELECT ${creditColumns(manager, 'c')}, h.order_id AS holder_id, h.amount_cents AS hold_cents
      FROM cashback_holds h JOIN cashback_credits c ON c.id = h.credit_id AND c.merchant_id = h.merchant_id
     WHERE ${condition}`;
  return manager.query(sql, parameters);
}

function loadHold(manager: EntityManager, wallet: WalletAggregate, orderId: string, rows: readonly HoldRow[]): void {
  const { merchantId } = wallet.row;
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

type RefundableRow = Row & { refunded_id: string; redeemed_cents: string; expired_cents: string | null };

/** Reads what orders redeemed from which credits, and the credits that they earned. Most orders have only one. */
async function readRefundable(
  manager: EntityManager,
  orders: readonly (OwnedOrder & { redeemedCents: number; earnedCents: number })[],
): Promise<RefundableRow[]> {
  const columns = creditColumns(manager, 'c');
  const redeeming = orders.filter(({ redeemedCents }) => redeemedCents > 0);
  const earning = orders.filter(({ earnedCents }) => earnedCents > 0);
  const [redeemedBy, redeemers] = ofOrders('e.order_id', redeeming);
  const [earnedBy, earners] = ofOrders('c.order_id', earning);
  const redeemed = `
    SELECT ${columns}, e.order_id AS refunded_id, -e.amount_cents AS redeemed_cents, 0 AS expired_cents
      FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id
     WHERE ${redeemedBy} AND e.kind = 'redeem'`;
  const earned = `
    SELECT ${columns}, c.order_id AS refunded_id, 0 AS redeemed_cents,
           (SELECT -SUM(e.amount_cents) FROM cashback_entries e
             WHERE e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind = 'expire') AS expired_cents
      FROM cashback_credits c WHERE ${earnedBy}`;
  const selects = [...(redeeming.length > 0 ? [redeemed] : []), ...(earning.length > 0 ? [earned] : [])];
  return selects.length === 0 ? [] : manager.query(selects.join(' UNION ALL '), [...redeemers, ...earners]);
}

function loadRefundable(
  manager: EntityManager,
  wallet: WalletAggregate,
  orderId: string,
  rows: readonly RefundableRow[],
): void {
  const own = rows.filter((row) => row.refunded_id === orderId);
  const found = own.map((row) => ({ row, credit: toEntity(manager, Credit, row) }));
  const loaded = new Map(wallet.load(found.map(({ credit }) => credit)).map((credit) => [credit.id, credit]));
  const redeemed = found.map(({ row, credit }) => [loaded.get(credit.id)!, exactCents(row.redeemed_cents)] as const);
  const earned = found.find(({ credit }) => credit.orderId === orderId);
  wallet.loadRefundable(orderId, {
    redeemed: new Map(redeemed.filter(([, cents]) => cents > 0)),
    expiredCents: exactCents(earned?.row.expired_cents ?? 0),
  });
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
export type CreditPosition = Pick<Credit, 'seq' | 'expiresAt'>;

/** A page of the credits of a wallet. */
export interface OpenCreditsPage {
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
export async function openCredits(manager: EntityManager, pages: readonly OpenCreditsPage[]): Promise<Credit[][]> {
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

/** Saves the rows of locked wallets, after their credits. */
async function saveRows(manager: EntityManager, wallets: readonly WalletAggregate[]): Promise<void> {
  const nextChanges = new Map(wallets.map(({ row, nextChange }) => [row.id, nextChange]));
  const rows = wallets.map(({ row, now }) => Object.assign(row, { availableAsOf: now }));
  await updateRows(manager, Wallet, rows, CHANGED, {
    available_until: ({ id, merchantId, availableAsOf }) => {
      const nextChange = nextChanges.get(id);
      return nextChange === undefined
        ? [NEXT_CHANGE, nextChangeParameters(id, merchantId, availableAsOf)]
        : ['?', [nextChange]];
    },
  });
}

const CHANGED = [
  'debtCents',
  'balanceCents',
  'availableCents',
  'pendingCents',
  'heldCents',
  'availableAsOf',
  'lastSeq',
] as const;

function recordMovements(record: Recorder, wallet: WalletAggregate): void {
  const moved: Record<string, number> = {};
  for (const { kind, amountCents } of wallet.entries) moved[kind] = (moved[kind] ?? 0) + Math.abs(amountCents);
  record({ type: 'cashback.moved', centsByKind: moved });
  const about = aboutWallet(wallet);
  const sums = walletData(wallet.row);
  if (moved.expire !== undefined)
    record({ type: 'cashback.expired', ...about, data: { amount: formatMoney(moved.expire), wallet: sums } });
  const debtCents = (moved.debt ?? 0) - (moved.repay ?? 0);
  if (debtCents !== 0)
    record({ type: 'wallet.debt_changed', ...about, data: { change: formatMoney(debtCents), wallet: sums } });
}

/** A wallet without credits. */
function newWallet({ merchantId, document }: WalletOwner, now: Date): Wallet {
  return {
    id: newId(now),
    merchantId,
    document,
    debtCents: 0,
    balanceCents: 0,
    availableCents: 0,
    pendingCents: 0,
    heldCents: 0,
    availableAsOf: now,
    availableUntil: NEVER,
    lastSeq: 0,
    createdAt: now,
  };
}
