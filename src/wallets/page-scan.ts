/** The maximum number of rows that a page reads. */
const MAX_ROWS = 1000;
/** Parts begin with the size of the page, and double up to this. */
const LARGEST_PART = 200;

interface Scan<Row, Key> {
  limit: number;
  /** Where the previous page ended. */
  after: Key | undefined;
  keyOf: (row: Row) => Key;
  /** Reads the next rows of the list. */
  read: (after: Key | undefined, count: number) => Promise<Row[]>;
  /** Returns those of the rows that belong to the page. */
  select: (rows: Row[]) => Promise<Row[]> | Row[];
}

/**
 * Makes a page of the rows that no index selects: reads the list in parts until the page is full, at most 1,000 rows. A
 * page can therefore be empty although more follow.
 *
 * @returns the page, and the key after which the next one begins; undefined if it is the last one.
 */
export async function scanPage<Row, Key>(scan: Scan<Row, Key>): Promise<{ page: Row[]; next: Key | undefined }> {
  const { limit, keyOf } = scan;
  const found: Row[] = [];
  let { after } = scan;
  let part = limit + 1;
  for (let left = MAX_ROWS; left > 0; left -= part, part = Math.min(2 * part, LARGEST_PART, left)) {
    const rows = await scan.read(after, part);
    found.push(...(await scan.select(rows)));
    if (found.length > limit) return { page: found.slice(0, limit), next: keyOf(found[limit - 1]!) };
    if (rows.length < part) return { page: found, next: undefined };
    after = keyOf(rows.at(-1)!);
  }
  return { page: found, next: after };
}
