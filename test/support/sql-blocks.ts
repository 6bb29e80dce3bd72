import { readFileSync } from 'node:fs';

/** Returns the SQL block of a document whose first line is a comment that begins with this text. */
export function sqlOf(document: string, comment: string): string {
  const blocks = readFileSync(document, 'utf8').matchAll(/^```sql\n([^]*?)^```$/gm);
  const found = [...blocks].map(([, sql]) => sql ?? '').find((sql) => sql.startsWith(`-- ${comment}`));
  if (found === undefined) throw new Error(`${document} has no SQL block “${comment}”`);
  return found;
}
