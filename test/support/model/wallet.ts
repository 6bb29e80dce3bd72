import { startOfDayAfter } from '../days.js';
import { REINSTATED_DAYS, least, total } from './rules.js';

/**
 * A credit in the model. `born` is its number in the wallet: of two with the same expiry, the older one is used first.
 */
export interface ModelCredit {
  born: number;
  /** The order that earned it. */
  earnedBy: string | null;
  remaining: bigint;
  /** What expired unspent. */
  expired: bigint;
  availableAt: number;
  expiresAt: number;
  /** Whether an amount returned to it after it had expired. */
  isReinstated: boolean;
}

interface ModelHold {
  order: string;
  credit: ModelCredit;
  cents: bigint;
  /** The time zone of the order. */
  zone: string;
}

/** A wallet in which each credit expires at its date. Holds end with their orders. */
export class ModelWallet {
  credits: ModelCredit[] = [];
  holds: ModelHold[] = [];
  debt = 0n;

  /** Moves time forward to `now`. */
  elapse(now: number): void {
    for (const credit of this.credits) if (credit.expiresAt <= now) expire(credit);
  }

  /** The dates after `now` that have an effect. */
  dates(now: number): number[] {
    const live = this.credits.filter(({ remaining }) => remaining > 0n);
    const all = live.flatMap((credit) => [credit.availableAt, credit.expiresAt]);
    return all.filter((date) => date > now).sort((a, b) => a - b);
  }

