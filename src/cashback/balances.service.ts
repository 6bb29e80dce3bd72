import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { inColumn } from '../platform/database/by-merchant.js';
import { type Row, toEntity } from '../platform/database/rows.js';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { Clock } from '../platform/values/time.js';
import { bringUpToDate } from './wallet-sums.js';
import { ownerKey, Wallet, type WalletOwner } from './wallet.entity.js';

/** Reads what customers can spend, without a lock and without loading their credits. */
@Injectable()
export class BalancesService {
  readonly #available: Shared<WalletOwner, number>;

  constructor(shared: SharedStatements, clock: Clock) {
    this.#available = shared.createStatement('balances', async (manager, owners) => {
      // Requests that share a statement have one instant.
      const available = await availableOf(manager, owners, clock.now(owners[0]?.merchantId));
      return owners.map(available);
    });
  }

  /** @returns the available centavos of one customer; 0 if there is no wallet. Not for use inside a transaction. */
  availableNow(owner: WalletOwner): Promise<number> {
    return this.#available.get(owner);
  }
}

/** @returns the available centavos of each of these customers; 0 if there is no wallet. */
export async function availableOf(
  manager: EntityManager,
  owners: readonly WalletOwner[],
  now: Date,
): Promise<(owner: WalletOwner) => number> {
  if (owners.length === 0) return () => 0;
  const [condition, parameters] = inColumn('document', owners, ({ document }) => document);
  const rows = await manager.query<Row[]>(`SELECT ${COLUMNS} FROM wallets WHERE ${condition}`, parameters);
  const wallets = rows.map((row) => toEntity(manager, Wallet, row));
  await bringUpToDate(
    manager,
    wallets.map((wallet) => [wallet, now]),
  );
  const cents = new Map(wallets.map((wallet) => [ownerKey(wallet), wallet.availableCents]));
  return (owner) => cents.get(ownerKey(owner)) ?? 0;
}

const COLUMNS = 'id, merchant_id, document, available_cents, available_until';
