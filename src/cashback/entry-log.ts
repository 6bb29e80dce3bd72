import { exactCents } from '../common/money.js';
import type { Credit } from './credit.entity.js';
import type { Entry, EntryKind } from './entry.entity.js';
import type { Movement } from './movements.js';
import type { Wallet } from './wallet.entity.js';

/** The order and refund that caused an entry. */
export interface Cause {
  orderId: string | null;
  refundId?: string | undefined;
}

/** Records movements as entries of the wallet's statement, each with its number and the balance and debt after it. */
export class EntryLog {
  readonly entries: Entry[] = [];
  readonly changedCredits = new Set<Credit>();

  constructor(
    private readonly wallet: Wallet,
    private readonly now: Date,
  ) {}

  record(movement: Movement, refundId?: string): void {
    const { kind, credit, amountCents, orderId, effectiveAt } = movement;
    if (credit === null) {
      this.recordDebt(kind, amountCents, { orderId, refundId });
      return;
    }
    this.changedCredits.add(credit);
    this.wallet.balanceCents = exactCents(this.wallet.balanceCents + amountCents);
    this.#append({ kind, amountCents, creditId: credit.id, effectiveAt }, { orderId, refundId });
  }

  recordAll(movements: Movement[], refundId?: string): void {
    for (const movement of movements) this.record(movement, refundId);
  }

  /** Records a change of the debt, which belongs to no credit. */
  recordDebt(kind: EntryKind, amountCents: number, cause: Cause): void {
    this.wallet.debtCents = exactCents(this.wallet.debtCents + amountCents);
    this.#append({ kind, amountCents, creditId: null, effectiveAt: this.now }, cause);
  }

  #append(entry: Pick<Entry, 'kind' | 'amountCents' | 'creditId' | 'effectiveAt'>, { orderId, refundId }: Cause): void {
    this.wallet.lastSeq += 1;
    this.entries.push({
      ...entry,
      walletId: this.wallet.id,
      merchantId: this.wallet.merchantId,
      seq: this.wallet.lastSeq,
      balanceCents: this.wallet.balanceCents,
      debtCents: this.wallet.debtCents,
      orderId,
      refundId: refundId ?? null,
      createdAt: this.now,
    });
  }
}
