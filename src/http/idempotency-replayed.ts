import type { Response } from 'express';

/** Marks a response as a replay of an earlier one. */
export function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}
