import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { inColumn } from '../platform/database/by-merchant.js';
import { chunks, columnNames, insertRows, type Row, toEntity, updateRows } from '../platform/database/rows.js';
import { type Outcome, type Shared, SharedStatements } from '../platform/database/shared.js';
import { type By } from '../platform/values/caller.js';
import { type Recorder } from '../platform/values/domain-event.js';
import { newId } from '../platform/values/ids.js';
import { formatMoney } from '../platform/values/money.js';
import { type HoldingOrder, Problem } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { Credit, Hold } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { WalletAggregate } from './wallet-aggregate.js';
import { loadClaims, loadHolds, loadRefundable, type OrderOfCredits } from './wallet-credits.js';
import { aboutWallet, walletData } from './wallet-events.js';
import { bringUpToDate, NEVER, NEXT_CHANGE, nextChangeParameters, type WalletSums } from './wallet-sums.js';
import { ownerKey, Wallet, walletOf, type WalletOwner } from './wallet.entity.js';

/** A customer whose wallet to lock, and what a use case of an order needs of it. */
export interface WalletToLock extends WalletOwner {
  order?: OrderOfCredits & { updatedAt: Date };
  /** Whether what the order redeemed and earned is loaded, too. */
  isRefund?: boolean;
}

export type OnLocked = 'skip_locked' | undefined;

/** A use case is not refused, but needs wallets that do not exist. */
class MissingWallets extends Error {
  constructor(readonly owners: readonly WalletOwner[]) {
    super('a wallet is missing');
  }
}

/** @throws MissingWallets if some do not exist. */
export function requireStored(wallets: readonly WalletAggregate[]): void {
  const missing = wallets.filter(({ isStored }) => !isStored);
  if (missing.length > 0) throw new MissingWallets(missing.map(({ row }) => row));
}

/**
 * Returns what came of a use case of a wallet, which has to exist unless the use case is refused. If it is refused, it
 * must not have changed anything.
 */
export function outcomeOf<Value>(wallet: WalletAggregate, perform: () => Value): Outcome<Value> {
  try {
    const value = perform();
    requireStored([wallet]);
    return { value };
  } catch (error) {
    if (error instanceof Problem || error instanceof MissingWallets) return { error };
    throw error;
  }
}

