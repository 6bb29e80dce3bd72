import { count } from './expected.js';
import type { Validity } from './rules.js';
import { addDays, localDate, min, startOfDay, sum } from './values.js';

/** Who did something, as responses say it; null for a date. */
export type By = { user_id: string; name: string } | null;

/** One amount that was earned, granted, or made by a refund: cashback.md, "Wallet". */
export interface Credit {
  n: number;
  kind: 'earn' | 'grant' | 'return' | 'move_in';
  /** The external ID of its order or grant. */
  origin: string;
  /** "the store that owes it": "a returned amount has that of the credit it came from" */
  store: string | null;
  /** "`from_credit_id` is the earned or granted credit that it came from" */
  from?: Credit;
  amount: bigint;
  remaining: bigint;
  /** Whether its order got another customer. */
  isMoved?: boolean;
  availableAt: number;
  expiresAt: number;
  expired: bigint;
  /** What debits took and did not restore. */
  debited: bigint;
  /** What refunds of its order claim of what is held, the oldest first. */
  readonly claims: { amount: bigint; cause: Cause }[];
}

/** An amount of a credit that is held or was redeemed. */
export interface Part {
  credit: Credit;
  amount: bigint;
}

/** The last change of whether a wallet is frozen. */
export interface Freeze {
  frozen: boolean;
  reason: string;
  at: number;
  by: By;
}

/** When lines took effect, who did it and where, and the external IDs of their order, refund and debit. */
export interface Cause {
  at: number;
  by: By;
  store: string | null;
  order?: string | undefined;
  refund?: string | undefined;
  debit?: string | undefined;
}

type OrderCause = Cause & { order: string };

/** A line of the ledger. */
export interface Entry extends Cause {
  kind: string;
  credit?: Credit | undefined;
  amount: bigint;
}

/** "_By expiry_ means earliest `expires_at` first, then oldest first." */
const byExpiry = (a: Credit, b: Credit): number => a.expiresAt - b.expiresAt || a.n - b.n;
const firstByExpiry = (parts: Part[]): Part[] => [...parts].sort((a, b) => byExpiry(a.credit, b.credit));
/** Amounts of credits in the order in which they are returned. */
export const latestFirst = (parts: Part[]): Part[] => parts.sort((a, b) => byExpiry(b.credit, a.credit));
const amountOf = (parts: Part[]): bigint => sum(parts.map(({ amount }) => amount));

/** The sums of one kind of lines, by credit. */
function partsOf(lines: Entry[], kind: string): Part[] {
  const sums = new Map<Credit, bigint>();
  for (const { credit, amount } of lines.filter((line) => line.kind === kind))
    if (credit) sums.set(credit, (sums.get(credit) ?? 0n) + amount);
  return [...sums].map(([credit, amount]) => ({ credit, amount }));
}

/** The wallet of one customer with one merchant. Operations come in the order of time, after `expire`. */
export class Wallet {
  id: string | undefined;
  debt = 0n;
  /** "null if it never was frozen" */
  freeze: Freeze | undefined;
  readonly credits: Credit[] = [];
  readonly entries: Entry[] = [];
  readonly #holds = new Map<string, Part[]>();

  constructor(private readonly timeZone: string) {}

  get isFrozen(): boolean {
    return this.freeze?.frozen ?? false;
  }

  /** "`all`: every credit, earliest expiry first, also spent and expired ones" */
  get byExpiry(): Credit[] {
    return [...this.credits].sort(byExpiry);
  }

  /** The credits of which something can be spent now or later, and is not held, by expiry. */
  open(now: number): Credit[] {
    return this.byExpiry.filter((credit) => this.free(credit) > 0n && credit.expiresAt > now);
  }

  /** "**available** is `remaining − held` where `available_at ≤ now < expires_at`" */
  available(now: number): bigint {
    return this.#freeOf(this.open(now).filter(({ availableAt }) => availableAt <= now));
  }

  /** "**pending** where `available_at > now`" */
  pending(now: number): bigint {
    return this.#freeOf(this.open(now).filter(({ availableAt }) => availableAt > now));
  }

