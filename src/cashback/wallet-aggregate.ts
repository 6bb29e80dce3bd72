import { newId } from '../platform/values/ids.js';
import { exactCents, sumCents } from '../platform/values/money.js';
import type { Obstacle } from '../platform/values/problem.js';
import { BY_DATE, type Cause, type Claim, type DebitCause, type EntryCause, type RefundCause } from './cause.js';
import type { Credit, Hold } from './credit.entity.js';
import type { Entry, EntryKind } from './entry.entity.js';
import { byExpiry, freeCents, freeOf, isAvailable, type Parts, takeEarliest } from './parts.js';
import type { Spendable } from './quote.js';
import { inStepsOfUndo, type Moved, obstacleTo } from './undo.js';
import { returnEnd, type Validity } from './validity.js';
import type { Wallet } from './wallet.entity.js';

/** What a refund moves. */
interface WalletRefund {
  /** What earlier refunds of the order have returned. */
  returnedBeforeCents: number;
  returnedCents: number;
  takenBackCents: number;
  /** The zone of the days for which a returned amount can be spent at least. */
  timeZone: string;
}

/** What is moved to another customer's wallet. */
interface MovedCredit {
  amountCents: number;
  validity: Validity;
  store: string | null;
}

/** What a refund needs to know of an order's cashback. */
interface RefundableCashback {
  /** What the order redeemed of each credit. */
  redeemed: Parts;
  /** How much of what the order earned has expired unspent, or debits took. */
  goneCents: number;
}

/**
 * A wallet in memory for one transaction, at one instant. Each operation changes credits and holds, and adds the ledger
 * entries that change the balance. It does not access the database: `WalletStore` loads the credits that an operation
 * needs, and saves the changes.
 */
export class WalletAggregate {
  readonly entries: Entry[] = [];
  /** Credits that are no order's own any more. */
  readonly movedCredits: Credit[] = [];
  /** Those on the loaded credits, the oldest first. */
  readonly claims: Claim[] = [];
  readonly #credits = new Map<string, Credit>();
  /** The orders whose holds are loaded, and what each holds. */
  readonly #holds = new Map<string, Parts>();
  readonly #storedHolds = new Set<string>();
  readonly #changedHolds = new Set<string>();
  readonly #changedCredits = new Set<Credit>();
  readonly #refundable = new Map<string, RefundableCashback>();
  /** The orders of whose credits the claims are loaded. */
  readonly #claimed = new Set<string>();
  /** What refunds have moved until this transaction. */
  readonly #moved = new Map<string, Moved[]>();

  /**
   * @param row the locked row, with its sums at `now`.
   * @param isStored whether the row exists.
   */
  constructor(
    readonly row: Wallet,
    readonly now: Date,
    readonly isStored = true,
  ) {}

  get isChanged(): boolean {
    return this.entries.length > 0 || this.#changedCredits.size > 0 || this.movedCredits.length > 0;
  }

  /** The credits to write. */
  get changedCredits(): Iterable<Credit> {
    return this.#changedCredits;
  }

