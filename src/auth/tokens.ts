import { createHmac, hash, type KeyObject, randomBytes } from 'node:crypto';
import { v4 } from 'uuid';
import { derivedKeys, type SigningSecrets } from '../platform/config/signing-secrets.js';

/** A token is opaque: `<prefix><uuid>`. Secret scanners recognize the prefix. */
export const ACCESS_PREFIX = 'cbat_';
export const REFRESH_PREFIX = 'cbrt_';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const TAG_DIGITS = 8;

export interface TokenPair {
  accessToken: string;
  refreshToken: string;
}

export function randomPair(key: KeyObject): TokenPair {
  return pairOf(() => randomBytes(16), key);
}

/** The keys that tag access tokens and derive successors. The key of the current secret comes first. */
export function tokenKeys(config: SigningSecrets): [KeyObject, ...KeyObject[]] {
  return derivedKeys(config, 'cashback token successor');
}

/**
 * Returns the pair that follows a refresh token. It is always the same pair, so that a retry gets the identical
 * response although no token is stored in plain text.
 */
export function successorOf(refreshToken: string, key: KeyObject): TokenPair {
  return pairOf((kind) => createHmac('sha256', key).update(`${kind}:${refreshToken}`).digest(), key);
}

/**
 * Returns whether an access token has the form and the tag of one that this service issued. It may still be expired or
 * revoked. One in four billion made-up tokens passes; all others are refused without a database query.
 *
 * @param keys the keys of all secrets that the service accepts.
 */
export function looksIssued(accessToken: string, keys: KeyObject[]): boolean {
  if (!accessToken.startsWith(ACCESS_PREFIX) || !UUID.test(accessToken.slice(ACCESS_PREFIX.length))) return false;
  const untagged = accessToken.slice(0, -TAG_DIGITS);
  return keys.some((key) => untagged + tagOf(untagged, key) === accessToken);
}

export function looksLikeRefreshToken(token: string): boolean {
  return token.startsWith(REFRESH_PREFIX) && UUID.test(token.slice(REFRESH_PREFIX.length));
}

/** A token is random, so one fast hash is enough. */
export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function pairOf(bytesOf: (kind: 'access' | 'refresh') => Buffer, key: KeyObject): TokenPair {
  const untagged = (ACCESS_PREFIX + uuidOf(bytesOf('access'))).slice(0, -TAG_DIGITS);
  return { accessToken: untagged + tagOf(untagged, key), refreshToken: REFRESH_PREFIX + uuidOf(bytesOf('refresh')) };
}

/** Without the key, a tag is as random as the digits it replaces, so it does not make tokens easier to guess. */
function tagOf(untagged: string, key: KeyObject): string {
  return createHmac('sha256', key).update(`tag:${untagged}`).digest('hex').slice(0, TAG_DIGITS);
}

const uuidOf = (bytes: Buffer): string => v4({ random: bytes });
