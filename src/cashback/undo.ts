import type { Obstacle } from '../platform/values/problem.js';
import type { Credit } from './credit.entity.js';
import type { EntryKind } from './entry.entity.js';
import { byExpiry, freeCents } from './parts.js';

type MovedCredit = Pick<Credit, 'id' | 'remainingCents' | 'heldCents' | 'expiresAt' | 'movedOrderId'>;

/** What a refund has moved: of a credit or, without one, of the debt. The amount is signed as in the ledger. */
export interface Moved<Of extends MovedCredit = Credit> {
  kind: EntryKind;
  credit: Of | null;
  amountCents: number;
}

/**
 * Returns what keeps a refund, the latest change of its order, from being undone. What it returned must be there, apart
 * from what it took from the same credit; what it took must still belong to the customer; and so must its debt.
 */
export function obstacleTo(
  moved: readonly Moved<MovedCredit>[],
  debtCents: number,
  now: Date,
): Exclude<Obstacle, 'later_change'> | undefined {
  if (moved.some(({ kind }) => kind === 'repay')) return 'repaid_debt';
  const ownCents = moved.reduce((cents, { credit, amountCents }) => cents + (credit === null ? amountCents : 0), 0);
  if (ownCents > debtCents) return 'debt';
  const left = new Map<string, { credit: MovedCredit; cents: number }>();
  for (const { credit, amountCents } of moved)
    if (credit !== null) left.set(credit.id, { credit, cents: (left.get(credit.id)?.cents ?? 0) + amountCents });
  for (const { credit, cents } of left.values()) {
    if (cents > (credit.expiresAt > now ? freeCents(credit) : 0)) return 'returned_cashback';
  }
  const isLost = ({ expiresAt, movedOrderId }: MovedCredit): boolean => expiresAt <= now || movedOrderId !== null;
  return moved.some(({ kind, credit }) => kind === 'take_back' && isLost(credit!)) ? 'taken_cashback' : undefined;
}

/** What is restored comes first, so that no credit has less than nothing in between. */
const STEPS_OF_UNDO: readonly EntryKind[] = ['take_back', 'return', 'debt'];

/** Sorts what is to be undone: by step, and in each by expiry. */
export const inStepsOfUndo = (a: Moved, b: Moved): number =>
  STEPS_OF_UNDO.indexOf(a.kind) - STEPS_OF_UNDO.indexOf(b.kind) ||
  (a.credit !== null && b.credit !== null ? byExpiry(a.credit, b.credit) : 0);
