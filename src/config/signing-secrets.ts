/** A secret has at least this many bytes: the length of the HMAC-SHA-256 key that it becomes (RFC 7518, section 3.2). */
const MIN_BYTES = 32;

/** Random hexadecimal digits of that length have fewer different characters once in 20 million times. */
const MIN_DIFFERENT_CHARACTERS = 8;

/** What `.env.example` carries as JWT_SECRET: good enough to try the service, refused in production. */
const PLACEHOLDER = /change[-_ ]?me|placeholder|example|secret-secret/i;

/** Says whether JWT_SECRET is fit to sign with. */
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
 * @returns the secrets; undefined where one is too short. Little variety is accepted here, so that a weak secret can be replaced.
 */
export function previousSecrets(list: string): string[] | undefined {
  const secrets = list.split(',').map((secret) => secret.trim());
  if (secrets.length === 1 && secrets[0] === '') return [];
  return secrets.every(isLongEnough) ? secrets : undefined;
}

/** All secrets that the service accepts. The first one signs; each of them verifies. */
export function signingSecrets(config: { JWT_SECRET: string; JWT_SECRET_PREVIOUS: string }): [string, ...string[]] {
  return [config.JWT_SECRET, ...(previousSecrets(config.JWT_SECRET_PREVIOUS) ?? [])];
}

function isLongEnough(secret: string): boolean {
  return Buffer.byteLength(secret) >= MIN_BYTES;
}
