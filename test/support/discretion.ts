import { PASSWORD } from './factories.js';

/** What no log may hold, wherever it came from; a document is eleven digits that are part of nothing longer. */
const SECRETS: Record<string, RegExp> = {
  'an access or refresh token': /cb[ar]t_[0-9a-f]{8}/i,
  'a JWT': /eyJ[\w-]{10,}/,
  'the hash of a password': /\$2[aby]\$\d\d\$/,
  'an Authorization header': /\bBearer \S/i,
  'a password': new RegExp(PASSWORD),
  'a full document': /(?<![\w.-])\d{11}(?![\w-])/,
};

/**
 * Reads all that a service has logged during a test file. Every service of the suite goes through it at its end, so
 * whatever a test makes the service do is also a test of its discretion.
 */
export function refuseSecrets(logged: string): void {
  for (const [what, pattern] of Object.entries(SECRETS)) {
    const found = logged.split('\n').find((line) => pattern.test(line));
    if (found !== undefined) throw new Error(`the log holds ${what}:\n${found}`);
  }
}
