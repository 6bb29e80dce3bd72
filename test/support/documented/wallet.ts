import { count } from './expected.js';
import type { Validity } from './rules.js';
import { addDays, localDate, min, startOfDay, sum } from './values.js';

/** One earned or granted amount: cashback.md, "Wallet". */
export interface Credit {
  n: number;
  kind: 'earn' | 'grant';
  /** The external ID of its order or grant. */
  origin: string;
  amount: bigint;
  remaining: bigint;
  availableAt: number;
  expiresAt: number;
  reinstated: boolean;
  expiredUnspent: bigint;
}

/** An amount of a credit that is held or was redeemed. */
export interface Part {
  credit: Credit;
  amount: bigint;
}

/** When entries took effect, and the external IDs of their order and refund. */
export interface Cause {
  at: number;
  order?: string | undefined;
  refund?: string | undefined;
}

/** A ledger entry. A `release` counts as a positive `hold`, so that only what changed is compared. */
export interface Entry extends Cause {
  kind: string;
  credit?: Credit | undefined;
  amount: bigint;
}

const earliestExpiry = (a: Credit, b: Credit): number => a.expiresAt - b.expiresAt || a.n - b.n;
/** Amounts of credits in the order in which they are returned. */
export const latestFirst = (parts: Part[]): Part[] => parts.sort((a, b) => earliestExpiry(b.credit, a.credit));
const amountOf = (parts: Part[]): bigint => sum(parts.map(({ amount }) => amount));
const remainingOf = (credits: Credit[]): bigint => sum(credits.map(({ remaining }) => remaining));

/** The wallet of one customer with one merchant. Operations come in the order of time, after `expire`. */
export class Wallet {
  id: string | undefined;
  debt = 0n;
  readonly credits: Credit[] = [];
  readonly entries: Entry[] = [];
  readonly holds = new Map<string, Part[]>();

  constructor(private readonly timeZone: string) {}

  /** The credits that can be spent now or later, "earliest expiry first". */
  open(now: number): Credit[] {
    return this.credits.filter(({ remaining, expiresAt }) => remaining > 0n && expiresAt > now).sort(earliestExpiry);
  }

