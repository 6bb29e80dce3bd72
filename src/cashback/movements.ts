import type { Credit } from './credit.entity.js';
import type { EntryKind } from './entry.entity.js';

/** A change of one credit, as the ledger records it. */
export interface Movement {
  kind: EntryKind;
  /** Null for a change of the debt. */
  credit: Credit | null;
  /** Signed, in centavos. */
  amountCents: number;
  orderId: string | null;
  effectiveAt: Date;
}

/** An amount that returns to a credit at an instant. */
export interface Return {
  kind: 'release' | 'restore';
  amountCents: number;
  orderId: string;
  at: Date;
  /** Until when the amount is available if the credit has expired and was never reinstated. */
  reinstatedUntil: Date;
}

/** An amount that returned to a credit. */
export interface ReturnedPart {
  credit: Credit;
  amountCents: number;
}

/**
 * Repays debt from amounts that were added to credits, earliest expiry first.
 *
 * @param debtCents the debt, or less if only that much of the amounts may be used.
 */
export function repay(
  parts: readonly ReturnedPart[],
  debtCents: number,
  { orderId, at }: { orderId: string | null; at: Date },
): Movement[] {
  const movements: Movement[] = [];
  let leftCents = debtCents;
  for (const { credit, amountCents } of parts.toSorted((a, b) => byExpiry(a.credit, b.credit))) {
    const paidCents = Math.min(leftCents, amountCents, credit.remainingCents);
    if (paidCents <= 0) continue;
    leftCents -= paidCents;
    credit.remainingCents -= paidCents;
    const payment = { amountCents: -paidCents, orderId, effectiveAt: at };
    movements.push({ kind: 'clawback', credit, ...payment }, { kind: 'repay', credit: null, ...payment });
  }
  return movements;
}

/**
 * Returns an amount to a credit. A credit that has expired is available again until `reinstatedUntil`, without the
 * amount that remained when it expired. That happens once: what returns after it has expired again expires at once.
 */
export function giveBack(credit: Credit, returned: Return): Movement[] {
  const { kind, amountCents, orderId, at, reinstatedUntil } = returned;
  const movements = credit.expiresAt <= at ? writeOff(credit) : [];
  if (credit.expiresAt <= at && credit.originalExpiresAt === null) {
    credit.originalExpiresAt = credit.expiresAt;
    credit.expiresAt = reinstatedUntil;
  }
  credit.remainingCents += amountCents;
  movements.push({ kind, credit, amountCents, orderId, effectiveAt: at });
  if (credit.expiresAt <= at) movements.push(...writeOff(credit));
  return movements;
}

/** Writes off what remains of a credit that has expired. */
export function writeOff(credit: Credit): Movement[] {
  if (credit.remainingCents === 0) return [];
  const amountCents = -credit.remainingCents;
  credit.remainingCents = 0;
  return [{ kind: 'expire', credit, amountCents, orderId: null, effectiveAt: credit.expiresAt }];
}

/** Sorts by expiry, earliest first; credits with the same expiry by age, oldest first. */
export function byExpiry(a: Pick<Credit, 'id' | 'expiresAt'>, b: Pick<Credit, 'id' | 'expiresAt'>): number {
  return a.expiresAt.getTime() - b.expiresAt.getTime() || (a.id < b.id ? -1 : 1);
}

export function isAvailable(credit: Pick<Credit, 'availableAt' | 'expiresAt'>, now: Date): boolean {
  return credit.availableAt <= now && now < credit.expiresAt;
}
