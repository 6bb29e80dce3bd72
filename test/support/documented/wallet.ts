import { countReached } from './comparison.js';
import { addDays, localDate, startOfDay } from './days.js';
import { min, sum } from './money.js';
import type { Validity } from './rules.js';

/** One earned or granted amount: cashback.md, "Wallet". */
export interface Credit {
  n: number;
  /** The order that earned it. A grant has none. */
  order?: string;
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

/** Why entries are written: their order and refund, and when they took effect. */
export interface Cause {
  at: number;
  order?: string | undefined;
  refund?: string | undefined;
}

export type Kind = 'earn' | 'grant' | 'void' | 'hold' | 'redeem' | 'restore' | 'clawback' | 'expire' | 'debt' | 'repay';

/** A ledger entry. A `release` counts as a positive `hold`, so that only what changed is compared. */
export interface Entry extends Cause {
  kind: Kind;
  credit?: Credit | undefined;
  amount: bigint;
}

const earliestExpiry = (a: Credit, b: Credit): number => a.expiresAt - b.expiresAt || a.n - b.n;
const held = (parts: Part[]): bigint => sum(parts.map(({ amount }) => amount));

/** The wallet of one customer with one merchant. Operations come in the order of time, after `expire`. */
export class Wallet {
  id: string | undefined;
  debt = 0n;
  readonly credits: Credit[] = [];
  readonly entries: Entry[] = [];
  readonly holds = new Map<string, Part[]>();

  constructor(private readonly timeZone: string) {}

