import type { Response } from 'express';

/** Says in the answer that it repeats an earlier one: nothing was done this time. */
export function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}

/** The same for the documentation. */
export const REPLAY_HEADER = {
  'Idempotency-Replayed': {
    description: '`true` where this repeats an earlier answer',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};
