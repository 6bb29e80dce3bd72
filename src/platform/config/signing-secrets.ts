import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** A key for HMAC-SHA-256 must have at least this many bytes (RFC 7518, section 3.2). */
const MIN_BYTES = 32;

/** Only 1 in 20 million random hexadecimal secrets of that length has fewer different characters. */
const MIN_DIFFERENT_CHARACTERS = 8;

/** Placeholders such as the one in `.env.example` are accepted to try the service, but not in production. */
const PLACEHOLDER = /change[-_ ]?me|placeholder|example|secret-secret/i;

export function isSigningSecret(secret: string, isProduction: boolean): boolean {
  return (
    isLongEnough(secret) &&
    new Set(secret).size >= MIN_DIFFERENT_CHARACTERS &&
    !(isProduction && PLACEHOLDER.test(secret))
  );
}

/**
 * Reads JWT_SECRET_PREVIOUS: secrets separated by commas.
 *
 * @returns the secrets; undefined if one is too short. Their characters are not checked, so that a weak secret can be
 *   replaced.
 */
export function previousSecrets(list: string): string[] | undefined {
  const secrets = list.split(',').map((secret) => secret.trim());
  if (secrets.length === 1 && secrets[0] === '') return [];
  return secrets.every(isLongEnough) ? secrets : undefined;
}

export interface SigningSecrets {
  JWT_SECRET: string;
  JWT_SECRET_PREVIOUS: string;
}

/** All secrets that the service accepts, the current one first. */
export function signingSecrets(config: SigningSecrets): [string, ...string[]] {
  return [config.JWT_SECRET, ...(previousSecrets(config.JWT_SECRET_PREVIOUS) ?? [])];
}

/** The keys of JWTs: the first one signs, each of them verifies. */
export function signingKeys(config: SigningSecrets): [KeyObject, ...KeyObject[]] {
  return keysOf(config, (secret) => Buffer.from(secret));
}

/**
 * Derives keys for HMAC-SHA-256 from the signing secrets by HKDF (RFC 5869).
 *
 * @param purpose keys for different purposes are independent of each other.
 * @returns the key of the current secret first.
 */
export function derivedKeys(config: SigningSecrets, purpose: string): [KeyObject, ...KeyObject[]] {
  return keysOf(config, (secret) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)));
}

/** Libraries convert any other type of key again on each use, which takes longer than the HMAC. */
function keysOf(config: SigningSecrets, bytesOf: (secret: string) => Buffer): [KeyObject, ...KeyObject[]] {
  const [current, ...previous] = signingSecrets(config);
  const keyOf = (secret: string): KeyObject => createSecretKey(bytesOf(secret));
  return [keyOf(current), ...previous.map(keyOf)];
}

function isLongEnough(secret: string): boolean {
  return Buffer.byteLength(secret) >= MIN_BYTES;
}