  /** "**held** is the sum of all holds", or what an order holds. */
  held(order?: string): bigint {
    return amountOf(order === undefined ? [...this.#holds.values()].flat() : (this.#holds.get(order) ?? []));
  }

  /** "Each has `remaining` (the sum of its ledger lines), `held` (by orders)" */
  heldOf(credit: Credit): bigint {
    return amountOf([...this.#holds.values()].flat().filter((part) => part.credit === credit));
  }

  /** The orders that hold a part of a credit. */
  holders(credit: Credit): string[] {
    return [...this.#holds].flatMap(([order, parts]) => (parts.some((part) => part.credit === credit) ? order : []));
  }

  free(credit: Credit): bigint {
    return credit.remaining - this.heldOf(credit);
  }

  #freeOf(credits: Credit[]): bigint {
    return sum(credits.map((credit) => this.free(credit)));
  }

  /** "The dates decide exactly. At `expires_at` a credit expires, except for what is held." */
  expire(now: number): void {
    for (const credit of this.byExpiry) {
      if (credit.expiresAt > now || this.free(credit) === 0n) continue;
      count('a credit expires unspent');
      if (this.heldOf(credit) > 0n) count('a credit expires except for what is held');
      this.#expire(credit);
    }
  }

  add(kind: 'earn' | 'grant' | 'move_in', origin: string, amount: bigint, validity: Validity, cause: Cause): Credit {
    const credit = this.#make({ kind, origin, amount, store: cause.store, ...validity }, cause);
    this.#repay(kind, cause);
    return credit;
  }

  #make(made: Omit<Credit, 'n' | 'remaining' | 'expired' | 'debited' | 'claims'>, cause: Cause): Credit {
    const credit = { ...made, n: this.credits.length, remaining: made.amount, expired: 0n, debited: 0n, claims: [] };
    this.credits.push(credit);
    this.#write(made.kind, made.amount, cause, credit);
    return credit;
  }

  /** "**N is held** by expiry"; the amount is not above the maximum. */
  hold(cause: OrderCause, amount: bigint): void {
    const { order, at } = cause;
    // "The same N changes nothing."
    if (this.held(order) === amount) return;
    const before = this.#holds.get(order) ?? [];
    const held = new Map(before.map((part) => [part.credit, part.amount]));
    this.#holds.delete(order);
    // "of each credit, what the order already holds, even if the credit has expired, and, if the credit is available,
    // what nobody holds"
    const kept: Part[] = [];
    let missing = amount;
    for (const credit of this.byExpiry) {
      const isAvailable = credit.availableAt <= at && at < credit.expiresAt;
      const part = min(isAvailable ? this.free(credit) : (held.get(credit) ?? 0n), missing);
      if (part > 0n) kept.push({ credit, amount: part });
      missing -= part;
    }
    if (missing > 0n) throw new Error('the model holds more than is available');
    this.#holds.set(order, kept);
    if (kept.some(({ credit }) => credit.expiresAt <= at)) count('a hold on an expired credit is changed');
    // "first what is claimed beyond what is still held, then debt …, then the rest of the claim. Only what is left is
    // available or, of an expired credit, expires at once."
    this.#settle('release', cause);
    for (const { credit } of before) {
      if (credit.expiresAt > at || this.free(credit) === 0n) continue;
      count('what is released of an expired credit expires');
      if (this.debt > 0n) count('what is released of an expired credit repays nothing');
      this.#expire(credit);
    }
  }

  /** "**A completion** holds `redeem` … and redeems it." */
  redeem(cause: OrderCause, amount: bigint): Part[] {
    const { order, at } = cause;
    this.hold(cause, amount);
    const parts = this.#holds.get(order) ?? [];
    this.#holds.delete(order);
    for (const part of parts) this.#draw('redeem', part.credit, part.amount, cause);
    if (parts.some(({ credit }) => credit.expiresAt <= at)) count('what was held of an expired credit is redeemed');
    this.#settle('redeem', cause);
    return parts;
  }

  /** Returns amounts to the credits that an order redeemed from, the latest expiry first. */
  giveBack(parts: Part[], cause: OrderCause): void {
    const { at, order: origin } = cause;
    // "Where such a credit expires before the end of the 7th day after the refund's local date, the amount becomes a
    // new credit, available at once and through that day"
    const expiresAt = startOfDay(addDays(localDate(at, this.timeZone), 8), this.timeZone);
    for (const { credit, amount } of parts) {
      if (credit.expiresAt < expiresAt) {
        count('a refund makes a new credit');
        if (credit.kind === 'return') count('a refund makes a new credit from a returned amount');
        const from = credit.from ?? credit;
        const { store } = credit;
        this.#make({ kind: 'return', origin, from, amount, store, availableAt: at, expiresAt }, cause);
      } else {
        count('a refund returns to the same credit');
        this.#give('return', credit, amount, cause);
      }
    }
    this.#settle('return', cause);
  }

  /** "from what is not held of the order's own credit; then what other orders hold of it is claimed" */
  takeBack(amount: bigint, own: Credit | undefined, cause: Cause): void {
    let missing = amount;
    if (own !== undefined && own.expiresAt > cause.at)
      missing -= this.#draw('take_back', own, min(this.free(own), missing), cause);
    const claimed = own === undefined ? 0n : min(this.heldOf(own) - this.claimed(own), missing);
    if (claimed > 0n) {
      count(
        own!.expiresAt > cause.at ? 'a refund claims what is held' : 'a refund claims what is held and has expired',
      );
      own!.claims.push({ amount: claimed, cause });
    }
    this.#takeFromOthers(missing - claimed, cause);
  }

  claimed(credit: Credit): bigint {
    return sum(credit.claims.map(({ amount }) => amount));
  }

  /** "then from the others by expiry; pending ones count" */
  #takeFromOthers(amount: bigint, cause: Cause): void {
    let missing = amount;
    for (const credit of this.open(cause.at))
      missing -= this.#draw('take_back', credit, min(this.free(credit), missing), cause);
    // "The rest becomes debt."
    if (missing === 0n) return;
    count('a refund leaves a debt');
    if (this.held() > 0n) count('a refund leaves a debt beside what is held');
    this.debt += missing;
    this.#write('debt', missing, cause);
  }

  /** "what is left of the order's credit and not held" @returns the amount */
  moveOut(credit: Credit, most: bigint, cause: OrderCause): bigint {
    credit.isMoved = true;
    return this.#draw('move_out', credit, min(this.free(credit), most), cause);
  }

  /** The credit of a grant "and those that refunds made from it" */
  madeFrom(credit: Credit): Credit[] {
    return [credit, ...this.credits.filter(({ from }) => from === credit)];
  }

  /** "A void takes what is not held of the grant's credit and of those that refunds made from it" */
  void(credit: Credit, at: number, by: By): bigint {
    const cause = { at, by, store: null };
    return sum(this.madeFrom(credit).map((one) => this.#draw('void', one, this.free(one), cause)));
  }

  /** "By expiry … of what is available; then by expiry of what is pending. Never what is held." @returns the parts */
  debit(amount: bigint, cause: Cause): Part[] {
    const open = this.open(cause.at);
    const isPending = ({ availableAt }: Credit): boolean => availableAt > cause.at;
    let missing = amount;
    const parts = [...open.filter((credit) => !isPending(credit)), ...open.filter(isPending)].flatMap((credit) => {
      const taken = this.#draw('debit', credit, min(this.free(credit), missing), cause);
      missing -= taken;
      credit.debited += taken;
      return taken > 0n ? [{ credit, amount: taken }] : [];
    });
    if (missing > 0n) throw new Error('the model debits more than there is');
    if (parts.length > 1) count('a debit takes from several credits');
    if (parts.some(({ credit }) => isPending(credit))) count('a debit takes what is pending');
    if (this.held() > 0n) count('a debit leaves what is held');
    return parts;
  }

  /** To "the same credits, by expiry", where it "repays debt first" */
  undebit(parts: Part[], cause: Cause): void {
    for (const { credit, amount } of firstByExpiry(parts)) {
      credit.debited -= amount;
      this.#give('debit', credit, amount, cause);
    }
    this.#settle('void of a debit', cause);
  }

  /** What a refund wrote: "lines with its ID" */
  #linesOf({ order, refund }: Cause): Entry[] {
    return this.entries.filter((entry) => entry.order === order && entry.refund === refund);
  }

  /** "The obstacles are looked for in this order; the first one is named." The order's latest change comes before. */
  obstacle(cause: Cause): string | undefined {
    const lines = this.#linesOf(cause);
    const isOver = ({ credit }: Part): boolean => credit.expiresAt <= cause.at || credit.isMoved === true;
    const debt = sum(lines.filter(({ kind }) => kind === 'debt').map(({ amount }) => amount));
    const taken = partsOf(lines, 'take_back');
    // "that much free now (not held, not expired), less what it took from the same credit"
    const isReturned = partsOf(lines, 'return').every(({ credit, amount }) => {
      const net = amount + sum(taken.filter((part) => part.credit === credit).map((part) => part.amount));
      return net <= (credit.expiresAt <= cause.at ? 0n : this.free(credit));
    });
    return [
      lines.some(({ kind }) => kind === 'repay') && 'repaid_debt',
      debt > this.debt && 'debt',
      !isReturned && 'returned_cashback',
      taken.some(isOver) && 'taken_cashback',
    ].find((one) => one !== false);
  }

  /** "lines of the same kinds with the opposite sign", and "what it still claims … is no longer claimed" */
  undo(cause: Cause): void {
    const lines = this.#linesOf(cause);
    for (const { credit, amount } of partsOf(lines, 'return')) this.#draw('return', credit, amount, cause);
    const debt = sum(lines.filter(({ kind }) => kind === 'debt').map(({ amount }) => amount));
    if (debt > 0n) {
      count('a void of a refund takes its debt off');
      this.debt -= debt;
      this.#write('debt', -debt, cause);
    }
    this.#unclaim(cause);
    const taken = partsOf(lines, 'take_back');
    for (const { credit, amount } of firstByExpiry(taken)) this.#give('take_back', credit, -amount, cause);
    if (taken.length > 0) count('a void of a refund restores what it took');
    this.#settle('void of a refund', cause);
  }

  #unclaim({ order, refund }: Cause): void {
    for (const { claims } of this.credits) {
      const others = claims.filter(({ cause }) => cause.order !== order || cause.refund !== refund);
      if (claims.some((claim) => claim.amount > 0n && !others.includes(claim)))
        count('what a refund claims is no longer claimed after its void');
      claims.splice(0, Infinity, ...others);
    }
  }

  /** "What is claimed is never more than what is held, and beside it nothing of the credit is free." */
  #settle(what: string, cause: Cause): void {
    const claimed = this.byExpiry.filter(({ claims }) => claims.length > 0);
    for (const credit of claimed) this.#takeClaimed(credit, this.claimed(credit) - this.heldOf(credit), what, cause);
    this.#repay(what, cause);
    for (const credit of claimed) this.#takeClaimed(credit, min(this.claimed(credit), this.free(credit)), what, cause);
  }

  #takeClaimed(credit: Credit, amount: bigint, what: string, { at }: Cause): void {
    let missing = amount;
    for (const claim of credit.claims) {
      const part = min(claim.amount, missing);
      if (part <= 0n) continue;
      claim.amount -= part;
      missing -= part;
      const cause = { ...claim.cause, at };
      const taken = this.#draw('take_back', credit, min(this.free(credit), part), cause);
      if (taken > 0n) count(`what is claimed is taken back after a ${what}`);
      if (taken > 0n && credit.expiresAt <= at) count('what is claimed of an expired credit is taken back');
      if (taken < part) count('what is claimed is redeemed');
      this.#takeFromOthers(part - taken, cause);
    }
  }

