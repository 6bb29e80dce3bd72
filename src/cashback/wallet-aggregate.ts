import { newId } from '../common/ids.js';
import { sumCents } from '../common/money.js';
import type { Credit } from './credit.entity.js';
import type { Entry } from './entry.entity.js';
import { EntryLog } from './entry-log.js';
import type { Hold } from './hold.entity.js';
import { giveBack, isAvailable, revive, applyExpiries } from './expiry.js';
import type { Wallet } from './wallet.entity.js';

/**
 * A wallet opened for a use case: its credits and holds in memory, settled to an instant. Every
 * operation moves credits and notes an entry of the ledger for each credit it touched; nothing here
 * reads or writes the database, so the same rules serve whoever only looks.
 */
export class WalletAggregate {
  readonly newHolds: Hold[] = [];
  readonly endedHolds: Hold[] = [];
  readonly #log: EntryLog;

  /**
   * @param credits all of the wallet's with something left, and those of its holds.
   * @param holds all of the wallet's.
   */
  constructor(
    readonly wallet: Wallet,
    readonly credits: Credit[],
    private holds: Hold[],
    readonly now: Date,
  ) {
    this.#log = new EntryLog(wallet, now);
    const movements = applyExpiries(credits, holds, now);
    this.#endHolds((hold) => hold.expiresAt <= now);
    this.#log.recordAll(movements);
  }

  /** What has happened since it was opened, for the ledger. */
  get entries(): readonly Entry[] {
    return this.#log.entries;
  }

  get changedCredits(): ReadonlySet<Credit> {
    return this.#log.changedCredits;
  }

  get availableCents(): number {
    return sumCents(
      this.credits.filter((credit) => isAvailable(credit, this.now)).map((credit) => credit.remainingCents),
    );
  }

  get pendingCents(): number {
    return sumCents(
      this.credits.filter((credit) => credit.availableAt > this.now).map((credit) => credit.remainingCents),
    );
  }

  get heldCents(): number {
    return sumCents(this.holds.map((hold) => hold.amountCents));
  }

  heldForCents(orderId: string): number {
    return sumCents(this.holds.filter((hold) => hold.orderId === orderId).map((hold) => hold.amountCents));
  }

  /** Takes an amount from the available credits for an order, the earliest to expire first, until the order expires. */
  hold(order: { id: string; expiresAt: Date }, amountCents: number): void {
    if (amountCents > this.availableCents) throw new Error(`order ${order.id} would hold more than is available`);
    const spendable = this.credits.filter((credit) => isAvailable(credit, this.now));
    for (const [credit, takenCents] of this.#take(spendable, amountCents)) {
      const hold: Hold = {
        orderId: order.id,
        creditId: credit.id,
        walletId: this.wallet.id,
        amountCents: takenCents,
        expiresAt: order.expiresAt,
      };
      this.newHolds.push(hold);
      this.holds.push(hold);
      this.#log.record({ kind: 'hold', credit, amountCents: -takenCents, orderId: order.id, effectiveAt: this.now });
    }
  }

  /** Gives back what is held for an order. */
  releaseHold(orderId: string): void {
    for (const hold of this.#endHolds((hold) => hold.orderId === orderId)) {
      this.#log.recordAll(giveBack(this.#credit(hold.creditId), hold, this.now));
    }
  }

