import { Injectable } from '@nestjs/common';
import { type EntityManager, type FindOptionsWhere, In } from 'typeorm';
import { Clock } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { newId } from '../common/ids.js';
import { exactCents, formatMoney } from '../common/money.js';
import { chunks, columnNames, insertRows, type Row, toEntity, updateRows } from '../database/rows.js';
import { NEVER, NEXT_CHANGE, nextChangeParameters } from './balance-sql.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { Hold } from './hold.entity.js';
import { freeCents, WalletAggregate } from './wallet-aggregate.js';
import { aboutWallet, walletData } from './wallet-events.js';
import { bringUpToDate } from './wallet-sums.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

/** The number of credits that are read first, and the maximum per statement, until they cover an amount. */
const FIRST_PAGE = 50;
const LARGEST_PAGE = 5000;

/** A customer whose wallet to lock, and the last change of its order. */
interface Customer {
  document: string;
  updatedAt?: Date;
}

/** What a use case of an order needs of the wallet, besides what the order holds. */
export interface Needs {
  /** Available credits of this sum. */
  spendCents?: number;
  /** What the order redeemed and earned, and credits of this sum, from which it can be taken back. */
  takeBackCents?: number;
}

/**
 * Loads and saves wallets in a transaction. It locks the rows of wallets, after those of orders. Other rows of a wallet
 * are not locked: who writes them has locked the wallet first, and at READ COMMITTED each statement sees what was
 * committed before.
 */
@Injectable()
export class WalletStore {
  constructor(private readonly clock: Clock) {}

  /** Locks one customer's wallet, see `lockAll`. */
  async lock(manager: EntityManager, { merchantId, document }: WalletOwner): Promise<WalletAggregate> {
    return (await this.lockAll(manager, merchantId, [{ document }])).get(document)!;
  }

  /**
   * Locks wallets of a merchant in the order of documents, and creates those that do not exist. Use cases use the
   * aggregate's `now`, which is read after the lock and is never before the last change of the wallet and of its order:
   * the clocks of instances differ.
   *
   * @param onLocked leaves out wallets that another transaction has locked; otherwise they are waited for.
   * @returns the wallets by document.
   */
  async lockAll(
    manager: EntityManager,
    merchantId: string,
    customers: readonly Customer[],
    onLocked?: 'skip_locked',
  ): Promise<Map<string, WalletAggregate>> {
    const documents = [...new Set(customers.map(({ document }) => document))].sort();
    const where = { merchantId, document: In(documents) };
    let rows = await lockRows(manager, where, onLocked);
    if (rows.length < documents.length) {
      await this.#createMissing(manager, merchantId, documents);
      rows = await lockRows(manager, where, onLocked);
    }
    const changedAt = new Map<string, number>();
    for (const { document, updatedAt } of customers)
      changedAt.set(document, Math.max(changedAt.get(document) ?? 0, +(updatedAt ?? 0)));
    const wallets = await this.#open(manager, rows, ({ document }) => changedAt.get(document) ?? 0);
    return new Map(wallets.map((wallet) => [wallet.row.document, wallet]));
  }

