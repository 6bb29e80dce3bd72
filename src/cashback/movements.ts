import type { Credit } from './credit.entity.js';
import type { EntryKind } from './entry.entity.js';
import type { Hold } from './hold.entity.js';

/** The part of a credit that dates change. */
export type DatedCredit = Pick<Credit, 'id' | 'remainingCents' | 'availableAt' | 'expiresAt' | 'originalExpiresAt'>;

/** The part of a hold that lapses. `expiresAt` is when it does. */
export type DatedHold = Pick<Hold, 'orderId' | 'creditId' | 'amountCents' | 'expiresAt' | 'reinstatedUntil'>;

/** A change of one credit, as the ledger records it. */
export interface Movement<C extends DatedCredit = DatedCredit> {
  kind: EntryKind;
  /** Null for a change of the debt. */
  credit: C | null;
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
export interface ReturnedPart<C extends DatedCredit = DatedCredit> {
  credit: C;
  amountCents: number;
}

/**
 * Brings credits up to date: releases lapsed holds, which repay debt first, then writes off expired amounts. Only dates
 * decide, so the result does not depend on when or how often this runs.
 *
 * @param credits changed in place; they must include those of every lapsed hold.
 * @param debtCents the debt of the wallet.
 * @returns the movements, in the order in which they took effect on each credit.
 */
export function applyExpiries<C extends DatedCredit>(
  credits: Iterable<C>,
  holds: readonly DatedHold[],
  now: Date,
  debtCents = 0,
): Movement<C>[] {
  const movements: Movement<C>[] = [];
  const byId = new Map(Array.from(credits, (credit) => [credit.id, credit]));
  const lapsed = holds
    .filter((hold) => hold.expiresAt <= now)
    .sort((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime() || (a.orderId < b.orderId ? -1 : 1));
  let leftCents = debtCents;
  for (const holdsOfOrder of byOrder(lapsed)) {
    const parts = holdsOfOrder.map((hold) => {
      const credit = byId.get(hold.creditId);
      if (credit === undefined) throw new Error(`credit ${hold.creditId} of a hold was not loaded`);
      movements.push(...giveBack(credit, lapseOf(hold)));
      return { credit, amountCents: hold.amountCents };
    });
    const payments = repay(parts, leftCents, { orderId: holdsOfOrder[0]?.orderId ?? null, at: now });
    for (const { kind, amountCents } of payments) if (kind === 'repay') leftCents += amountCents;
    movements.push(...payments);
  }
  for (const credit of byId.values()) if (credit.expiresAt <= now) movements.push(...expireRest(credit));
  return movements;
}

/** Groups sorted holds by instant and order. The holds of an order lapse together. */
function byOrder(holds: readonly DatedHold[]): DatedHold[][] {
  const groups = new Map<string, DatedHold[]>();
  for (const hold of holds) {
    const key = `${hold.expiresAt.getTime()} ${hold.orderId}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [hold]);
    else group.push(hold);
  }
  return [...groups.values()];
}

/**
 * Repays debt from amounts that were added to credits, earliest expiry first.
 *
 * @param debtCents the debt, or less if only that much of the amounts may be used.
 */
export function repay<C extends DatedCredit>(
  parts: readonly ReturnedPart<C>[],
  debtCents: number,
  { orderId, at }: { orderId: string | null; at: Date },
): Movement<C>[] {
  const movements: Movement<C>[] = [];
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
export function giveBack<C extends DatedCredit>(credit: C, returned: Return): Movement<C>[] {
  const { kind, amountCents, orderId, at, reinstatedUntil } = returned;
  const movements = credit.expiresAt <= at ? expireRest(credit) : [];
  if (credit.expiresAt <= at && credit.originalExpiresAt === null) {
    credit.originalExpiresAt = credit.expiresAt;
    credit.expiresAt = reinstatedUntil;
  }
  credit.remainingCents += amountCents;
  movements.push({ kind, credit, amountCents, orderId, effectiveAt: at });
  if (credit.expiresAt <= at) movements.push(...expireRest(credit));
  return movements;
}

function lapseOf({ amountCents, orderId, expiresAt: at, reinstatedUntil }: DatedHold): Return {
  return { kind: 'release', amountCents, orderId, at, reinstatedUntil };
}

function expireRest<C extends DatedCredit>(credit: C): Movement<C>[] {
  if (credit.remainingCents === 0) return [];
  const amountCents = -credit.remainingCents;
  credit.remainingCents = 0;
  return [{ kind: 'expire', credit, amountCents, orderId: null, effectiveAt: credit.expiresAt }];
}

/** Sorts by expiry, earliest first; credits with the same expiry by age, oldest first. */
export function byExpiry(a: Pick<Credit, 'id' | 'expiresAt'>, b: Pick<Credit, 'id' | 'expiresAt'>): number {
  return a.expiresAt.getTime() - b.expiresAt.getTime() || (a.id < b.id ? -1 : 1);
}

/** Returns whether a credit can be spent at an instant. */
export function isAvailable(credit: DatedCredit, now: Date): boolean {
  return credit.availableAt <= now && now < credit.expiresAt;
}
