import type { Credit } from './credit.entity.js';

/** Takes up to an amount from credits, earliest expiry first. Returns the credits and the amount taken from each. */
export function takeEarliest(credits: readonly Credit[], amountCents: number): [Credit, number][] {
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

/** Sorts by expiry, earliest first; credits with the same expiry by age, oldest first. */
export function byExpiry(a: Pick<Credit, 'id' | 'expiresAt'>, b: Pick<Credit, 'id' | 'expiresAt'>): number {
  return a.expiresAt.getTime() - b.expiresAt.getTime() || (a.id < b.id ? -1 : 1);
}
