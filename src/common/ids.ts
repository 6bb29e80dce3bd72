import { v7 } from 'uuid';
import { notFound } from './problem.js';

/** A UUID v7 (RFC 9562, section 5.7), so that rows are stored in the order of their creation. */
export function newId(at: Date): string {
  return v7({ msecs: at.getTime() });
}

/** Returns a text that sorts before the IDs of an instant, and after those of earlier ones. */
export function beforeIdsOf(at: Date): string {
  return Math.max(0, at.getTime()).toString(16).padStart(12, '0').replace(/^.{8}/, '$&-');
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Returns an ID that a caller gave, as it is stored. What is not a UUID can't exist, so it needs no lookup.
 *
 * @throws Problem not_found with the detail.
 */
export function readId(text: string, detail: string): string {
  const id = text.toLowerCase();
  if (!UUID.test(id)) throw notFound(detail);
  return id;
}
