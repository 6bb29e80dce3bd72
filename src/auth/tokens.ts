import { createHmac, hash, hkdfSync, randomBytes } from 'node:crypto';

/** What travels: an opaque reference, `<prefix><uuid>`, with a prefix that secret scanners can tell. */
export const ACCESS_PREFIX = 'cbat_';
export const REFRESH_PREFIX = 'cbrt_';

export interface TokenPair {
  accessToken: string;
  refreshToken: string;
}

/** A new pair out of 244 random bits. */
export function randomPair(): TokenPair {
  return pairOf(() => randomBytes(16));
}

/** Returns the key with which successors are derived: it comes from a signing secret by HKDF (RFC 5869). */
export function successorKey(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'cashback token successor', 32));
}

/**
 * The pair that follows a refresh token: always the same one, so that a retry can be answered to the
 * letter although no token is kept in the clear.
 */
export function successorOf(refreshToken: string, key: Buffer): TokenPair {
  return pairOf((kind) => createHmac('sha256', key).update(`${kind}:${refreshToken}`).digest());
}

/** What is kept of a token. It is random, so one fast hash is enough. */
export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function pairOf(bytesOf: (kind: 'access' | 'refresh') => Buffer): TokenPair {
  return {
    accessToken: ACCESS_PREFIX + uuidOf(bytesOf('access')),
    refreshToken: REFRESH_PREFIX + uuidOf(bytesOf('refresh')),
  };
}

/** Sixteen bytes in the form of a version 4 UUID (RFC 9562, section 5.4). */
function uuidOf(bytes: Buffer): string {
  const uuid = Buffer.from(bytes.subarray(0, 16));
  uuid[6] = ((uuid[6] ?? 0) & 0x0f) | 0x40;
  uuid[8] = ((uuid[8] ?? 0) & 0x3f) | 0x80;
  return uuid.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
