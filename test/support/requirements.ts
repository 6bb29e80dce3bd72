import { describe } from '@jest/globals';

/**
 * Returns `describe` if what its tests need is available. If not, says so in capitals and returns `describe.skip`, so
 * that the tests count as skipped.
 *
 * @param available whether it is available, or what was found
 * @param otherwise what is not tested, and why: `Galera, because the package galera-4 is missing`
 */
export function describeIf(available: unknown, otherwise: string): typeof describe | typeof describe.skip {
  if (available) return describe;
  process.stdout.write(`NOT TESTED: ${otherwise.toUpperCase()}\n`);
  return describe.skip;
}