  /** Locks a wallet that exists. @returns undefined if it is to be left out because another transaction has it. */
  async lockById(
    manager: EntityManager,
    merchantId: string,
    id: string,
    onLocked?: 'skip_locked',
  ): Promise<WalletAggregate | undefined> {
    const rows = await lockRows(manager, { id, merchantId }, onLocked);
    return (await this.#open(manager, rows))[0];
  }

  /** Loads what orders hold, each in its customer's wallet. */
  async loadHolds(
    manager: EntityManager,
    merchantId: string,
    holders: ReadonlyMap<string, WalletAggregate>,
  ): Promise<void> {
    if (holders.size === 0) return;
    const sql = `
      SELECT ${creditColumns(manager, 'c')}, h.order_id AS holder_id, h.amount_cents AS hold_cents
        FROM cashback_holds h JOIN cashback_credits c ON c.id = h.credit_id AND c.merchant_id = h.merchant_id
       WHERE h.merchant_id = ? AND h.order_id IN (?)`;
    const rows = await manager.query<(Row & { holder_id: string; hold_cents: string })[]>(sql, [
      merchantId,
      [...holders.keys()],
    ]);
    for (const [orderId, wallet] of holders) {
      const own = rows.filter((row) => row.holder_id === orderId);
      const credits = own.map((row) => toEntity(manager, Credit, row));
      wallet.load(credits);
      const holds = own.map(({ hold_cents: cents }, at) => {
        return { orderId, creditId: credits[at]!.id, merchantId, amountCents: exactCents(cents) };
      });
      wallet.loadHold(orderId, holds);
    }
  }

  /** Loads the credits that a use case of an order needs. */
  async load(manager: EntityManager, wallet: WalletAggregate, orderId: string, needs: Needs): Promise<void> {
    const { spendCents, takeBackCents } = needs;
    if (spendCents !== undefined) await loadEarliest(manager, wallet, spendCents, true);
    if (takeBackCents === undefined) return;
    const own = await loadRefundable(manager, wallet, orderId);
    if (takeBackCents > (own === undefined ? 0 : freeCents(own)))
      await loadEarliest(manager, wallet, takeBackCents, false);
  }

  /** Loads credits that have expired and are not written off, at most `limit`, which writes them off. */
  async loadExpired(manager: EntityManager, wallet: WalletAggregate, limit: number): Promise<void> {
    const { id, merchantId } = wallet.row;
    const sql = `
      SELECT ${creditColumns(manager)} FROM cashback_credits
       WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at <= ? ORDER BY expires_at, seq LIMIT ?`;
    wallet.load(await readCredits(manager, sql, [id, merchantId, wallet.now, limit]));
  }

  /** Saves changed wallets of a merchant, with one statement per table. */
  async save(manager: EntityManager, record: Recorder, wallets: Iterable<WalletAggregate>): Promise<void> {
    const changed = [...wallets].filter(({ isChanged }) => isChanged);
    if (changed.length === 0) return;
    for (const credits of chunks(changed.flatMap((wallet) => [...wallet.changedCredits])))
      await insertRows(manager, Credit, credits, ['remaining_cents', 'held_cents']);
    const { merchantId } = changed[0]!.row;
    const ended = changed.flatMap((wallet) => wallet.endedHolds);
    if (ended.length > 0) await manager.delete(Hold, { orderId: In(ended), merchantId });
    for (const holds of chunks(changed.flatMap((wallet) => wallet.newHolds))) await insertRows(manager, Hold, holds);
    for (const entries of chunks(changed.flatMap((wallet) => wallet.entries)))
      await insertRows(manager, Entry, entries);
    await saveRows(manager, changed);
    for (const wallet of changed) recordMovements(record, wallet);
  }

  async #open(
    manager: EntityManager,
    rows: readonly Wallet[],
    changedAt: (row: Wallet) => number = () => 0,
  ): Promise<WalletAggregate[]> {
    const now = +this.clock.now(rows[0]?.merchantId);
    const wallets = rows.map(
      (row) => new WalletAggregate(row, new Date(Math.max(now, +row.availableAsOf, changedAt(row)))),
    );
    await bringUpToDate(
      manager,
      wallets.map((wallet) => [wallet.row, wallet.now]),
    );
    return wallets;
  }

  /**
   * Creates the wallets of customers who have none, in the order of documents, so that transactions do not wait for
   * each other in a circle. If several create a wallet, the unique key lets one succeed, and the others find it.
   */
  async #createMissing(manager: EntityManager, merchantId: string, documents: readonly string[]): Promise<void> {
    const existing = await manager.find(Wallet, {
      select: { document: true },
      where: { merchantId, document: In(documents) },
    });
    const known = new Set(existing.map(({ document }) => document));
    const missing = documents.filter((document) => !known.has(document));
    if (missing.length === 0) return;
    const now = this.clock.now(merchantId);
    const rows = missing.map((document) => newWallet({ merchantId, document }, now));
    await manager.createQueryBuilder().insert().into(Wallet).values(rows).orIgnore().updateEntity(false).execute();
  }
}

function lockRows(
  manager: EntityManager,
  where: FindOptionsWhere<Wallet>,
  onLocked?: 'skip_locked',
): Promise<Wallet[]> {
  return manager.find(Wallet, { where, lock: { mode: 'pessimistic_write', ...(onLocked && { onLocked }) } });
}

