/** Texts that the caller keeps with a resource, by key. */
export type Metadata = Record<string, string>;

export const MAX_METADATA_MEMBERS = 20;
export const MAX_METADATA_VALUE = 500;
export const METADATA_KEY = /^[A-Za-z0-9_.-]{1,40}$/;

/**
 * Returns metadata as it is stored; null if there is none. The keys are in the order in which MySQL keeps them, so that
 * metadata looks the same before and after it was read from a database.
 */
export function readMetadata(given: Metadata | undefined): Metadata | null {
  const members = Object.entries(given ?? {});
  if (members.length === 0) return null;
  return Object.fromEntries(members.sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)));
}
