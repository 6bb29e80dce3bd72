import type { Credit } from './credit.entity.js';

/** Amounts of credits, in centavos. */
export type Parts = Map<Credit, number>;

/** What remains of a credit and is not held. */
export const freeCents = ({ remainingCents, heldCents }: Pick<Credit, 'remainingCents' | 'heldCents'>): number =>
  remainingCents - heldCents;

/** Sorts by expiry, earliest first; credits with the same expiry by their number. */
export function byExpiry(a: Pick<Credit, 'seq' | 'expiresAt'>, b: Pick<Credit, 'seq' | 'expiresAt'>): number {
  return +a.expiresAt - +b.expiresAt || a.seq - b.seq;
}

export const freeOf = (credits: readonly Credit[]): Parts =>
  new Map(credits.map((credit) => [credit, freeCents(credit)]));

export function isAvailable({ availableAt, expiresAt }: Credit, now: Date): boolean {
  return availableAt <= now && now < expiresAt;
}

/** Takes up to an amount from parts, those of credits that expire first. */
export function takeEarliest(parts: Parts, amountCents: number): Parts {
  const taken: Parts = new Map();
  let leftCents = amountCents;
  for (const [credit, cents] of [...parts].sort(([a], [b]) => byExpiry(a, b))) {
    const partCents = Math.min(leftCents, cents);
    if (partCents <= 0) continue;
    leftCents -= partCents;
    taken.set(credit, partCents);
  }
  return taken;
}
