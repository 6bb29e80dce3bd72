import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Buffered random bytes, because a call for 16 bytes costs five times as much as the rest of an ID. */
const randomBytes = Buffer.alloc(4096);
let used = randomBytes.length;

/** Returns a new ID: a UUID v7 (RFC 9562, section 5.7), so that rows are stored in the order of their creation. */
export function newId(at: Date): string {
  return v7({ msecs: at.getTime(), rng: takeRandom });
}

function takeRandom(): Uint8Array {
  if (used === randomBytes.length) {
    randomFillSync(randomBytes);
    used = 0;
  }
  used += 16;
  return randomBytes.subarray(used - 16, used);
}
