import { PASSWORD } from './factories.js';

/** Patterns that no log may contain. A document is a CPF or a CNPJ that is not part of a longer word or number. */
const SECRETS: Record<string, RegExp> = {
  'an access or refresh token': /cb[ar]t_[0-9a-f]{8}/i,
  'a JWT': /eyJ[\w-]{10,}/,
  'the hash of a password': /\$2[aby]\$\d\d\$/,
  'an Authorization header': /\bBearer \S/i,
  'a password': new RegExp(PASSWORD),
  'a full document': /(?<![\w.-])(?:\d{11}|[0-9A-Z]{12}\d{2})(?![\w-])/,
};

/**
 * Checks everything that a service logged during a test file. Every test service calls it when it stops, so that each
 * test also verifies that nothing secret is logged.
 */
export function assertNoSecrets(logged: string): void {
  for (const [what, pattern] of Object.entries(SECRETS)) {
    const found = logged.split('\n').find((line) => pattern.test(line));
    if (found !== undefined) throw new Error(`the log contains ${what}:\n${found}`);
  }
}
