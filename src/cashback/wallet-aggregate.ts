import { newId } from '../common/ids.js';
import { sumCents } from '../common/money.js';
import type { Policy } from '../merchants/policy.js';
import type { Credit } from './credit.entity.js';
import type { Entry, EntryKind } from './entry.entity.js';
import { type Cause, EntryLog } from './entry-log.js';
import { byExpiry, giveBack, isAvailable, repay, type Return, type ReturnedPart, writeOff } from './movements.js';
import type { Hold } from './hold.entity.js';
import { HoldBook, type HoldingOrder } from './hold-book.js';
import { LoadedCredits, takeEarliest } from './loaded-credits.js';
import { reinstatementEnd } from './validity.js';
import type { WalletSums } from './wallet-summary.js';
import type { Wallet } from './wallet.entity.js';

export interface LoadedWallet {
  wallet: Wallet;
  /** The sums of all its credits and holds, loaded or not. */
  sums: WalletSums;
  holds: Hold[];
  credits: Credit[];
}

/**
 * A wallet in memory for one use case, at one instant. Each operation changes credits and records one
 * ledger entry per changed credit. It does not access the database: the caller loads the credits that an operation
 * needs (`load`), and saves the changes.
 */
export class WalletAggregate {
  readonly wallet: Wallet;
  readonly #credits: LoadedCredits;
  readonly #holds: HoldBook;
  readonly #log: EntryLog;
  readonly #heldForOthersCents: number;
  /** What remains of credits that have expired and have not been written off. */
  #expiredCents: number;

  constructor(
    { wallet, sums, holds, credits }: LoadedWallet,
    readonly now: Date,
  ) {
    this.wallet = wallet;
    this.#log = new EntryLog(wallet, now);
    this.#credits = new LoadedCredits(sums.availableCents, now);
    this.#holds = new HoldBook(holds);
    this.#heldForOthersCents = sums.heldCents - this.heldCents;
    this.#expiredCents = wallet.balanceCents - sums.availableCents - sums.pendingCents;
    this.load(credits);
  }

  get entries(): readonly Entry[] {
    return this.#log.entries;
  }

  get isChanged(): boolean {
    return this.entries.length > 0 || this.#holds.added.size > 0;
  }

