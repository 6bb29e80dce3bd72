import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Debit } from '../cashback/debit.entity.js';
import { forgetReasons } from '../cashback/sums.js';
import { Wallet, type WalletOwner } from '../cashback/wallet.entity.js';
import { WalletStore } from '../cashback/wallet.store.js';
import { Clock } from '../platform/values/time.js';
import { newId } from '../platform/values/ids.js';
import { chunks } from '../platform/database/rows.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';

/** Locks orders by their primary key, like every use case. By another index it could wait in a circle with them. */
const ERASE_ORDERS =
  'UPDATE orders FORCE INDEX (PRIMARY) SET document = ?, metadata = NULL, cancel_reason = NULL, customer_change_reason = NULL WHERE id IN (?) AND merchant_id = ? AND document = ?';

const ERASE_REFUNDS =
  'UPDATE refunds SET reason = NULL, metadata = NULL, void_reason = NULL WHERE merchant_id = ? AND order_id IN (?)';

/** Orders that were the customer's until they were corrected. */
const CORRECTED = `
  SELECT m.order_id AS id FROM wallets w JOIN customer_changes m ON m.previous_wallet_id = w.id AND m.merchant_id = w.merchant_id
   WHERE w.merchant_id = ? AND w.document = ?`;

const ERASE_CORRECTED =
  'UPDATE orders FORCE INDEX (PRIMARY) SET customer_change_reason = NULL WHERE id IN (?) AND merchant_id = ?';

/** Begins with the wallet's credits: otherwise, the server may lock the grants of other customers. */
const ERASE_GRANTS = `
  UPDATE cashback_credits c STRAIGHT_JOIN cashback_grants g ON g.credit_id = c.id AND g.merchant_id = c.merchant_id
     SET g.metadata = NULL, g.note = NULL, g.void_reason = NULL
   WHERE c.wallet_id = ? AND c.merchant_id = ?`;

/** The result of an erasure. From then on, the operator finds the wallet by `wallet_id`. */
export type Erasure = { pseudonym: string; wallet_id: string | null; orders: number; wallets: number };

/**
 * Erases a customer's personal data: a random pseudonym replaces the document. Orders, credits and the ledger keep
 * their amounts, so all sums remain correct and a refund of an old order still finds its wallet.
 */
@Injectable()
export class ErasureService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly wallets: WalletStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Erases a customer in one transaction, because an order finds its wallet by the document. Orders are locked first,
   * then the wallet, as always. While the wallet is locked, no order of the customer can change it, so orders that were
   * created in the meantime are erased then. An order that is created later starts a new wallet.
   *
   * @returns the pseudonym, the wallet, and the number of changed rows; zeros for an unknown document.
   */
  erase(merchantId: string, document: string): Promise<Erasure> {
    return this.unitOfWork.transaction(async (manager) => {
      const owner = { merchantId, document };
      const pseudonym = newId(this.clock.now(merchantId));
      const before = await this.#eraseOrders(manager, owner, pseudonym);
      const isKnown = before > 0 || (await manager.existsBy(Wallet, owner));
      if (!isKnown) return { pseudonym, wallet_id: null, orders: 0, wallets: 0 };
      const { row: wallet } = await this.wallets.lock(manager, owner);
      const meanwhile = await this.#eraseOrders(manager, owner, pseudonym);
      await manager.update(Wallet, { id: wallet.id, merchantId }, { document: pseudonym, freezeReason: null });
      const told = { reason: null, note: null, metadata: null, voidReason: null };
      await manager.update(Debit, { walletId: wallet.id, merchantId }, told);
      await forgetReasons(manager, merchantId, wallet.id);
      await manager.update(Credit, { walletId: wallet.id, merchantId }, { reason: null });
      await manager.query(ERASE_GRANTS, [wallet.id, merchantId]);
      return { pseudonym, wallet_id: wallet.id, orders: before + meanwhile, wallets: 1 };
    });
  }

  /** Reads the IDs without a lock, and changes only these rows. */
  async #eraseOrders(
    manager: EntityManager,
    { merchantId, document }: WalletOwner,
    pseudonym: string,
  ): Promise<number> {
    const found = await manager.query<{ id: string }[]>(
      'SELECT id FROM orders WHERE merchant_id = ? AND document = ?',
      [merchantId, document],
    );
    for (const orders of chunks(await manager.query<{ id: string }[]>(CORRECTED, [merchantId, document])))
      await manager.query(ERASE_CORRECTED, [orders.map(({ id }) => id), merchantId]);
    let erased = 0;
    for (const orders of chunks(found)) {
      const ids = orders.map(({ id }) => id);
      const values = [pseudonym, ids, merchantId, document];
      const { affectedRows } = await manager.query<{ affectedRows: number }>(ERASE_ORDERS, values);
      erased += affectedRows;
      await manager.query(ERASE_REFUNDS, [merchantId, ids]);
    }
    return erased;
  }
}