  /** Spends what is held for an order: the hold is released and redeemed in one. */
  capture(orderId: string): void {
    for (const { creditId, amountCents } of this.#endHolds((hold) => hold.orderId === orderId)) {
      const movement = { credit: this.#credit(creditId), orderId, effectiveAt: this.now };
      this.#log.record({ kind: 'release', amountCents, ...movement });
      this.#log.record({ kind: 'redeem', amountCents: -amountCents, ...movement });
    }
  }

  /** Gives new cashback, earned by an order or granted by the operator. A debt is paid from it at once. */
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
    this.credits.push(credit);
    this.#log.record({
      kind: orderId === null ? 'grant' : 'earn',
      credit,
      amountCents,
      orderId,
      effectiveAt: this.now,
    });
    const paidCents = Math.min(this.wallet.debtCents, credit.remainingCents);
    if (paidCents > 0) {
      credit.remainingCents -= paidCents;
      this.#log.record({ kind: 'clawback', credit, amountCents: -paidCents, orderId, effectiveAt: this.now });
      this.#log.recordDebt('repay', -paidCents, { orderId });
    }
    return credit;
  }

  /**
   * Takes granted cashback back: from the order's own credit, then from the others, pending and
   * available, earliest to expire first; what they do not cover becomes debt.
   */
  clawBack(amountCents: number, cause: { orderId: string; refundId: string }): void {
    const own = this.credits.filter((credit) => credit.orderId === cause.orderId);
    const others = this.credits.filter((credit) => credit.orderId !== cause.orderId);
    let leftCents = amountCents;
    for (const credits of [own, others]) {
      for (const [credit, takenCents] of this.#take(credits, leftCents)) {
        leftCents -= takenCents;
        this.#log.record(
          { kind: 'clawback', credit, amountCents: -takenCents, orderId: cause.orderId, effectiveAt: this.now },
          cause.refundId,
        );
      }
    }
    if (leftCents > 0) this.#log.recordDebt('debt', leftCents, cause);
  }

  /**
   * Returns redeemed cashback to the credits it came from, the last to expire first; one that has
   * expired meanwhile comes back for a week.
   *
   * @param redeemed the credits the order redeemed from, each with what has not been returned to it yet.
   */
  restore(
    amountCents: number,
    redeemed: readonly { credit: Credit; amountCents: number }[],
    cause: { orderId: string; refundId: string },
  ): void {
    let leftCents = amountCents;
    // The wallet's own credits are settled; those found in the database may have a date that a lapsed hold has put off.
    const settled = redeemed.map(({ credit, amountCents: openCents }) => ({ credit: this.#adopt(credit), openCents }));
    for (const { credit, openCents } of settled.sort((a, b) => byExpiry(b.credit, a.credit))) {
      const partCents = Math.min(leftCents, openCents);
      if (partCents === 0) continue;
      leftCents -= partCents;
      this.#log.recordAll(revive(credit, this.now));
      credit.remainingCents += partCents;
      this.#log.record(
        { kind: 'restore', credit, amountCents: partCents, orderId: cause.orderId, effectiveAt: this.now },
        cause.refundId,
      );
    }
    if (leftCents > 0) throw new Error(`order ${cause.orderId} returns more cashback than it redeemed`);
  }

  /** Takes up to an amount from credits, the earliest to expire first; says what it took from which. */
  #take(credits: Credit[], amountCents: number): [Credit, number][] {
    const taken: [Credit, number][] = [];
    let leftCents = amountCents;
    for (const credit of credits.toSorted(byExpiry)) {
      const partCents = Math.min(leftCents, credit.remainingCents);
      if (partCents === 0) continue;
      credit.remainingCents -= partCents;
      leftCents -= partCents;
      taken.push([credit, partCents]);
    }
    return taken;
  }

  /** A credit with nothing left is not loaded with the wallet; whoever found one brings it in. */
  #adopt(found: Credit): Credit {
    const known = this.credits.find((credit) => credit.id === found.id);
    if (known === undefined) this.credits.push(found);
    return known ?? found;
  }

  #credit(id: string): Credit {
    const credit = this.credits.find((candidate) => candidate.id === id);
    if (credit === undefined) throw new Error(`credit ${id} of a hold was not loaded`);
    return credit;
  }

  #endHolds(which: (hold: Hold) => boolean): Hold[] {
    const ended = this.holds.filter(which);
    this.holds = this.holds.filter((hold) => !which(hold));
    for (const hold of ended) {
      // A hold that was taken and let go in the same use case never reaches the table.
      const fresh = this.newHolds.indexOf(hold);
      if (fresh >= 0) this.newHolds.splice(fresh, 1);
      else this.endedHolds.push(hold);
    }
    return ended;
  }
}

function byExpiry(a: Credit, b: Credit): number {
  return a.expiresAt.getTime() - b.expiresAt.getTime() || (a.id < b.id ? -1 : 1);
}
