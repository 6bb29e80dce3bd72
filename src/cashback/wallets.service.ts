import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { Clock } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { newId } from '../common/ids.js';
import { formatMoney, sumCents } from '../common/money.js';
import { insertRows } from '../database/rows.js';
import { NEVER, NEXT_CHANGE, nextChangeParameters } from './balance-sql.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { Hold } from './hold.entity.js';
import { WalletAggregate } from './wallet-aggregate.js';
import {
  batches,
  creditsById,
  expiredByEntries,
  expiredCredits,
  loadWallet,
  openCredits,
  redeemedByCredit,
} from './wallet-rows.js';
import { walletEvent } from './wallet-events.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

/** The number of credits that are read first, and the maximum per statement, until they cover an amount. */
const FIRST_PAGE = 50;
const LARGEST_PAGE = 5000;

/** The order of a use case, and when it was last changed. */
interface ChangedOrder {
  id: string;
  updatedAt: Date;
}

@Injectable()
export class WalletsService {
  constructor(private readonly clock: Clock) {}

  /**
   * Locks a customer's wallet for the rest of the transaction, and creates it if there is none. Callers that also lock
   * an order must lock it first: order row, then wallet row, then credits. The use case must use the aggregate's `now`,
   * which is read after the lock and is never before the last changes of the wallet and of the order: the clocks of
   * instances differ.
   *
   * @param order the order whose holds are loaded.
   */
  async lock(manager: EntityManager, owner: WalletOwner, order?: ChangedOrder): Promise<WalletAggregate> {
    return this.#open(manager, await this.#lockRow(manager, owner), order);
  }

  async lockById(manager: EntityManager, merchantId: string, id: string): Promise<WalletAggregate> {
    const lock = { mode: 'pessimistic_write' } as const;
    return this.#open(manager, await manager.findOneOrFail(Wallet, { where: { id, merchantId }, lock }));
  }

  /** Locks a wallet and loads expired credits, which writes them off. @returns null if another transaction has it. */
  async lockToExpire(
    manager: EntityManager,
    { id, merchantId }: Pick<Wallet, 'id' | 'merchantId'>,
    limit: number,
  ): Promise<WalletAggregate | null> {
    const lock = { mode: 'pessimistic_write', onLocked: 'skip_locked' } as const;
    const row = await manager.findOne(Wallet, { where: { id, merchantId }, lock });
    if (row === null) return null;
    const wallet = await this.#open(manager, row);
    wallet.load(await expiredCredits(manager, row, wallet.now, limit));
    return wallet;
  }

  loadAvailable(manager: EntityManager, wallet: WalletAggregate, amountCents: number): Promise<void> {
    return this.#loadEarliest(manager, wallet, amountCents, true);
  }

  /** Loads the credits that `clawBack` needs: the order's own credit, and others if it does not cover the amount. */
  async loadForClawback(
    manager: EntityManager,
    wallet: WalletAggregate,
    amountCents: number,
    orderId: string,
  ): Promise<void> {
    const [own] = wallet.load(await manager.findBy(Credit, { orderId, merchantId: wallet.wallet.merchantId }));
    const leftCents = amountCents - (own?.remainingCents ?? 0);
    if (leftCents > 0) await this.#loadEarliest(manager, wallet, amountCents, false);
  }

  /**
   * Returns how much of the cashback that an order earned has expired unspent. `loadForClawback` must be called first.
   */
  async expiredUnspent(manager: EntityManager, wallet: WalletAggregate, orderId: string): Promise<number> {
    const own = [...wallet.credits].find((credit) => credit.orderId === orderId);
    if (own === undefined) return 0;
    const now = wallet.entries.filter(({ kind, creditId }) => kind === 'expire' && creditId === own.id);
    return (
      (await expiredByEntries(manager, own.merchantId, own.id)) - sumCents(now.map(({ amountCents }) => amountCents))
    );
  }

  /** Loads the credits that an order redeemed from, each with the amount that no refund has returned to it yet. */
  async loadRedeemed(
    manager: EntityManager,
    wallet: WalletAggregate,
    orderId: string,
  ): Promise<{ credit: Credit; amountCents: number }[]> {
    const openCents = await redeemedByCredit(manager, wallet.wallet.merchantId, orderId);
    const credits = wallet.load(await creditsById(manager, wallet.wallet.merchantId, [...openCents.keys()]));
    return credits.map((credit) => ({ credit, amountCents: openCents.get(credit.id) ?? 0 }));
  }

