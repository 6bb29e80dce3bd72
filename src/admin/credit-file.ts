import { isAscii, isUtf8 } from 'node:buffer';
import { parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { withoutPunctuation } from '../common/document.js';
import { METADATA_KEY } from '../common/metadata.js';
import { Problem } from '../common/problem.js';
import type { NamedGrant } from '../cashback/grant-content.js';
import type { RequestValidationPipe } from '../http/validation.pipe.js';
import { CreateGrantDto } from '../wallets/dto/grant.dto.js';
import { readGrant } from '../wallets/grant.mapper.js';

/** The members of `POST /grants` that a file can have as columns, in any order, and how each is read. */
const COLUMNS = new Map([
  ['document', withoutPunctuation],
  ['amount', plainAmount],
  ['external_id', String],
  ['available_on', plainDay],
  ['expires_on', plainDay],
  ['reason', String],
  ['note', String],
  ['store', String],
]);
const REQUIRED = ['document', 'amount', 'external_id'];

/** The prefix of a column for one key of the metadata. */
const METADATA = 'metadata.';

/** A grant in a file, or the errors of its line. */
export type CreditLine =
  { number: number; grant: NamedGrant } | { number: number; externalId?: string; errors: string[] };

interface Layout {
  separator: ',' | ';';
  columns: string[];
}

/**
 * Reads the grants of a CSV file, line by line.
 *
 * @param rules the rules of `POST /grants`.
 * @throws Error if the first line does not name the columns.
 */
export async function* creditsOf(
  chunks: AsyncIterable<Buffer>,
  rules: RequestValidationPipe,
): AsyncGenerator<CreditLine, void> {
  let layout: Layout | undefined;
  for await (const line of linesOf(chunks)) {
    if (layout === undefined) layout = layoutOf(line);
    else if (!('text' in line) || line.text.trim() !== '') yield creditOf(line, layout, rules);
  }
  if (layout === undefined) throw new Error('the file is empty');
}

function layoutOf(line: Line): Layout {
  const header = 'text' in line ? line.text : '';
  const separator = header.includes(';') ? ';' : ',';
  const columns = fieldsOf(header, separator)?.map((name) => name.trim()) ?? [];
  const known = [...COLUMNS.keys(), `${METADATA}<key>`].join(',');
  const isComplete = REQUIRED.every((name) => columns.includes(name));
  if (!isComplete || !columns.every(isColumn) || new Set(columns).size < columns.length)
    throw new Error(`the first line must name columns of ${known}; ${REQUIRED.join(',')} are required`);
  return { separator, columns };
}

const isColumn = (name: string): boolean =>
  COLUMNS.has(name) || (name.startsWith(METADATA) && METADATA_KEY.test(name.slice(METADATA.length)));

function creditOf(line: Line, { separator, columns }: Layout, rules: RequestValidationPipe): CreditLine {
  const { number } = line;
  if ('error' in line) return { number, errors: [line.error] };
  const fields = fieldsOf(line.text, separator);
  if (fields === undefined) return { number, errors: ['the quotes are not closed, or text is next to them'] };
  if (fields.length !== columns.length)
    return { number, errors: [`has ${fields.length} fields instead of ${columns.length}`] };
  const row: Record<string, string> = {};
  const metadata = new Map<string, string>();
  for (const [at, name] of columns.entries()) {
    const [read, text] = [COLUMNS.get(name), fields[at]!];
    if (text === '') continue;
    if (read === undefined) metadata.set(name.slice(METADATA.length), text);
    else row[name] = read(text);
  }
  try {
    const content = { ...row, metadata: Object.fromEntries(metadata) };
    const valid = rules.transform(content, { type: 'body', metatype: CreateGrantDto }) as CreateGrantDto;
    return { number, grant: readGrant(valid) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { number, ...(row.external_id !== undefined && { externalId: row.external_id }), errors: errorsOf(error) };
  }
}

/** They contain no value, because a document is personal data. */
export function errorsOf(problem: Problem): string[] {
  return problem.errors?.map(({ pointer, detail }) => `${pointer?.slice(1)} ${detail}`) ?? [problem.message];
}

/** The longest line that is read. A longer one is reported and skipped, so that memory stays bounded. */
const MAX_LINE_BYTES = 65_536;

/** A line of a file: its number, from 1, and its text, or the error with which it could not be read. */
type Line = { number: number; text: string } | { number: number; error: string };

const LINE_FEED = 0x0a;

/**
 * Splits bytes into lines, which end with LF or CRLF. Each line is decoded separately, so a bad one does not affect
 * others.
 */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  const decoded = lineDecoder();
  const add = (part: Buffer): void => {
    bytes += part.length;
    if (bytes <= MAX_LINE_BYTES) parts.push(part);
  };
  const end = (): Line => {
    const line =
      bytes > MAX_LINE_BYTES ? { error: `is longer than ${MAX_LINE_BYTES} bytes` } : decoded(Buffer.concat(parts));
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

/**
 * Returns a decoder of lines. The first line that is not ASCII decides about the encoding of the file, as does a byte
 * order mark, which is dropped. A line in another one is refused, because its characters can only be guessed.
 */
function lineDecoder(): (line: Buffer) => { text: string } | { error: string } {
  let encoding: 'UTF-8' | 'Windows-1252' | undefined;
  return (line) => {
    const own = isAscii(line) ? encoding : isUtf8(line) ? 'UTF-8' : 'Windows-1252';
    encoding ??= own;
    if (own !== encoding) return { error: `is not ${encoding} like the lines before it` };
    // `TextDecoder` of some supported Node versions takes Windows-1252 for ISO 8859-1.
    return { text: iconv.decode(line, encoding ?? 'UTF-8').replace(/\r$/, '') };
  };
}

/**
 * Splits a line into fields (RFC 4180). A field contains no line break: otherwise one open quote would spoil all later
 * lines.
 *
 * @returns undefined if the quotes are not closed, or if text is before or after them.
 */
function fieldsOf(line: string, separator: ',' | ';'): string[] | undefined {
  try {
    return parse(line, { delimiter: separator, recordDelimiter: '\n' })[0];
  } catch {
    return undefined;
  }
}

/** `1.234,56` as the API writes it, `1234.56`. The API's rules refuse what can be read in two ways, such as `1.234`. */
function plainAmount(text: string): string {
  return /^(\d+|\d{1,3}(\.\d{3})+),\d+$/.test(text) ? text.replaceAll('.', '').replace(',', '.') : text;
}

/** `31/12/2026` as the API writes it. `1/2/2026` is refused: who writes no zeros may begin with the month. */
function plainDay(text: string): string {
  return text.replace(/^(\d{2})\/(\d{2})\/(\d{4})$/, '$3-$2-$1');
}
