import { after, DAY_MS } from '../common/clock.js';
import type { Credit } from './credit.entity.js';
import type { EntryKind } from './entry.entity.js';
import type { Hold } from './hold.entity.js';

/** How long cashback comes back that expired while it was held. */
export const COMEBACK_MS = 7 * DAY_MS;

/** The part of a credit that dates change. */
export type DatedCredit = Pick<Credit, 'id' | 'remainingCents' | 'availableAt' | 'expiresAt'>;

/** The part of a hold that dates end; `expiresAt` is when it lapses. */
export type DatedHold = Pick<Hold, 'orderId' | 'creditId' | 'amountCents' | 'expiresAt'>;

/** A change of one credit, as the ledger records it. */
export interface Movement<C extends DatedCredit = DatedCredit> {
  kind: EntryKind;
  credit: C;
  /** Signed, in centavos. */
  amountCents: number;
  orderId: string | null;
  effectiveAt: Date;
}

/**
 * Brings credits up to date: releases the holds that have lapsed, then writes off what has expired. Only dates decide,
 * so it makes no difference when, or how often, this is done.
 *
 * @param credits changed in place; those of every lapsed hold must be among them.
 * @returns the movements, in the order in which they took effect on each credit.
 */
export function applyExpiries<C extends DatedCredit>(
  credits: Iterable<C>,
  holds: readonly DatedHold[],
  now: Date,
): Movement<C>[] {
  const movements: Movement<C>[] = [];
  const byId = new Map(Array.from(credits, (credit) => [credit.id, credit]));
  const lapsed = holds
    .filter((hold) => hold.expiresAt <= now)
    .sort((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime() || (a.orderId < b.orderId ? -1 : 1));
  for (const hold of lapsed) {
    const credit = byId.get(hold.creditId);
    if (credit === undefined) throw new Error(`credit ${hold.creditId} of a hold was not loaded`);
    movements.push(...release(credit, hold, hold.expiresAt));
  }
  for (const credit of byId.values()) if (credit.expiresAt <= now) movements.push(...expireRest(credit));
  return movements;
}

/** Returns a hold to its credit at an instant; a credit that expired while it was held comes back for a week. */
export function release<C extends DatedCredit>(credit: C, hold: DatedHold, at: Date): Movement<C>[] {
  const { amountCents, orderId } = hold;
  const movements = revive(credit, at);
  credit.remainingCents += amountCents;
  movements.push({ kind: 'release', credit, amountCents, orderId, effectiveAt: at });
  return movements;
}

/** Makes a credit that has expired spendable for a week, without what it had left when it expired. */
export function revive<C extends DatedCredit>(credit: C, at: Date): Movement<C>[] {
  if (credit.expiresAt > at) return [];
  const movements = expireRest(credit);
  credit.expiresAt = after(at, COMEBACK_MS);
  return movements;
}

function expireRest<C extends DatedCredit>(credit: C): Movement<C>[] {
  if (credit.remainingCents === 0) return [];
  const amountCents = -credit.remainingCents;
  credit.remainingCents = 0;
  return [{ kind: 'expire', credit, amountCents, orderId: null, effectiveAt: credit.expiresAt }];
}

/** Returns whether a credit can be spent at an instant. */
export function isAvailable(credit: DatedCredit, now: Date): boolean {
  return credit.availableAt <= now && now < credit.expiresAt;
}