  async save(manager: EntityManager, record: Recorder, wallet: WalletAggregate): Promise<void> {
    if (!wallet.isChanged) return;
    for (const credits of batches(wallet.changedCredits))
      await insertRows(manager, Credit, credits, ['remaining_cents', 'expires_at', 'original_expires_at']);
    // The holds of an order end together.
    const [ended] = wallet.endedHolds;
    if (ended !== undefined) await manager.delete(Hold, { orderId: ended.orderId, merchantId: ended.merchantId });
    for (const holds of batches(wallet.newHolds)) await insertRows(manager, Hold, holds);
    for (const entries of batches(wallet.entries)) await insertRows(manager, Entry, entries);
    await saveWallet(manager, wallet);
    const moved = centsByKind(wallet.entries);
    record({ type: 'cashback.moved', centsByKind: moved });
    if (moved.expire !== undefined)
      record(walletEvent('cashback.expired', wallet, { amount: formatMoney(moved.expire) }));
    const debtCents = (moved.debt ?? 0) - (moved.repay ?? 0);
    if (debtCents !== 0) record(walletEvent('wallet.debt_changed', wallet, { change: formatMoney(debtCents) }));
  }

  async #lockRow(manager: EntityManager, { merchantId, document }: WalletOwner): Promise<Wallet> {
    const where = { merchantId, document };
    const wallet = await manager.findOne(Wallet, { where, lock: { mode: 'pessimistic_write' } });
    if (wallet !== null) return wallet;
    await insertWallets(manager, merchantId, [document], this.clock.now());
    return manager.findOneOrFail(Wallet, { where, lock: { mode: 'pessimistic_write' } });
  }

  async #open(manager: EntityManager, wallet: Wallet, order?: ChangedOrder): Promise<WalletAggregate> {
    const now = new Date(Math.max(+this.clock.now(), +wallet.availableAsOf, +(order?.updatedAt ?? 0)));
    return new WalletAggregate(await loadWallet(manager, wallet, now, order?.id), now);
  }

  /** Loads open credits, earliest expiry first, until they cover an amount. */
  async #loadEarliest(
    manager: EntityManager,
    wallet: WalletAggregate,
    amountCents: number,
    availableOnly: boolean,
  ): Promise<void> {
    let leftCents = amountCents;
    let after: Credit | undefined;
    for (let limit = FIRST_PAGE; leftCents > 0; limit = Math.min(limit * 4, LARGEST_PAGE)) {
      const page = { wallet: wallet.wallet, now: wallet.now, after, limit, availableOnly };
      const found = await openCredits(manager, page);
      after = found.at(-1);
      for (const credit of wallet.load(found)) leftCents -= credit.remainingCents;
      if (found.length < limit) return;
    }
  }
}

function centsByKind(entries: readonly Entry[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { kind, amountCents } of entries) sums[kind] = (sums[kind] ?? 0) + Math.abs(amountCents);
  return sums;
}

const SAVE_WALLET = `
  UPDATE wallets
     SET debt_cents = ?, balance_cents = ?, last_seq = ?, available_cents = ?, available_as_of = ?,
         available_until = ${NEXT_CHANGE}
   WHERE id = ? AND merchant_id = ?`;

/** Saves the row of a locked wallet, after its credits and holds. */
async function saveWallet(manager: EntityManager, { wallet, availableCents, now }: WalletAggregate): Promise<void> {
  const { id, merchantId, debtCents, balanceCents, lastSeq } = wallet;
  const sums = [debtCents, balanceCents, lastSeq, availableCents, now];
  const nextChange = nextChangeParameters(id, merchantId, now);
  await manager.query(SAVE_WALLET, [...sums, ...nextChange, id, merchantId]);
}

/** Creates the wallets of customers who have none. Wallets that exist are not locked. */
export async function createMissingWallets(
  manager: EntityManager,
  merchantId: string,
  documents: readonly string[],
  now: Date,
): Promise<void> {
  const missing = new Set(documents);
  const where = { merchantId, document: In(documents) };
  for (const { document } of await manager.find(Wallet, { where })) missing.delete(document);
  // In the order of documents, so that transactions do not wait for each other in a circle.
  if (missing.size > 0) await insertWallets(manager, merchantId, [...missing].sort(), now);
}

/** If several transactions create a wallet concurrently, the unique key lets one succeed, and the others find it. */
async function insertWallets(manager: EntityManager, merchantId: string, documents: string[], now: Date) {
  const rows = documents.map((document) => newWallet({ merchantId, document }, now));
  await manager.createQueryBuilder().insert().into(Wallet).values(rows).orIgnore().updateEntity(false).execute();
}

/** A wallet without credits. */
export function newWallet({ merchantId, document }: WalletOwner, now: Date): Wallet {
  return {
    id: newId(now),
    merchantId,
    document,
    debtCents: 0,
    balanceCents: 0,
    availableCents: 0,
    availableAsOf: now,
    availableUntil: NEVER,
    lastSeq: 0,
    createdAt: now,
  };
}
