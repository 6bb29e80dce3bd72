import { Injectable } from '@nestjs/common';
import { ALL_MERCHANTS, sweptMerchants } from '../platform/database/by-merchant.js';
import { readInstant } from '../platform/database/rows.js';
import { type DatedTask, doEach, LIMIT_OF_ONE, progressOf, type SweepProgress } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { Clock } from '../platform/values/time.js';
import { loadExpired } from './wallet-credits.js';
import { ownerKey, type Wallet, type WalletOwner } from './wallet.entity.js';
import { WalletStore } from './wallet.store.js';

/** How many expired credits are looked up at a time, and how many of a wallet one transaction writes off. */
const LIMIT = 500;

const due = (index: string, merchants: string): string => `/* ${ALL_MERCHANTS} */
  SELECT due.*, w.document FROM wallets w JOIN (
    SELECT wallet_id AS id, merchant_id AS merchantId, expires_at AS expiresAt
      FROM cashback_credits FORCE INDEX (${index})
     WHERE is_open = 1 AND expires_at <= ? AND ${merchants} ORDER BY expires_at, wallet_id LIMIT ?) due ON w.id = due.id AND w.merchant_id = due.merchantId
   ORDER BY due.expiresAt, due.id`;

const NEXT = `
  SELECT MIN(expires_at) AS at FROM cashback_credits FORCE INDEX (ix_cashback_credits_merchant)
   WHERE merchant_id = ? AND is_open = 1`;

/** Writes off what remains of expired credits. It cannot be spent before that either: the dates decide. */
@Injectable()
export class CreditExpiryService implements DatedTask {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly wallets: WalletStore,
    private readonly clock: Clock,
  ) {}

  /**
   * Writes off the credits that expired first, each wallet in its own transaction. Wallets that another transaction has
   * locked are left for the next time.
   */
  async run(merchantId?: string): Promise<SweepProgress> {
    const now = this.clock.now(merchantId);
    type Due = Pick<Wallet, 'id' | keyof WalletOwner> & { expiresAt: Date };
    const [merchants, parameters] = sweptMerchants(merchantId);
    const limit = merchantId === undefined ? LIMIT : LIMIT_OF_ONE;
    const sql = due(`ix_cashback_credits_${merchantId === undefined ? 'due' : 'merchant'}`, merchants);
    const found = await this.unitOfWork.statement((manager) => manager.query<Due[]>(sql, [now, ...parameters, limit]));
    const owners = new Map(found.map((wallet) => [wallet.id, wallet]));
    await doEach(owners.values(), (owner) =>
      this.unitOfWork.transaction(async (manager, record) => {
        const wallets = await this.wallets.lockAll(manager, [owner], 'skip_locked');
        const locked = wallets.get(ownerKey(owner));
        if (locked === undefined) return;
        await loadExpired(manager, locked, LIMIT);
        await this.wallets.save(manager, record, [locked]);
      }),
    );
    return progressOf(found, limit, now);
  }

  nextOf(merchantId: string): Promise<Date | undefined> {
    return this.unitOfWork.statement((manager) => readInstant(manager, NEXT, [merchantId]));
  }
}