  /** "the remaining amount of credits with `available_at ≤ now < expires_at`" */
  available(now: number): bigint {
    return sum(this.#open(now).map(({ remaining }) => remaining));
  }

  /** "that of credits with `available_at > now`" */
  pending(now: number): bigint {
    return sum(this.#pending(now).map(({ remaining }) => remaining));
  }

  /** "the sum of open holds" */
  held(): bigint {
    return sum([...this.holds.values()].map(held));
  }

  heldFor(order: string): bigint {
    return held(this.holds.get(order) ?? []);
  }

  nextRelease(now: number): { amount: bigint; at: number } | null {
    return next(this.#pending(now), ({ availableAt }) => availableAt);
  }

  nextExpiry(now: number): { amount: bigint; at: number } | null {
    return next(this.#open(now), ({ expiresAt }) => expiresAt);
  }

  /** The next instant at which a credit with a remaining amount expires. */
  nextCreditExpiry(): number {
    return Math.min(...this.credits.filter(({ remaining }) => remaining > 0n).map(({ expiresAt }) => expiresAt));
  }

  /** Writes off what has expired by an instant: "The dates decide exactly." */
  expire(now: number): void {
    for (const credit of this.credits) {
      if (credit.expiresAt <= now && credit.remaining > 0n) this.#expire(credit, credit.remaining);
    }
  }

  /** Adds new cashback. "New cashback … repay it first". */
  add(kind: 'earn' | 'grant', amount: bigint, validity: Validity, cause: Cause): Credit {
    const { availableAt, expiresAt } = validity;
    const credit: Credit = {
      n: this.credits.length,
      ...(kind === 'earn' && cause.order !== undefined && { order: cause.order }),
      ...{ amount, remaining: amount, availableAt, expiresAt, reinstated: false, expiredUnspent: 0n },
    };
    this.credits.push(credit);
    this.#write(kind, amount, cause, credit);
    this.#repay(cause);
    return credit;
  }

  /** Replaces the hold of an order; the amount is not above its maximum. */
  hold(order: string, amount: bigint, now: number): void {
    const cause = { at: now, order };
    const old = this.holds.get(order) ?? [];
    if (held(old) === amount) return;
    // "A hold on expired credits can be changed: up to the new amount, nothing is released from them."
    const kept: Part[] = [];
    const returned: Part[] = [];
    let missing = amount;
    for (const part of [...old].sort((a, b) => earliestExpiry(a.credit, b.credit))) {
      if (part.credit.expiresAt > now) {
        part.credit.remaining += part.amount;
        this.#write('hold', part.amount, cause, part.credit);
        continue;
      }
      countReached('a hold on an expired credit is changed');
      const keep = min(part.amount, missing);
      if (keep > 0n) kept.push({ credit: part.credit, amount: keep });
      if (keep < part.amount) returned.push({ credit: part.credit, amount: part.amount - keep });
      missing -= keep;
    }
    this.holds.set(order, [...kept, ...this.#take(missing, now, cause)]);
    // "A hold that is replaced repays only with the amount that the order no longer holds."
    this.giveBack('hold', returned, cause);
  }

  /** Releases the whole hold of an order. */
  release(order: string, at: number): void {
    const parts = this.holds.get(order) ?? [];
    this.holds.delete(order);
    this.giveBack('hold', parts, { at, order });
  }

  /** Redeems an amount and returns what was redeemed of which credit. */
  capture(order: string, amount: bigint, now: number): Part[] {
    this.hold(order, amount, now);
    const parts = this.holds.get(order) ?? [];
    this.holds.delete(order);
    for (const part of parts) {
      // "a redemption was captured (after the `release` of its hold)"
      this.#write('hold', part.amount, { at: now, order }, part.credit);
      this.#write('redeem', -part.amount, { at: now, order }, part.credit);
    }
    return parts;
  }

  /** Returns amounts to their credits: a released hold or a restored redemption. */
  giveBack(kind: 'hold' | 'restore', parts: Part[], cause: Cause): void {
    for (const { credit, amount } of parts) {
      this.#write(kind, amount, cause, credit);
      if (credit.expiresAt > cause.at) credit.remaining += amount;
      else if (!credit.reinstated) {
        // "An expired credit is reinstated once, for 7 days, by the first amount that returns to it"
        // "can be spent through the local date of the return + 7"
        credit.reinstated = true;
        countReached(`an expired credit is reinstated by a ${kind}`);
        credit.expiresAt = startOfDay(addDays(localDate(cause.at, this.timeZone), 8), this.timeZone);
        credit.remaining += amount;
      } else {
        // "An amount that returns later expires immediately … It repays no debt and creates none"
        credit.remaining += amount;
        countReached(`a ${kind} expires immediately`);
        this.#expire(credit, amount);
      }
    }
    this.#repay(cause);
  }

  /** "first from the order's own credit, then from the others, earliest expiry first; the rest becomes debt" */
  takeBack(amount: bigint, own: Credit | undefined, cause: Cause): void {
    const others = this.credits.filter((credit) => credit !== own && credit.expiresAt > cause.at).sort(earliestExpiry);
    let missing = amount;
    for (const credit of own ? [own, ...others] : others) missing -= this.#draw('clawback', credit, missing, cause);
    if (missing === 0n) return;
    this.debt += missing;
    countReached('a refund leaves a debt');
    this.#write('debt', missing, cause);
  }

  /** "A void takes back the unspent, unheld amount of the grant, pending or available." */
  void(credit: Credit, now: number): bigint {
    return this.#draw('void', credit, credit.remaining, { at: now });
  }

  #open(now: number): Credit[] {
    return this.credits.filter(
      ({ availableAt, expiresAt, remaining }) => availableAt <= now && now < expiresAt && remaining > 0n,
    );
  }

  #pending(now: number): Credit[] {
    return this.credits.filter(({ availableAt, remaining }) => availableAt > now && remaining > 0n);
  }

  /** "A hold takes from credits at once, earliest expiry first, and records from which." */
  #take(amount: bigint, now: number, cause: Cause): Part[] {
    const parts: Part[] = [];
    for (const credit of this.#open(now).sort(earliestExpiry)) {
      const taken = this.#draw('hold', credit, amount, cause);
      if (taken > 0n) parts.push({ credit, amount: taken });
      amount -= taken;
    }
    if (amount > 0n) throw new Error('the model holds more than is available');
    return parts;
  }

  /** "debt … is paid first"; "Of several credits, the earliest to expire repays first." */
  #repay(cause: Cause): void {
    for (const credit of this.credits.filter(({ expiresAt }) => expiresAt > cause.at).sort(earliestExpiry)) {
      const paid = this.#draw('clawback', credit, this.debt, cause);
      if (paid === 0n) continue;
      this.debt -= paid;
      countReached('a debt is repaid');
      this.#write('repay', -paid, cause);
    }
  }

  /** Takes up to an amount from a credit. @returns the taken amount */
  #draw(kind: Kind, credit: Credit, atMost: bigint, cause: Cause): bigint {
    const taken = min(credit.remaining, atMost);
    if (taken === 0n) return 0n;
    credit.remaining -= taken;
    this.#write(kind, -taken, cause, credit);
    return taken;
  }

  /** "the ledger has its `release` or `restore`, then an `expire` dated with the credit's expiry" */
  #expire(credit: Credit, amount: bigint): void {
    credit.expiredUnspent += amount;
    this.#draw('expire', credit, amount, { at: credit.expiresAt });
  }

  #write(kind: Kind, amount: bigint, { at, order, refund }: Cause, credit?: Credit): void {
    this.entries.push({ kind, amount, credit, at, order, refund });
  }
}

function next(credits: Credit[], dateOf: (credit: Credit) => number): { amount: bigint; at: number } | null {
  if (credits.length === 0) return null;
  const at = Math.min(...credits.map(dateOf));
  return { at, amount: sum(credits.filter((credit) => dateOf(credit) === at).map(({ remaining }) => remaining)) };
}
