import { newId } from '../common/ids.js';
import { sumCents } from '../common/money.js';
import { AvailableBalance } from './available-balance.js';
import type { Credit } from './credit.entity.js';
import { byExpiry, takeEarliest } from './earliest-first.js';
import type { Entry, EntryKind } from './entry.entity.js';
import { type Cause, EntryLog } from './entry-log.js';
import { applyExpiries, isAvailable, release, revive } from './expiry.js';
import type { Hold } from './hold.entity.js';
import { HoldBook } from './hold-book.js';
import type { LoadedWallet } from './loaded-wallet.js';
import type { Wallet } from './wallet.entity.js';

/**
 * A wallet in memory for one use case, brought up to date to an instant. Each operation changes credits and records one
 * ledger entry for each credit it touched. It reads and writes no database: the caller loads the credits that an
 * operation needs beforehand (`load`), and saves what changed.
 */
export class WalletAggregate {
  readonly wallet: Wallet;
  readonly #credits = new Map<string, Credit>();
  readonly #available: AvailableBalance;
  readonly #holds: HoldBook;
  readonly #log: EntryLog;

  constructor(
    { wallet, availableByDateCents, holds, credits }: LoadedWallet,
    readonly now: Date,
  ) {
    this.wallet = wallet;
    this.#log = new EntryLog(wallet, now);
    this.#available = new AvailableBalance(availableByDateCents, now);
    this.#holds = new HoldBook(holds);
    for (const credit of credits) this.#add(credit);
    this.#log.recordAll(applyExpiries(this.#credits.values(), holds, now));
    this.#holds.end((hold) => hold.expiresAt <= now);
  }

  /** The entries recorded since the wallet was loaded. */
  get entries(): readonly Entry[] {
    return this.#log.entries;
  }

  get changedCredits(): ReadonlySet<Credit> {
    return this.#log.changedCredits;
  }

  get newHolds(): Iterable<Hold> {
    return this.#holds.added;
  }

  get endedHolds(): Iterable<Hold> {
    return this.#holds.ended;
  }

  /** The credits that are loaded. */
  get credits(): Iterable<Credit> {
    return this.#credits.values();
  }

  get availableCents(): number {
    return this.#available.cents(this.#credits.values());
  }

  /** What is held for an order whose holds are loaded. */
  heldForCents(orderId: string): number {
    return sumCents(this.#holds.of(orderId).map((hold) => hold.amountCents));
  }

  /**
   * Adds credits from the database. A credit that is loaded already stays as it is in memory.
   *
   * @returns the wallet's own objects for these credits, brought up to date.
   */
  load(found: readonly Credit[]): Credit[] {
    return found.map((credit) => {
      const known = this.#credits.get(credit.id);
      if (known !== undefined) return known;
      this.#add(credit);
      this.#log.recordAll(applyExpiries([credit], [], this.now));
      return credit;
    });
  }

  /**
   * Takes an amount from the available credits for an order until the order expires, the earliest to expire first. The
   * caller has loaded the earliest ones, until they cover the amount.
   */
  hold(order: { id: string; expiresAt: Date }, amountCents: number): void {
    const spendable = [...this.#credits.values()].filter((credit) => isAvailable(credit, this.now));
    const taken = takeEarliest(spendable, amountCents);
    if (sumCents(taken.map(([, cents]) => cents)) < amountCents)
      throw new Error(`order ${order.id} would hold more than is available`);
    for (const [credit, takenCents] of taken) {
      this.#holds.add({
        orderId: order.id,
        creditId: credit.id,
        walletId: this.wallet.id,
        amountCents: takenCents,
        expiresAt: order.expiresAt,
      });
      this.#record('hold', credit, -takenCents, { orderId: order.id });
    }
  }

  /** Releases what is held for an order. */
  releaseHold(orderId: string): void {
    for (const hold of this.#holds.end((hold) => hold.orderId === orderId))
      this.#log.recordAll(release(this.#credit(hold.creditId), hold, this.now));
  }

  /** Spends what is held for an order: the hold is released and redeemed at once. */
  capture(orderId: string): void {
    for (const { creditId, amountCents } of this.#holds.end((hold) => hold.orderId === orderId)) {
      const credit = this.#credit(creditId);
      this.#record('release', credit, amountCents, { orderId });
      this.#record('redeem', credit, -amountCents, { orderId });
    }
  }

  /** Adds new cashback, earned by an order or granted by the operator. It pays a debt first. */
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
      orderId,
      reason: 'reason' in from ? from.reason : null,
      amountCents,
      remainingCents: amountCents,
      availableAt,
      expiresAt,
      createdAt: this.now,
    };
    this.#credits.set(credit.id, credit);
    this.#record(orderId === null ? 'grant' : 'earn', credit, amountCents, { orderId });
    const paidCents = Math.min(this.wallet.debtCents, credit.remainingCents);
    if (paidCents > 0) {
      credit.remainingCents -= paidCents;
      this.#record('clawback', credit, -paidCents, { orderId });
      this.#log.recordDebt('repay', -paidCents, { orderId });
    }
    return credit;
  }

  /**
   * Takes granted cashback back: from the order's own credit, then from the others, pending and available, earliest to
   * expire first; what they do not cover becomes debt. The caller has loaded them until they cover the amount.
   */
  clawBack(amountCents: number, cause: { orderId: string; refundId: string }): void {
    const credits = [...this.#credits.values()];
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
   * Returns redeemed cashback to the credits it came from, the last to expire first; one that has expired meanwhile
   * comes back for a week.
   *
   * @param redeemed the wallet's credits that the order redeemed from, each with what has not been returned to it yet.
   */
  restore(
    amountCents: number,
    redeemed: readonly { credit: Credit; amountCents: number }[],
    cause: { orderId: string; refundId: string },
  ): void {
    let leftCents = amountCents;
    for (const { credit, amountCents: openCents } of redeemed.toSorted((a, b) => byExpiry(b.credit, a.credit))) {
      const partCents = Math.min(leftCents, openCents);
      if (partCents === 0) continue;
      leftCents -= partCents;
      this.#log.recordAll(revive(credit, this.now));
      credit.remainingCents += partCents;
      this.#record('restore', credit, partCents, cause);
    }
    if (leftCents > 0) throw new Error(`order ${cause.orderId} returns more cashback than it redeemed`);
  }

  #record(kind: EntryKind, credit: Credit, amountCents: number, { orderId, refundId }: Cause): void {
    this.#log.record({ kind, credit, amountCents, orderId, effectiveAt: this.now }, refundId);
  }

  #add(credit: Credit): void {
    this.#credits.set(credit.id, credit);
    this.#available.countInMemory(credit);
  }

  #credit(id: string): Credit {
    const credit = this.#credits.get(id);
    if (credit === undefined) throw new Error(`credit ${id} of a hold was not loaded`);
    return credit;
  }
}
