import type { Response } from 'express';

/**
 * Sets the headers of a 201, unless the deadline has already answered.
 *
 * @param path of the created resource.
 * @param replayed whether an earlier request created it.
 */
export function markCreated(response: Response, path: string, replayed: boolean): void {
  if (response.headersSent) return;
  response.setHeader('Location', path);
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}