  /** "New cashback …, what a refund returns and what a hold releases repay it first, by expiry." */
  #repay(what: string, cause: Cause): void {
    for (const credit of this.open(cause.at)) {
      const paid = this.#draw('take_back', credit, min(this.free(credit), this.debt), cause);
      if (paid === 0n) continue;
      count(`a debt is repaid by: ${what}`);
      this.debt -= paid;
      this.#write('repay', -paid, cause);
    }
  }

  /** Takes an amount from a credit. @returns the amount */
  #draw(kind: string, credit: Credit, amount: bigint, cause: Cause): bigint {
    credit.remaining -= amount;
    if (amount > 0n) this.#write(kind, -amount, cause, credit);
    return amount;
  }

  /** Adds an amount to a credit that it was taken from. */
  #give(kind: string, credit: Credit, amount: bigint, cause: Cause): void {
    credit.remaining += amount;
    this.#write(kind, amount, cause, credit);
  }

  /** "`effective_at` is the credit's expiry", "`by` is null for what a date does" */
  #expire(credit: Credit): void {
    const cause = { at: credit.expiresAt, by: null, store: null };
    credit.expired += this.#draw('expire', credit, this.free(credit), cause);
  }

  #write(kind: string, amount: bigint, cause: Cause, credit?: Credit): void {
    this.entries.push({ kind, amount, credit, ...cause });
  }
}
