// @ts-check
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Makes an empty temporary folder whose path is short enough for a socket in it: a socket's path may have no more
 * than some 100 bytes, which a folder deep in a home soon exceeds.
 *
 * @param {string} name tells a reader of /tmp what it is
 */
export function makeTempFolder(name) {
  const parent = tmpdir().length < 60 ? tmpdir() : '/tmp';
  return mkdtempSync(path.join(parent, `${name}-`));
}