  /** The credits to write: the new ones, and those that no longer have their stored values. */
  get changedCredits(): Credit[] {
    return [...this.#log.changedCredits].filter((credit) => this.#credits.mustBeSaved(credit));
  }

  get newHolds(): Iterable<Hold> {
    return this.#holds.added;
  }

  get endedHolds(): Iterable<Hold> {
    return this.#holds.ended;
  }

  get credits(): Iterable<Credit> {
    return this.#credits.all();
  }

  get availableCents(): number {
    return this.#credits.availableCents;
  }

  /** The sums of the whole wallet in its current state. */
  get sums(): WalletSums {
    const { id, balanceCents, debtCents } = this.wallet;
    const { availableCents } = this;
    const pendingCents = balanceCents - availableCents - this.#expiredCents;
    const heldCents = this.#heldForOthersCents + this.heldCents;
    return { id, availableCents, pendingCents, heldCents, debtCents };
  }

  get heldCents(): number {
    return sumCents(Array.from(this.#holds.open, (hold) => hold.amountCents));
  }

  /**
   * Adds credits from the database, and writes off those that have expired. A credit that is already loaded keeps its
   * state in memory.
   *
   * @returns the wallet's own objects for these credits.
   */
  load(found: readonly Credit[]): Credit[] {
    return found.toSorted(byExpiry).map((credit) => {
      const known = this.#credits.find(credit.id);
      if (known !== undefined) return known;
      this.#credits.add(credit);
      if (credit.expiresAt <= this.now) {
        this.#expiredCents -= credit.remainingCents;
        this.#log.recordAll(writeOff(credit));
      }
      return credit;
    });
  }

  /**
   * Holds an amount for an order. It is taken from the available credits, earliest expiry
   * first. The caller must have loaded enough of them to cover the amount.
   */
  hold(order: HoldingOrder, amountCents: number): void {
    const spendable = [...this.credits].filter((credit) => isAvailable(credit, this.now));
    const taken = takeEarliest(spendable, amountCents);
    if (sumCents(taken.map(([, cents]) => cents)) < amountCents)
      throw new Error(`order ${order.id} would hold more than is available`);
    for (const [credit, takenCents] of taken) {
      this.#record('hold', credit, -takenCents, { orderId: order.id });
      this.#holds.add(order.id, credit, takenCents, this.wallet.lastSeq);
    }
  }

  /** Releases the hold of an order. The released amount repays debt first. */
  releaseHold(order: HoldingOrder): void {
    this.#repay(this.#endHolds(order, 0).released, { orderId: order.id });
  }

  /**
   * Replaces the hold of an order by another amount. What it holds of expired credits stays
   * held, up to that amount, because a release would end it or use up the credit's only return. Only what the order no
   * longer holds repays debt. The caller must have loaded enough credits, see `hold`.
   */
  replaceHold(order: HoldingOrder, amountCents: number): void {
    const { keptCents, released } = this.#endHolds(order, amountCents);
    const newCents = amountCents - keptCents;
    if (newCents > 0) this.hold(order, newCents);
    const returnedCents = sumCents(released.map((part) => part.amountCents)) - newCents;
    this.#repay(released, { orderId: order.id }, Math.max(0, returnedCents));
  }

  /** Captures the hold of an order: it is released and redeemed in one step. */
  capture(orderId: string): void {
    for (const { credit, amountCents } of this.#endedHolds()) {
      this.#record('release', credit, amountCents, { orderId });
      this.#record('redeem', credit, -amountCents, { orderId });
    }
  }

  /** Adds new cashback, earned by an order or granted by the operator. It repays debt first. */
  addCredit(
    from: { orderId: string } | { reason: string | null },
    amountCents: number,
    availableAt: Date,
    expiresAt: Date,
  ): Credit {
    const orderId = 'orderId' in from ? from.orderId : null;
    const credit: Credit = {
      id: newId(this.now),
      walletId: this.wallet.id,
      merchantId: this.wallet.merchantId,
      orderId,
      reason: 'reason' in from ? from.reason : null,
      amountCents,
      remainingCents: amountCents,
      availableAt,
      expiresAt,
      originalExpiresAt: null,
      createdAt: this.now,
    };
    this.#credits.addNew(credit);
    this.#record(orderId === null ? 'grant' : 'earn', credit, amountCents, { orderId });
    this.#repay([{ credit, amountCents }], { orderId });
    return credit;
  }

  /**
   * Takes back granted cashback: from the order's own credit, then from the others, pending and available, earliest
   * expiry first. The uncovered rest becomes debt. The caller must have loaded enough credits to cover the amount, if
   * there are enough.
   */
  clawBack(amountCents: number, cause: { orderId: string; refundId: string }): void {
    const credits = [...this.credits];
    const own = credits.filter((credit) => credit.orderId === cause.orderId);
    const others = credits.filter((credit) => credit.orderId !== cause.orderId);
    let leftCents = amountCents;
    for (const candidates of [own, others]) {
      for (const [credit, takenCents] of takeEarliest(candidates, leftCents)) {
        leftCents -= takenCents;
        this.#record('clawback', credit, -takenCents, cause);
      }
    }
    if (leftCents > 0) this.#log.recordDebt('debt', leftCents, cause);
  }

  /**
   * Returns redeemed cashback to the credits it came from, latest expiry first. A credit that has expired since comes
   * back once. The returned amount repays debt first, but what has expired repays nothing.
   *
   * @param redeemed the credits that the order redeemed from, each with the amount that has not been returned to it
   *   yet.
   */
  restore(
    amountCents: number,
    redeemed: readonly { credit: Credit; amountCents: number }[],
    cause: { orderId: string; refundId: string },
    policy: Pick<Policy, 'timeZone'>,
  ): void {
    const parts: ReturnedPart[] = [];
    let leftCents = amountCents;
    for (const { credit, amountCents: openCents } of redeemed.toSorted((a, b) => byExpiry(b.credit, a.credit))) {
      const partCents = Math.min(leftCents, openCents);
      if (partCents === 0) continue;
      leftCents -= partCents;
      const returned = this.#return('restore', partCents, { id: cause.orderId, policy });
      for (const movement of giveBack(credit, returned))
        this.#log.record(movement, movement.kind === 'restore' ? cause.refundId : undefined);
      parts.push({ credit, amountCents: partCents });
    }
    this.#repay(parts, cause);
    if (leftCents > 0) throw new Error(`order ${cause.orderId} returns more cashback than it redeemed`);
  }

  /**
   * Voids the unspent, unheld amount of a granted credit. The credit must be loaded.
   *
   * @returns the voided centavos.
   */
  voidCredit(credit: Credit): number {
    const amountCents = credit.remainingCents;
    if (amountCents === 0) return 0;
    credit.remainingCents = 0;
    this.#record('void', credit, -amountCents, { orderId: null });
    return amountCents;
  }

  /**
   * Ends the holds of an order, except for what they hold of expired credits, up to `mostKeptCents`.
   *
   * @returns what is still held, and what was released.
   */
  #endHolds(order: HoldingOrder, mostKeptCents: number): { keptCents: number; released: ReturnedPart[] } {
    let keptCents = 0;
    const released: ReturnedPart[] = [];
    for (const { credit, amountCents: heldCents, entrySeq } of this.#endedHolds()) {
      const partCents = credit.expiresAt <= this.now ? Math.min(mostKeptCents - keptCents, heldCents) : 0;
      if (partCents > 0) this.#holds.add(order.id, credit, partCents, entrySeq);
      keptCents += partCents;
      const amountCents = heldCents - partCents;
      if (amountCents === 0) continue;
      this.#log.recordAll(giveBack(credit, this.#return('release', amountCents, order)));
      released.push({ credit, amountCents });
    }
    return { keptCents, released };
  }

  /** Ends the holds of the order. Returns them with their credits, earliest expiry first. */
  #endedHolds(): { credit: Credit; amountCents: number; entrySeq: number }[] {
    const ended = this.#holds.end().map(({ creditId, ...hold }) => ({ credit: this.#credits.get(creditId), ...hold }));
    return ended.sort((a, b) => byExpiry(a.credit, b.credit));
  }

  #return(kind: Return['kind'], amountCents: number, { id, policy }: Pick<HoldingOrder, 'id' | 'policy'>): Return {
    return { kind, amountCents, orderId: id, at: this.now, reinstatedUntil: reinstatementEnd(policy, this.now) };
  }

  /** Repays debt from amounts that were added to credits, at most `mostCents`. */
  #repay(parts: readonly ReturnedPart[], { orderId, refundId }: Cause, mostCents = Infinity): void {
    this.#log.recordAll(repay(parts, Math.min(this.wallet.debtCents, mostCents), { orderId, at: this.now }), refundId);
  }

  #record(kind: EntryKind, credit: Credit, amountCents: number, { orderId, refundId }: Cause): void {
    this.#log.record({ kind, credit, amountCents, orderId, effectiveAt: this.now }, refundId);
  }
}
