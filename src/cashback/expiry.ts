import { after, DAY_MS } from '../common/clock.js';
import type { EntryKind } from './entry.entity.js';

/** How long cashback comes back for that expired while it could not be spent. */
export const COMEBACK_MS = 7 * DAY_MS;

/** What settling reads and writes of a credit. */
export interface Lot {
  id: string;
  remainingCents: number;
  availableAt: Date;
  expiresAt: Date;
}

/** What settling reads of a hold; `expiresAt` is when it lapses. */
export interface HeldLot {
  orderId: string;
  creditId: string;
  amountCents: number;
  expiresAt: Date;
}

export interface Movement<L extends Lot = Lot> {
  kind: EntryKind;
  credit: L;
  /** Signed, in centavos. */
  amountCents: number;
  orderId: string | null;
  effectiveAt: Date;
}

/**
 * Brings credits up to date: gives back the holds that have lapsed, then writes off what has expired.
 * Both are decided by dates alone, so it makes no difference when, or how often, somebody settles:
 * readers do it in memory, whoever holds the wallet's lock writes it down.
 *
 * @param lots changed in place; those of every lapsed hold must be among them.
 * @returns the movements, in the order in which they took effect on each credit.
 */
export function applyExpiries<L extends Lot>(lots: readonly L[], holds: readonly HeldLot[], now: Date): Movement<L>[] {
  const movements: Movement<L>[] = [];
  const byId = new Map(lots.map((lot) => [lot.id, lot]));
  const lapsed = holds
    .filter((hold) => hold.expiresAt <= now)
    .sort((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime() || (a.orderId < b.orderId ? -1 : 1));
  for (const hold of lapsed) {
    const lot = byId.get(hold.creditId);
    if (lot === undefined) throw new Error(`credit ${hold.creditId} of a hold was not loaded`);
    movements.push(...giveBack(lot, hold, hold.expiresAt));
  }
  for (const lot of lots) if (lot.expiresAt <= now) movements.push(...expireRest(lot));
  return movements;
}

/** Returns a hold to its credit at an instant; a credit that expired under it comes back for a week. */
export function giveBack<L extends Lot>(lot: L, hold: HeldLot, at: Date): Movement<L>[] {
  const movements = revive(lot, at);
  lot.remainingCents += hold.amountCents;
  movements.push({
    kind: 'release',
    credit: lot,
    amountCents: hold.amountCents,
    orderId: hold.orderId,
    effectiveAt: at,
  });
  return movements;
}

/** Makes a credit that has expired spendable for a week, without what it had left when it expired. */
export function revive<L extends Lot>(lot: L, at: Date): Movement<L>[] {
  if (lot.expiresAt > at) return [];
  const movements = expireRest(lot);
  lot.expiresAt = after(at, COMEBACK_MS);
  return movements;
}

function expireRest<L extends Lot>(lot: L): Movement<L>[] {
  if (lot.remainingCents === 0) return [];
  const amountCents = -lot.remainingCents;
  lot.remainingCents = 0;
  return [{ kind: 'expire', credit: lot, amountCents, orderId: null, effectiveAt: lot.expiresAt }];
}

export function isAvailable(lot: Lot, now: Date): boolean {
  return lot.availableAt <= now && now < lot.expiresAt;
}
