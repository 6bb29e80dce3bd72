import { DAY_MS } from '../platform/values/time.js';
import { validationFailed } from '../platform/values/problem.js';

export const MAX_ROWS = 10_000;

/** @param to the day after the last one. */
export function refusePeriod({ from, to }: { from: string; to: string }, maxDays: number): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  if (days >= 1 && days <= maxDays) return;
  const detail = days < 1 ? 'must be after from' : `must be at most ${maxDays} days after from`;
  throw validationFailed([{ parameter: 'to', detail }]);
}

/** @param parameter the one that makes too many rows. */
export function refuseMany(rows: readonly unknown[], parameter: string): void {
  if (rows.length <= MAX_ROWS) return;
  throw validationFailed([{ parameter, detail: `makes a report of more than ${MAX_ROWS} rows` }]);
}