  /** The orders of whose loaded credits something is claimed, and it is not loaded by whom. */
  get unreadClaims(): string[] {
    const claimed = [...this.#credits.values()].flatMap(({ orderId, claimedCents }) =>
      claimedCents > 0 ? orderId! : [],
    );
    return claimed.filter((orderId) => !this.#claimed.has(orderId));
  }

  /** The orders whose stored holds ended or changed. */
  get endedHolds(): string[] {
    return [...this.#changedHolds].filter((orderId) => this.#storedHolds.has(orderId));
  }

  /** The holds to write after that. */
  get newHolds(): Hold[] {
    const { merchantId } = this.row;
    return [...this.#changedHolds].flatMap((orderId) =>
      Array.from(this.#holdOf(orderId), ([{ id: creditId }, amountCents]) => {
        return { orderId, creditId, merchantId, amountCents };
      }),
    );
  }

  /** When a date first changes the sums; undefined if that depends on credits that are not loaded. */
  get nextChange(): Date | undefined {
    const { availableUntil } = this.row;
    if (availableUntil <= this.now) return undefined;
    const dates = [+availableUntil];
    for (const credit of this.#changedCredits) {
      const own = [+credit.availableAt, +credit.expiresAt].filter((date) => date > +this.now);
      if (freeCents(credit) > 0) dates.push(...own);
      else if (own.includes(+availableUntil)) return undefined;
    }
    return new Date(Math.min(...dates));
  }

  get availableCents(): number {
    return this.row.availableCents;
  }

  get spendable(): Spendable {
    return { availableCents: this.row.availableCents, isFrozen: this.row.frozen };
  }

  /** What a debit can take. */
  get debitableCents(): number {
    return this.row.availableCents + this.row.pendingCents;
  }

  /** What an order holds, whose holds are loaded. */
  heldBy(orderId: string): number {
    return sumCents(this.#holdOf(orderId).values());
  }

  /**
   * Adds credits from the database, and writes off what has expired of them and is not held. A credit that is already
   * loaded keeps its state in memory.
   *
   * @returns the wallet's own objects for these credits.
   */
  load(found: readonly Credit[]): Credit[] {
    return found.toSorted(byExpiry).map((credit) => {
      const known = this.#credits.get(credit.id);
      if (known !== undefined) return known;
      this.#credits.set(credit.id, credit);
      this.#writeOffExpired(credit);
      return credit;
    });
  }

  /** Adds what an order holds. The credits are loaded. */
  loadHold(orderId: string, holds: readonly Hold[]): void {
    if (holds.length > 0) this.#storedHolds.add(orderId);
    this.#holds.set(orderId, new Map(holds.map((hold) => [this.#loaded(hold.creditId), hold.amountCents])));
  }

  /** The most that is claimed of what an order holds: a redemption takes it back from other credits. */
  claimedOfHeld(orderId: string): number {
    return sumCents([...this.#holdOf(orderId).keys()].map(({ claimedCents }) => claimedCents));
  }

  /** What is left of what an order earned, and is not held. */
  freeOfEarned(orderId: string | undefined): number {
    const own = orderId === undefined ? undefined : this.#earnedBy(orderId);
    return own === undefined ? 0 : freeCents(own);
  }

  loadRefundable(orderId: string, cashback: RefundableCashback): void {
    this.#refundable.set(orderId, cashback);
  }

  /** Adds the claims on the credits of orders, the oldest first. */
  loadClaims(orderIds: readonly string[], claims: readonly Claim[]): void {
    for (const orderId of orderIds) this.#claimed.add(orderId);
    this.claims.push(...claims);
  }

  /** Adds what a refund has moved. Its credits are loaded. */
  loadMoved(refundId: string, moved: readonly (Omit<Moved, 'credit'> & { creditId: string | null })[]): void {
    const loaded = moved.map(({ creditId, ...one }) => {
      return { ...one, credit: creditId === null ? null : this.#loaded(creditId) };
    });
    this.#moved.set(refundId, loaded);
  }

  /** How much of what an order earned has expired unspent, or debits took. */
  goneUnspent(orderId: string): number {
    const own = this.#earnedBy(orderId);
    const now = this.entries.filter(({ kind, creditId }) => creditId === own?.id && isGone(kind));
    return this.#refundableOf(orderId).goneCents - sumCents(now.map(({ amountCents }) => amountCents));
  }

  /**
   * Sets what an order holds: of what it already holds and what is available, the credits that expire first. What it no
   * longer holds is released, and expires if its credit did. Enough credits must be loaded.
   *
   * @param endsAt when the hold ends. What is released of a credit that expired before repays nothing.
   */
  hold(cause: Cause, amountCents: number, endsAt = this.now): void {
    const { orderId } = cause;
    const before = this.#holdOf(orderId);
    if (amountCents === this.heldBy(orderId)) return;
    const candidates: Parts = new Map(before);
    for (const credit of this.#credits.values())
      if (isAvailable(credit, this.now)) candidates.set(credit, (before.get(credit) ?? 0) + freeCents(credit));
    const after = takeEarliest(candidates, amountCents);
    if (sumCents(after.values()) < amountCents) throw new Error(`order ${orderId} would hold more than is available`);
    this.#holds.set(orderId, after);
    this.#changedHolds.add(orderId);
    const released: Credit[] = [];
    for (const credit of new Set([...before.keys(), ...after.keys()])) {
      const heldCents = (after.get(credit) ?? 0) - (before.get(credit) ?? 0);
      this.#adjust(credit, 0, heldCents);
      if (heldCents < 0) released.push(credit);
    }
    this.#settle(released.sort(byExpiry), cause, endsAt);
    for (const credit of released) this.#writeOffExpired(credit);
  }

  /** Redeems what an order holds. What refunds have claimed of it, they take back from other credits. */
  redeem(cause: Cause): void {
    const { orderId } = cause;
    const hold = this.#holdOf(orderId);
    if (hold.size === 0) return;
    this.#holds.set(orderId, new Map());
    this.#changedHolds.add(orderId);
    const redeemed = [...hold.keys()].sort(byExpiry);
    for (const credit of redeemed) {
      this.#adjust(credit, 0, -hold.get(credit)!);
      this.#move('redeem', credit, -hold.get(credit)!, cause);
    }
    this.#settle(redeemed, cause);
  }

  /** Adds the cashback that an order earned. It repays debt first. */
  earn(cause: Cause, amountCents: number, validity: Validity): Credit {
    return this.#add('earn', amountCents, validity, cause, null);
  }

  /** Adds cashback that no order earned. It repays debt first. */
  grant(
    { by, store }: Pick<EntryCause, 'by' | 'store'>,
    amountCents: number,
    validity: Validity,
    reason: string | null,
  ): Credit {
    return this.#add('grant', amountCents, validity, { orderId: null, by, store }, reason);
  }

  /** Takes back what is left of granted credits and is not held. @returns the voided centavos. */
  void(by: string, credits: readonly Credit[]): number {
    const voided = credits.toSorted(byExpiry).map((credit) => {
      const amountCents = freeCents(credit);
      if (amountCents > 0) this.#move('void', credit, -amountCents, { ...BY_DATE, by });
      return amountCents;
    });
    return sumCents(voided);
  }

  /**
   * Takes cashback from the customer: what can be spent, then what is pending, each by expiry. Enough credits must be
   * loaded.
   */
  debit(cause: DebitCause, amountCents: number): void {
    const open = [...this.#credits.values()].filter(({ expiresAt }) => expiresAt > this.now);
    const isPending = ({ availableAt }: Credit): boolean => availableAt > this.now;
    let leftCents = amountCents;
    for (const credits of [open.filter((credit) => !isPending(credit)), open.filter(isPending)])
      for (const [credit, partCents] of takeEarliest(freeOf(credits), leftCents)) {
        leftCents -= partCents;
        this.#move('debit', credit, -partCents, cause);
      }
    if (leftCents > 0) throw new Error(`debit ${cause.debitId} would take more than is free`);
  }

  /** Restores what a debit took of credits, which have not expired. It repays debt first. */
  restore(cause: DebitCause, parts: Parts): void {
    const credits = [...parts.keys()].sort(byExpiry);
    for (const credit of credits) this.#move('debit', credit, parts.get(credit)!, cause);
    this.#settle(credits, cause);
  }

  /** Takes out what is left of what an order earned and is not held, at most an amount. It is no order's own then. */
  moveOut(cause: Cause, mostCents: number): MovedCredit | undefined {
    const own = this.#earnedBy(cause.orderId);
    if (own === undefined) return undefined;
    const amountCents = Math.min(freeCents(own), mostCents);
    Object.assign(own, { orderId: null, movedOrderId: cause.orderId });
    this.movedCredits.push(own);
    if (amountCents > 0) this.#move('move_out', own, -amountCents, cause);
    const { availableAt, expiresAt, store } = own;
    return { amountCents, validity: { availableAt, expiresAt }, store };
  }

  /** Adds what another wallet moved out. It repays debt first. */
  moveIn(cause: Cause, { amountCents, validity, store }: MovedCredit): void {
    if (amountCents > 0) this.#add('move_in', amountCents, validity, { ...cause, store }, null);
  }

  /**
   * Returns what an order redeemed, and takes back what it earned. `loadRefundable` must have been called, and enough
   * credits must be loaded to cover what is taken back, if there are enough.
   */
  refund(cause: RefundCause, { returnedBeforeCents, returnedCents, takenBackCents, timeZone }: WalletRefund): void {
    this.#return(returnedBeforeCents, returnedCents, returnEnd(timeZone, this.now), cause);
    const claimedCents = this.#claim(takenBackCents - this.freeOfEarned(cause.orderId), cause);
    this.#takeBack(takenBackCents - claimedCents, cause);
  }

  /** What keeps a refund from being undone; undefined if nothing does. What it moved before must be loaded. */
  obstacleTo(refundId: string): Obstacle | undefined {
    return obstacleTo(this.#movedBy(refundId), this.row.debtCents, this.now);
  }

  /** Undoes what a refund has moved. Nothing keeps it from that. What is restored repays debt first. */
  undo(cause: RefundCause): void {
    for (const claim of this.claims.filter(({ refundId }) => refundId === cause.refundId)) {
      const own = this.#earnedBy(claim.orderId)!;
      own.claimedCents -= claim.amountCents;
      claim.amountCents = 0;
      this.#changedCredits.add(own);
    }
    const moved = this.#movedBy(cause.refundId);
    const given = moved.flatMap(({ kind, credit }) => (kind === 'take_back' ? credit! : [])).sort(byExpiry);
    for (const { kind, credit, amountCents } of moved.toSorted(inStepsOfUndo))
      if (credit !== null) this.#move(kind, credit, -amountCents, cause);
      else this.#changeDebt('debt', -amountCents, cause);
    this.#settle(given, cause);
  }

  #movedBy(refundId: string): Moved[] {
    const now = this.entries.filter((entry) => entry.refundId === refundId);
    return [
      ...(this.#moved.get(refundId) ?? []),
      ...now.map(({ kind, creditId, amountCents }) => {
        return { kind, amountCents, credit: creditId === null ? null : this.#loaded(creditId) };
      }),
    ];
  }

  /** Claims what other orders hold of what the order earned, at most an amount. @returns the claimed centavos. */
  #claim(mostCents: number, cause: RefundCause): number {
    const own = this.#earnedBy(cause.orderId);
    const amountCents = own === undefined ? 0 : Math.min(mostCents, own.heldCents - own.claimedCents);
    if (own === undefined || amountCents <= 0) return 0;
    own.claimedCents += amountCents;
    this.#changedCredits.add(own);
    this.claims.push({ ...cause, amountCents });
    return amountCents;
  }

  /** Returns to the credits that the order redeemed from, in reverse order. What returns repays debt first. */
  #return(beforeCents: number, amountCents: number, end: Date, cause: RefundCause): void {
    const returned: Credit[] = [];
    let doneCents = beforeCents;
    let leftCents = amountCents;
    const redeemed = [...this.#refundableOf(cause.orderId).redeemed];
    for (const [credit, redeemedCents] of redeemed.sort(([a], [b]) => byExpiry(b, a))) {
      const earlierCents = Math.min(doneCents, redeemedCents);
      const partCents = Math.min(leftCents, redeemedCents - earlierCents);
      doneCents -= earlierCents;
      leftCents -= partCents;
      if (partCents > 0) returned.push(this.#returnTo(credit, partCents, end, cause));
    }
    if (leftCents > 0) throw new Error(`order ${cause.orderId} returns more cashback than it redeemed`);
    this.#settle(returned.sort(byExpiry), cause);
  }

  /** @returns the credit that the amount is in: a new one, if the one that it came from ends before `end`. */
  #returnTo(credit: Credit, amountCents: number, end: Date, cause: RefundCause): Credit {
    if (credit.expiresAt < end) {
      const { id, fromCreditId, store } = credit;
      const origin = { refundId: cause.refundId, fromCreditId: fromCreditId ?? id, store };
      const returned = this.#newCredit({ availableAt: this.now, expiresAt: end }, amountCents, origin);
      this.#move('return', returned, amountCents, cause);
      return returned;
    }
    this.#move('return', credit, amountCents, cause);
    return credit;
  }

  /** Takes from the order's own credit, then from the others, earliest expiry first. The rest becomes debt. */
  #takeBack(amountCents: number, cause: RefundCause): void {
    const own = this.#earnedBy(cause.orderId);
    let leftCents = amountCents;
    for (const credits of [own === undefined ? [] : [own], [...this.#credits.values()]]) {
      for (const [credit, takenCents] of takeEarliest(freeOf(credits), leftCents)) {
        leftCents -= takenCents;
        this.#move('take_back', credit, -takenCents, cause);
      }
    }
    if (leftCents > 0) this.#changeDebt('debt', leftCents, cause);
  }

  /**
   * Settles credits, by expiry, after a change: no more of them is claimed than is held, what else is free repays debt,
   * unless it expired before `endsAt`, and nothing is free beside a claim.
   */
  #settle(changed: readonly Credit[], cause: EntryCause, endsAt = this.now): void {
    for (const credit of changed) this.#takeClaimed(credit, credit.claimedCents - credit.heldCents);
    for (const credit of changed) {
      const amountCents = Math.min(freeCents(credit), this.row.debtCents);
      if (amountCents === 0 || credit.expiresAt <= endsAt) continue;
      this.#move('take_back', credit, -amountCents, cause);
      this.#changeDebt('repay', -amountCents, cause);
    }
    for (const credit of changed) this.#takeClaimed(credit, Math.min(freeCents(credit), credit.claimedCents));
  }

  /** Takes back a part of what is claimed of a credit: from what is free of it, or else like a refund. */
  #takeClaimed(credit: Credit, amountCents: number): void {
    let leftCents = amountCents;
    for (const claim of this.claims.filter(({ orderId }) => orderId === credit.orderId)) {
      const partCents = Math.min(leftCents, claim.amountCents);
      if (partCents <= 0) continue;
      leftCents -= partCents;
      claim.amountCents -= partCents;
      credit.claimedCents -= partCents;
      this.#takeBack(partCents, claim);
    }
    if (leftCents > 0) throw new Error(`the claims on credit ${credit.id} were not loaded`);
  }

  #add(
    kind: 'earn' | 'grant' | 'move_in',
    amountCents: number,
    validity: Validity,
    cause: EntryCause,
    reason: string | null,
  ): Credit {
    const { orderId, store } = cause;
    const credit = this.#newCredit(validity, amountCents, { orderId, store, reason });
    this.#move(kind, credit, amountCents, cause);
    this.#settle([credit], cause);
    return credit;
  }

  /** Creates a credit. The next entry is the one that adds its amount. */
  #newCredit(validity: Validity, amountCents: number, origin: Partial<Credit>): Credit {
    const credit: Credit = {
      id: newId(this.now),
      walletId: this.row.id,
      merchantId: this.row.merchantId,
      seq: this.row.lastSeq + 1,
      orderId: null,
      movedOrderId: null,
      refundId: null,
      fromCreditId: null,
      reason: null,
      store: null,
      ...origin,
      amountCents,
      remainingCents: 0,
      heldCents: 0,
      claimedCents: 0,
      ...validity,
      createdAt: this.now,
    };
    this.#credits.set(credit.id, credit);
    return credit;
  }

  #writeOffExpired(credit: Credit): void {
    const amountCents = freeCents(credit);
    if (credit.expiresAt <= this.now && amountCents > 0)
      this.#move('expire', credit, -amountCents, BY_DATE, credit.expiresAt);
  }

  #move(kind: EntryKind, credit: Credit, amountCents: number, cause: EntryCause, effectiveAt = this.now): void {
    this.#adjust(credit, amountCents, 0);
    this.#append(kind, credit.id, amountCents, cause, effectiveAt);
  }

  #changeDebt(kind: 'debt' | 'repay', amountCents: number, cause: EntryCause): void {
    this.row.debtCents = exactCents(this.row.debtCents + amountCents);
    this.#append(kind, null, amountCents, cause, this.now);
  }

  /** Changes what remains of a credit and what is held of it, and with them the sums of the wallet. */
  #adjust(credit: Credit, amountCents: number, heldCents: number): void {
    this.#changedCredits.add(credit);
    credit.remainingCents += amountCents;
    credit.heldCents += heldCents;
    const { row } = this;
    row.balanceCents = exactCents(row.balanceCents + amountCents);
    row.heldCents = exactCents(row.heldCents + heldCents);
    const free = amountCents - heldCents;
    if (credit.availableAt > this.now) row.pendingCents = exactCents(row.pendingCents + free);
    else if (credit.expiresAt > this.now) row.availableCents = exactCents(row.availableCents + free);
  }

  #append(
    kind: EntryKind,
    creditId: string | null,
    amountCents: number,
    { orderId, refundId = null, debitId = null, by: madeBy, store }: EntryCause,
    effectiveAt: Date,
  ): void {
    const { id: walletId, merchantId, balanceCents, debtCents } = this.row;
    const sums = { balanceCents, debtCents };
    const seq = ++this.row.lastSeq;
    const entry = { walletId, merchantId, seq, kind, amountCents, ...sums, creditId };
    this.entries.push({ ...entry, orderId, refundId, debitId, effectiveAt, createdAt: this.now, madeBy, store });
  }

  #earnedBy(orderId: string): Credit | undefined {
    return [...this.#credits.values()].find((credit) => credit.orderId === orderId);
  }

  #holdOf(orderId: string): Parts {
    return this.#holds.get(orderId) ?? new Map<Credit, number>();
  }

  #refundableOf(orderId: string): RefundableCashback {
    const refundable = this.#refundable.get(orderId);
    if (refundable === undefined) throw new Error(`what order ${orderId} redeemed was not loaded`);
    return refundable;
  }

  #loaded(creditId: string): Credit {
    const credit = this.#credits.get(creditId);
    if (credit === undefined) throw new Error(`credit ${creditId} was not loaded`);
    return credit;
  }
}

/** What is gone of a credit although nobody has spent it. */
const isGone = (kind: EntryKind): boolean => kind === 'expire' || kind === 'debit';
