// @ts-check
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The signing secret of this checkout: made at random once, and kept so that tokens outlive a restart.
 * Only its owner can read it.
 *
 * @param {string} folder
 * @returns {string}
 */
export function keptSecret(folder) {
  const file = path.join(folder, 'jwt-secret');
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, randomBytes(48).toString('base64url'), { mode: 0o600 });
  }
  return readFileSync(file, 'utf8').trim();
}
