import type { Response } from 'express';

/** Marks a response as a replay of an earlier one. */
export function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}

/** The header, for the OpenAPI document. */
export const REPLAY_HEADER = {
  'Idempotency-Replayed': {
    description: '`true` if this response is a replay of an earlier one',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};
