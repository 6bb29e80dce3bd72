import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { inColumn } from '../platform/database/by-merchant.js';
import { type Row, toEntity } from '../platform/database/rows.js';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { Clock } from '../platform/values/time.js';
import type { Spendable } from './quote.js';
import { bringUpToDate } from './wallet-sums.js';
import { ownerKey, Wallet, type WalletOwner } from './wallet.entity.js';

/** Reads what customers can spend, without a lock and without loading their credits. */
@Injectable()
export class BalancesService {
  readonly #available: Shared<WalletOwner, Spendable>;

  constructor(shared: SharedStatements, clock: Clock) {
    this.#available = shared.createStatement('balances', async (manager, owners) => {
      // Requests that share a statement have one instant.
      const available = await availableOf(manager, owners, clock.now(owners[0]?.merchantId));
      return owners.map(available);
    });
  }

  /** @returns what one customer can spend; nothing if there is no wallet. Not for use inside a transaction. */
  availableNow(owner: WalletOwner): Promise<Spendable> {
    return this.#available.get(owner);
  }
}

/** @returns what each of these customers can spend; nothing if there is no wallet. */
export async function availableOf(
  manager: EntityManager,
  owners: readonly WalletOwner[],
  now: Date,
): Promise<(owner: WalletOwner) => Spendable> {
  if (owners.length === 0) return () => NOTHING;
  const [condition, parameters] = inColumn('document', owners, ({ document }) => document);
  const rows = await manager.query<Row[]>(`SELECT ${COLUMNS} FROM wallets WHERE ${condition}`, parameters);
  const wallets = rows.map((row) => toEntity(manager, Wallet, row));
  await bringUpToDate(
    manager,
    wallets.map((wallet) => [wallet, now]),
  );
  const found = new Map(wallets.map((wallet) => [ownerKey(wallet), spendableOf(wallet)]));
  return (owner) => found.get(ownerKey(owner)) ?? NOTHING;
}

const spendableOf = ({ availableCents, frozen: isFrozen }: Wallet): Spendable => ({ availableCents, isFrozen });

const NOTHING: Spendable = { availableCents: 0, isFrozen: false };

const COLUMNS = 'id, merchant_id, document, available_cents, available_until, frozen';