/** Loads what an order redeemed from which credits, and the credit that it earned. @returns that credit. */
async function loadRefundable(
  manager: EntityManager,
  wallet: WalletAggregate,
  orderId: string,
): Promise<Credit | undefined> {
  const { merchantId } = wallet.row;
  const columns = creditColumns(manager, 'c');
  const sql = `
    SELECT ${columns}, -e.amount_cents AS redeemed_cents, 0 AS expired_cents
      FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id
     WHERE e.order_id = ? AND e.merchant_id = ? AND e.kind = 'redeem'
     UNION ALL
    SELECT ${columns}, 0, (SELECT -SUM(e.amount_cents) FROM cashback_entries e
                            WHERE e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind = 'expire')
      FROM cashback_credits c WHERE c.order_id = ? AND c.merchant_id = ?`;
  type RefundableRow = Row & { redeemed_cents: string; expired_cents: string | null };
  const rows = await manager.query<RefundableRow[]>(sql, [orderId, merchantId, orderId, merchantId]);
  const found = rows.map((row) => ({ row, credit: toEntity(manager, Credit, row) }));
  const loaded = new Map(wallet.load(found.map(({ credit }) => credit)).map((credit) => [credit.id, credit]));
  const redeemed = found.map(({ row, credit }) => [loaded.get(credit.id)!, exactCents(row.redeemed_cents)] as const);
  const own = found.find(({ credit }) => credit.orderId === orderId);
  wallet.loadRefundable(orderId, {
    redeemed: new Map(redeemed.filter(([, cents]) => cents > 0)),
    expiredCents: exactCents(own?.row.expired_cents ?? 0),
  });
  return own && loaded.get(own.credit.id);
}

/** Loads credits that have not expired and are not wholly held, earliest expiry first, until they cover an amount. */
async function loadEarliest(
  manager: EntityManager,
  wallet: WalletAggregate,
  amountCents: number,
  availableOnly: boolean,
): Promise<void> {
  let leftCents = amountCents;
  let after: Credit | undefined;
  for (let limit = FIRST_PAGE; leftCents > 0; limit = Math.min(limit * 4, LARGEST_PAGE)) {
    const found = await openCredits(manager, { wallet: wallet.row, now: wallet.now, after, limit, availableOnly });
    after = found.at(-1);
    for (const credit of wallet.load(found)) leftCents -= freeCents(credit);
    if (found.length < limit) return;
  }
}

/** The position after which a page of open credits starts. */
export type CreditPosition = Pick<Credit, 'seq' | 'expiresAt'>;

interface OpenCreditsPage {
  wallet: Pick<Wallet, 'id' | 'merchantId'>;
  now: Date;
  after: CreditPosition | undefined;
  limit: number;
  availableOnly: boolean;
}

/**
 * Reads a page of a wallet's credits that have not expired and are not wholly held, earliest expiry first. Many credits
 * can have the same expiry, so the rest of that expiry and the later ones are two ranges of the index.
 *
 * @param availableOnly excludes pending credits.
 */
export function openCredits(
  manager: EntityManager,
  { wallet, now, after, limit, availableOnly }: OpenCreditsPage,
): Promise<Credit[]> {
  const start = after !== undefined && after.expiresAt > now ? after : undefined;
  const ranges: [condition: string, ...parameters: unknown[]][] = [['expires_at > ?', start?.expiresAt ?? now]];
  if (start !== undefined) ranges.unshift(['expires_at = ? AND seq > ?', start.expiresAt, start.seq]);
  const pending = availableOnly ? [now] : [];
  const columns = creditColumns(manager);
  const selects = ranges.map(
    ([condition]) => `
    (SELECT ${columns} FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
      WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND ${condition} ${availableOnly ? 'AND available_at <= ?' : ''}
      ORDER BY expires_at, seq LIMIT ?)`,
  );
  return readCredits(
    manager,
    `SELECT ${columns} FROM (${selects.join(' UNION ALL ')}) found ORDER BY expires_at, seq LIMIT ?`,
    [...ranges.flatMap(([, ...values]) => [wallet.id, wallet.merchantId, ...values, ...pending, limit]), limit],
  );
}

function creditColumns(manager: EntityManager, table?: string): string {
  const names = columnNames(manager, Credit);
  return (table === undefined ? names : names.map((name) => `${table}.${name}`)).join(', ');
}

async function readCredits(manager: EntityManager, sql: string, parameters: unknown[]): Promise<Credit[]> {
  const rows = await manager.query<Row[]>(sql, parameters);
  return rows.map((row) => toEntity(manager, Credit, row));
}

/** Saves the rows of locked wallets, after their credits. */
async function saveRows(manager: EntityManager, wallets: readonly WalletAggregate[]): Promise<void> {
  const rows = wallets.map(({ row, now }) => Object.assign(row, { availableAsOf: now }));
  await updateRows(manager, Wallet, rows, CHANGED, {
    available_until: ({ id, merchantId, availableAsOf }) => [
      NEXT_CHANGE,
      nextChangeParameters(id, merchantId, availableAsOf),
    ],
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
