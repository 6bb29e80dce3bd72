import type { By } from '../values/caller.js';
import { ByColumn, InstantColumn, TextColumn } from './columns.js';

/** What a row keeps of its first void. */
export abstract class Voidable {
  /** When that was; null if it was not voided. */
  @InstantColumn('voided_at', { nullable: true })
  voidedAt!: Date | null;

  /** Who did it. */
  @ByColumn('voided_by', { nullable: true })
  voidedBy!: By;

  /** Why; null also after an erasure. */
  @TextColumn('void_reason', 500)
  voidReason!: string | null;
}

export const NOT_VOIDED: Voidable = { voidedAt: null, voidedBy: null, voidReason: null };

/** Notes a void, if there was none before. */
export function noteVoid(row: Voidable, voidedAt: Date, voidedBy: By, voidReason: string | null): void {
  if (row.voidedAt === null) Object.assign(row, { voidedAt, voidedBy, voidReason } satisfies Voidable);
}