const HOLDING = `
  SELECT o.id, CONVERT(o.external_id USING utf8mb4) AS external_id
    FROM cashback_holds h JOIN orders o ON o.id = h.order_id AND o.merchant_id = h.merchant_id
   WHERE h.credit_id = ? AND h.merchant_id = ? ORDER BY o.id LIMIT 10`;

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
    this.#created = shared.createStatement('new_wallets', async (manager, owners) => {
      await this.#insert(manager, owners);
      return owners.map((): void => undefined);
    });
  }

  /** Performs a use case, again after the wallets that it misses are created. */
  async creating<T>(perform: () => Promise<T>): Promise<T> {
    try {
      return await perform();
    } catch (error) {
      if (!(error instanceof MissingWallets)) throw error;
      await Promise.all(error.owners.map((owner) => this.#created.get(owner)));
      return this.creating(perform);
    }
  }

  /** Locks one customer's wallet, and creates it if it does not exist. */
  async lock(manager: EntityManager, owner: WalletOwner): Promise<WalletAggregate> {
    const find = async (): Promise<WalletAggregate> => (await this.lockAll(manager, [owner])).get(ownerKey(owner))!;
    const existing = await find();
    if (existing.isStored) return existing;
    await this.#insert(manager, [owner]);
    return find();
  }

  /** Locks a wallet by its ID. @throws Problem not_found, also for one of another merchant. */
  async lockById(manager: EntityManager, merchantId: string, id: string): Promise<WalletAggregate> {
    // An erasure can replace the document before the wallet is locked.
    for (;;) {
      const { document } = await walletOf(manager, { id, merchantId });
      const owner = { merchantId, document };
      const wallet = (await this.lockAll(manager, [owner])).get(ownerKey(owner))!;
      if (wallet.row.id === id) return wallet;
    }
  }

  /**
   * Locks the wallets of customers, with what their orders hold. Use cases use the aggregate's `now`, which is read
   * after the lock and is never before the last change of the wallet and of its orders: the clocks of instances differ.
   *
   * @param onLocked leaves out wallets that another transaction has locked; otherwise they are waited for.
   * @returns the wallets by `ownerKey`, and empty ones, which are not stored, of customers who have none.
   */
  async lockAll(
    manager: EntityManager,
    customers: readonly WalletToLock[],
    onLocked?: OnLocked,
  ): Promise<Map<string, WalletAggregate>> {
    if (customers.length === 0) return new Map();
    const rows = await lockRows(manager, customers, onLocked);
    const wallets = await this.#open(manager, rows, customers);
    const orders = customers.flatMap(({ order, isRefund, ...owner }) => {
      const wallet = wallets.get(ownerKey(owner));
      return wallet === undefined || order === undefined ? [] : [{ wallet, order, isRefund }];
    });
    await loadHolds(manager, orders);
    await loadRefundable(
      manager,
      orders.filter(({ isRefund }) => isRefund),
    );
    await loadClaims(manager, wallets.values());
    const left = customers.filter((owner) => !wallets.has(ownerKey(owner)));
    const locked = onLocked === undefined ? new Set() : await existing(manager, left);
    for (const owner of left.filter((one) => !locked.has(ownerKey(one)))) {
      const now = this.clock.now(owner.merchantId);
      wallets.set(ownerKey(owner), new WalletAggregate(newWallet(owner, now), now, false));
    }
    return wallets;
  }

  /** Loads the credit that an order earned. @returns the first orders that hold a part of it. */
  async loadEarned(manager: EntityManager, wallet: WalletAggregate, orderId: string): Promise<HoldingOrder[]> {
    const [own] = wallet.load(await manager.findBy(Credit, { orderId, merchantId: wallet.row.merchantId }));
    return own?.heldCents ? manager.query(HOLDING, [own.id, own.merchantId]) : [];
  }

  /** Saves changed wallets that are stored, with one statement per table. */
  async save(manager: EntityManager, record: Recorder, wallets: Iterable<WalletAggregate>): Promise<void> {
    const changed = [...wallets].filter(({ isChanged, isStored }) => isChanged && isStored);
    if (changed.length === 0) return;
    // First, because an order has one credit of its own.
    for (const { id, merchantId, movedOrderId } of changed.flatMap((wallet) => wallet.movedCredits))
      await manager.update(Credit, { id, merchantId }, { orderId: null, movedOrderId });
    for (const credits of chunks(changed.flatMap((wallet) => [...wallet.changedCredits])))
      await insertRows(manager, Credit, credits, ['remaining_cents', 'held_cents', 'claimed_cents']);
    const ended = changed.flatMap(({ row: { merchantId }, endedHolds }) =>
      endedHolds.map((id) => ({ merchantId, id })),
    );
    if (ended.length > 0) {
      const [condition, parameters] = inColumn('order_id', ended, ({ id }) => id);
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
    customers: readonly WalletToLock[],
  ): Promise<Map<string, WalletAggregate>> {
    const changedAt = new Map<string, number>();
    for (const { order, ...owner } of customers)
      changedAt.set(ownerKey(owner), Math.max(changedAt.get(ownerKey(owner)) ?? 0, +(order?.updatedAt ?? 0)));
    const instants = rows.map((row) =>
      Math.max(+this.clock.now(row.merchantId), +row.availableAsOf, changedAt.get(ownerKey(row)) ?? 0),
    );
    // Two wallets of one order have one instant.
    const [one, other] = customers.map(({ order }) => order?.id);
    const latest = customers.length === 2 && one !== undefined && one === other ? Math.max(...instants) : 0;
    const wallets = rows.map((row, at) => new WalletAggregate(row, new Date(Math.max(instants[at]!, latest))));
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
  const sums = walletData(wallet.row);
  if (moved.expire !== undefined) {
    const data = { amount: formatMoney(moved.expire), wallet: sums };
    record({ type: 'cashback.expired', ...aboutWallet(wallet, null), data });
  }
  // Several users can change the debt in one transaction.
  const changes = new Map<By, number>();
  for (const { creditId, madeBy, amountCents } of wallet.entries)
    if (creditId === null) changes.set(madeBy, (changes.get(madeBy) ?? 0) + amountCents);
  for (const [madeBy, cents] of changes) {
    const data = { change: formatMoney(cents), wallet: sums };
    if (cents !== 0) record({ type: 'wallet.debt_changed', ...aboutWallet(wallet, madeBy), data });
  }
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
    frozen: false,
    freezeChangedAt: null,
    freezeChangedBy: null,
    freezeReason: null,
    availableAsOf: now,
    availableUntil: NEVER,
    lastSeq: 0,
    createdAt: now,
  };
}