  #available(now: number): Credit[] {
    return this.open(now).filter(({ availableAt }) => availableAt <= now);
  }

  /** "the remaining amount of credits with `available_at ≤ now < expires_at`" */
  available(now: number): bigint {
    return remainingOf(this.#available(now));
  }

  /** "**pending** is that of credits with `available_at > now`" */
  pending(now: number): bigint {
    return remainingOf(this.open(now)) - this.available(now);
  }

  held(order?: string): bigint {
    return order === undefined ? amountOf([...this.holds.values()].flat()) : amountOf(this.holds.get(order) ?? []);
  }

  /** "The dates decide exactly." */
  expire(now: number): void {
    for (const credit of this.credits) {
      if (credit.expiresAt > now) continue;
      if (credit.remaining > 0n) count('a credit expires unspent');
      this.#expire(credit);
    }
  }

  /** "New cashback, released holds and restored redemptions repay it first" */
  add(kind: Credit['kind'], origin: string, amount: bigint, { availableAt, expiresAt }: Validity, at: number): Credit {
    const dates = { availableAt, expiresAt, reinstated: false, expiredUnspent: 0n };
    const credit: Credit = { n: this.credits.length, kind, origin, amount, remaining: amount, ...dates };
    this.credits.push(credit);
    const cause = { at, order: kind === 'earn' ? origin : undefined };
    this.#write(kind, amount, cause, credit);
    this.#repay(kind, cause);
    return credit;
  }

  /** Replaces the hold of an order; the amount is not above its maximum. */
  hold(order: string, amount: bigint, at: number): void {
    if (this.held(order) === amount) return;
    const old = (this.holds.get(order) ?? []).sort((a, b) => earliestExpiry(a.credit, b.credit));
    const kept: Part[] = [];
    const returned: Part[] = [];
    let missing = amount;
    for (const { credit, amount: part } of old) {
      if (credit.expiresAt > at) {
        this.#give('hold', { credit, amount: part }, { at, order });
        continue;
      }
      // "A hold on expired credits can be changed: up to the new amount, nothing is released from them."
      count('a hold on an expired credit is changed');
      const keep = min(part, missing);
      if (keep > 0n) kept.push({ credit, amount: keep });
      if (keep < part) returned.push({ credit, amount: part - keep });
      missing -= keep;
    }
    // "A hold takes from credits at once, earliest expiry first, and records from which."
    for (const credit of this.#available(at)) {
      const taken = this.#draw('hold', credit, missing, { at, order });
      if (taken > 0n) kept.push({ credit, amount: taken });
      missing -= taken;
    }
    if (missing > 0n) throw new Error('the model holds more than is available');
    this.holds.set(order, kept);
    // "A hold that is replaced repays only with the amount that the order no longer holds."
    this.giveBack('hold', returned, { at, order });
  }

  release(order: string, at: number): void {
    const parts = this.holds.get(order) ?? [];
    this.holds.delete(order);
    this.giveBack('hold', parts, { at, order });
  }

  /** "a redemption was captured (after the `release` of its hold)" */
  capture(order: string, amount: bigint, at: number): Part[] {
    this.hold(order, amount, at);
    const parts = this.holds.get(order) ?? [];
    this.holds.delete(order);
    for (const part of parts) {
      this.#write('hold', part.amount, { at, order }, part.credit);
      this.#write('redeem', -part.amount, { at, order }, part.credit);
    }
    return parts;
  }

  /** Returns amounts to their credits: a released hold or a restored redemption. */
  giveBack(kind: 'hold' | 'restore', parts: Part[], cause: Cause): void {
    for (const part of parts) {
      const { credit } = part;
      const isExpired = credit.expiresAt <= cause.at;
      this.#give(kind, part, cause);
      if (isExpired && !credit.reinstated) {
        // "by the first amount that returns to it"; "can be spent through the local date of the return + 7"
        count(`a ${kind} reinstates an expired credit`);
        if (this.debt > 0n) count('a debt is repaid by a reinstated credit');
        credit.reinstated = true;
        credit.expiresAt = startOfDay(addDays(localDate(cause.at, this.timeZone), 8), this.timeZone);
      } else if (isExpired) {
        // "An amount that returns later expires immediately … It repays no debt and creates none"
        count('an amount returns to a credit that expired twice');
        this.#expire(credit);
      }
    }
    this.#repay(kind, cause);
  }

  /** "first from the order's own credit, then from the others, earliest expiry first; the rest becomes debt" */
  takeBack(amount: bigint, own: Credit | undefined, cause: Cause): void {
    let missing = amount;
    for (const credit of [...(own ? [own] : []), ...this.open(cause.at)])
      missing -= this.#draw('clawback', credit, missing, cause);
    if (missing === 0n) return;
    count('a refund leaves a debt');
    this.debt += missing;
    this.#write('debt', missing, cause);
  }

  /** "A void takes back the unspent, unheld amount of the grant, pending or available." */
  void(credit: Credit, at: number): bigint {
    return this.#draw('void', credit, credit.remaining, { at });
  }

  /** "Of several credits, the earliest to expire repays first." */
  #repay(kind: string, cause: Cause): void {
    for (const credit of this.open(cause.at)) {
      const paid = this.#draw('clawback', credit, this.debt, cause);
      if (paid === 0n) continue;
      count(`a debt is repaid by: ${kind}`);
      this.debt -= paid;
      this.#write('repay', -paid, cause);
    }
  }

  /** Takes up to an amount from a credit. @returns the taken amount */
  #draw(kind: string, credit: Credit, atMost: bigint, cause: Cause): bigint {
    const taken = min(credit.remaining, atMost);
    credit.remaining -= taken;
    if (taken > 0n) this.#write(kind, -taken, cause, credit);
    return taken;
  }

  #give(kind: string, { credit, amount }: Part, cause: Cause): void {
    credit.remaining += amount;
    this.#write(kind, amount, cause, credit);
  }

  /** "then an `expire` dated with the credit's expiry. … counts as expired unspent" */
  #expire(credit: Credit): void {
    credit.expiredUnspent += this.#draw('expire', credit, credit.remaining, { at: credit.expiresAt });
  }

  #write(kind: string, amount: bigint, cause: Cause, credit?: Credit): void {
    this.entries.push({ kind, amount, credit, ...cause });
  }
}
