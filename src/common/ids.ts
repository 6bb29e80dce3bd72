import { v7 } from 'uuid';

/** A UUID v7 (RFC 9562, section 5.7), so that rows are stored in the order of their creation. */
export function newId(at: Date): string {
  return v7({ msecs: at.getTime() });
}