  available(now: number): bigint {
    return total(this.#spendable(now).map(({ remaining }) => remaining));
  }

  pending(now: number): bigint {
    return total(this.#pending(now).map(({ remaining }) => remaining));
  }

  held(order?: string): bigint {
    return total(this.holds.filter((hold) => order === undefined || hold.order === order).map(({ cents }) => cents));
  }

  nextRelease(now: number): { cents: bigint; at: number } | null {
    return first(this.#pending(now), ({ availableAt }) => availableAt);
  }

  nextExpiry(now: number): { cents: bigint; at: number } | null {
    return first(this.#spendable(now), ({ expiresAt }) => expiresAt);
  }

  /** Adds new cashback, which first repays the debt. */
  addCredit(earnedBy: string | null, cents: bigint, availableAt: number, expiresAt: number): ModelCredit {
    const born = this.credits.length;
    const credit = { born, earnedBy, remaining: cents, expired: 0n, availableAt, expiresAt, isReinstated: false };
    this.credits.push(credit);
    this.#repay([{ credit, cents }], cents);
    return credit;
  }

  hold(order: string, cents: bigint, now: number, zone: string): void {
    for (const { credit, taken } of take(this.#spendable(now), cents))
      this.holds.push({ order, credit, cents: taken, zone });
  }

  releaseHold(order: string, at: number): void {
    const ended = this.#end(order);
    for (const { credit, cents, zone } of ended) restore(credit, cents, at, zone);
    this.#repay(ended, total(ended.map(({ cents }) => cents)));
  }

  /**
   * Sets the hold of an order to another amount. What it holds of expired credits is the last that it releases. Only
   * what the order no longer holds repays debt.
   */
  replaceHold(order: string, cents: bigint, now: number, zone: string): void {
    const ended = this.#end(order).sort((a, b) => byExpiry(a.credit, b.credit));
    let left = cents;
    for (const part of ended.filter(({ credit }) => credit.expiresAt <= now)) {
      const stays = least(left, part.cents);
      if (stays > 0n) this.holds.push({ ...part, cents: stays, zone });
      part.cents -= stays;
      left -= stays;
    }
    for (const part of ended) if (part.cents > 0n) restore(part.credit, part.cents, now, zone);
    this.hold(order, left, now, zone);
    this.#repay(ended, total(ended.map((part) => part.cents)) - left);
  }

  /** What an order earned and what then expired unspent. */
  expiredOf(order: string): bigint {
    return total(this.credits.filter(({ earnedBy }) => earnedBy === order).map(({ expired }) => expired));
  }

  /** @returns the amount spent from each credit. */
  capture(order: string): { credit: ModelCredit; cents: bigint }[] {
    return this.#end(order).map(({ credit, cents }) => ({ credit, cents }));
  }

  /** Takes from the credit of the order first, then from the earliest to expire. The rest becomes debt. */
  clawBack(order: string, cents: bigint): void {
    const own = take(
      this.credits.filter(({ earnedBy }) => earnedBy === order),
      cents,
    );
    const rest = cents - total(own.map(({ taken }) => taken));
    const others = take(
      this.credits.filter(({ earnedBy }) => earnedBy !== order),
      rest,
    );
    this.debt += rest - total(others.map(({ taken }) => taken));
  }

  /** Restores to the original credits, the latest to expire first. */
  restore(cents: bigint, spent: { credit: ModelCredit; cents: bigint }[], now: number, zone: string): void {
    let left = cents;
    const parts: { credit: ModelCredit; cents: bigint }[] = [];
    for (const part of spent.toSorted((a, b) => byExpiry(b.credit, a.credit))) {
      const back = least(left, part.cents);
      if (back === 0n) continue;
      part.cents -= back;
      left -= back;
      restore(part.credit, back, now, zone);
      parts.push({ credit: part.credit, cents: back });
    }
    this.#repay(parts, cents);
    if (left > 0n) throw new Error('the model returned more than was redeemed');
  }

  /** Repays debt from amounts that were added to credits, at most `most`, the earliest to expire first. */
  #repay(parts: { credit: ModelCredit; cents: bigint }[], most: bigint): void {
    let left = least(this.debt, most);
    for (const { credit, cents } of parts.toSorted((a, b) => byExpiry(a.credit, b.credit))) {
      const paid = least(least(left, cents), credit.remaining);
      if (paid <= 0n) continue;
      credit.remaining -= paid;
      left -= paid;
      this.debt -= paid;
    }
  }

  #spendable(now: number): ModelCredit[] {
    return this.credits.filter(({ availableAt, expiresAt }) => availableAt <= now && now < expiresAt);
  }

  #pending(now: number): ModelCredit[] {
    return this.credits.filter(({ availableAt }) => availableAt > now);
  }

  #end(order: string): ModelHold[] {
    const ended = this.holds.filter((hold) => hold.order === order);
    this.holds = this.holds.filter((hold) => hold.order !== order);
    return ended;
  }
}

/**
 * Restores an amount to a credit. If it has expired, the amount is available through the local date + 7, but only once.
 */
function restore(credit: ModelCredit, cents: bigint, at: number, zone: string): void {
  const isExpired = credit.expiresAt <= at;
  if (isExpired) expire(credit);
  credit.remaining += cents;
  if (isExpired && credit.isReinstated) expire(credit);
  else if (isExpired) {
    credit.isReinstated = true;
    credit.expiresAt = startOfDayAfter(at, REINSTATED_DAYS + 1, zone);
  }
}

function expire(credit: ModelCredit): void {
  credit.expired += credit.remaining;
  credit.remaining = 0n;
}

function byExpiry(a: ModelCredit, b: ModelCredit): number {
  return a.expiresAt - b.expiresAt || a.born - b.born;
}

function take(credits: ModelCredit[], cents: bigint): { credit: ModelCredit; taken: bigint }[] {
  let left = cents;
  return credits.toSorted(byExpiry).flatMap((credit) => {
    const taken = least(left, credit.remaining);
    left -= taken;
    credit.remaining -= taken;
    return taken > 0n ? [{ credit, taken }] : [];
  });
}

function first(credits: ModelCredit[], dateOf: (credit: ModelCredit) => number): { cents: bigint; at: number } | null {
  const left = credits.filter(({ remaining }) => remaining > 0n);
  if (left.length === 0) return null;
  const at = Math.min(...left.map(dateOf));
  return { cents: total(left.filter((credit) => dateOf(credit) === at).map(({ remaining }) => remaining)), at };
}
