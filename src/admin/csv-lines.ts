/** The longest line that is read. A longer one is reported and skipped, so that memory stays bounded. */
const MAX_LINE_BYTES = 4096;

/** A line of a file: its number, from 1, and its text, or the error with which it could not be read. */
export type Line = { number: number; text: string } | { number: number; error: string };

const LINE_FEED = 0x0a;

/**
 * Splits bytes into lines, which end with LF or CRLF. Each line is decoded separately, so a bad one does not affect
 * others.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  const add = (part: Buffer): void => {
    bytes += part.length;
    if (bytes <= MAX_LINE_BYTES) parts.push(part);
  };
  const end = (): Line => {
    const line = bytes > MAX_LINE_BYTES ? { error: `is longer than ${MAX_LINE_BYTES} bytes` } : decoded(parts);
    [parts, bytes] = [[], 0];
    return { number: ++number, ...line };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      add(chunk.subarray(from, at));
      from = at + 1;
      yield end();
    }
    add(chunk.subarray(from));
  }
  if (bytes > 0) yield end();
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The decoder drops a byte order mark. */
function decoded(parts: Buffer[]): { text: string } | { error: string } {
  try {
    return { text: utf8.decode(Buffer.concat(parts)).replace(/\r$/, '') };
  } catch {
    return { error: 'is not UTF-8' };
  }
}

/**
 * Splits a line into fields (RFC 4180). A field with a separator or a quote is in quotes, and a quote in it is doubled.
 * A field contains no line break.
 *
 * @returns undefined if the quotes are not closed, or if text is before or after them.
 */
export function fieldsOf(line: string, separator: ',' | ';'): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0; ;) {
    const rest = line.slice(at);
    const quoted = /^"((?:[^"]|"")*)"/.exec(rest);
    const end = rest.indexOf(separator);
    const raw = quoted?.[0] ?? (end < 0 ? rest : rest.slice(0, end));
    if (quoted === null && raw.includes('"')) return undefined;
    fields.push(quoted?.[1]?.replaceAll('""', '"') ?? raw);
    at += raw.length;
    if (at === line.length) return fields;
    if (line[at] !== separator) return undefined;
    at++;
  }
}
