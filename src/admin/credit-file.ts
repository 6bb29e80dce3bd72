import { isAscii, isUtf8 } from 'node:buffer';
import { parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { METADATA_KEY } from '../common/metadata.js';
import { Problem } from '../common/problem.js';
import type { NamedGrant } from '../cashback/grant-content.js';
import type { RequestValidationPipe } from '../http/validation.pipe.js';
import { CreateGrantDto } from '../wallets/dto/grant.dto.js';
import { readGrant } from '../wallets/grant.mapper.js';
import { COLUMNS } from './credit-columns.js';

const REQUIRED = ['document', 'amount', 'external_id'];

/** The prefix of a column for one key of the metadata. */
const METADATA = 'metadata.';

/** A grant in a file, or the errors of its line. */
export type CreditLine =
  { number: number; grant: NamedGrant } | { number: number; externalId?: string; errors: string[] };

/** What tells Excel the separator, and no other program anything. */
const SEPARATOR_LINE = /^"?sep=[,;]"?$/i;

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
    if (line.number === 1 && 'text' in line && SEPARATOR_LINE.test(line.text)) continue;
    if (layout === undefined) layout = layoutOf(line);
    else if (!('text' in line) || line.text.replaceAll(layout.separator, '').trim() !== '')
      yield creditOf(line, layout, rules);
  }
  if (layout === undefined) throw new Error('the file is empty');
}

function layoutOf(line: Line): Layout {
  const header = 'text' in line ? line.text : '';
  const separator = header.includes(';') ? ';' : ',';
  const columns = fieldsOf(header, separator)?.map(columnOf) ?? [];
  const known = [...COLUMNS.keys(), `${METADATA}<key>`].join(',');
  const isComplete = REQUIRED.every((name) => columns.includes(name));
  if (!isComplete || !columns.every(isColumn) || new Set(columns).size < columns.length)
    throw new Error(`the first line must name columns of ${known}; ${REQUIRED.join(',')} are required`);
  return { separator, columns };
}

/** `External ID` is `external_id`. Keys of metadata stay as they are. */
function columnOf(name: string): string {
  const plain = name.trim().replace(/^metadata\./i, METADATA);
  return plain.startsWith(METADATA) ? plain : plain.toLowerCase().replaceAll(/\s+/g, '_');
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
  const given = new Map(
    columns.map((name, at) => [name, fields[at]!] as const).filter(([, text]) => text.trim() !== ''),
  );
  try {
    const valid = rules.transform(contentOf(given), { type: 'body', metatype: CreateGrantDto }) as CreateGrantDto;
    return { number, grant: readGrant(valid) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const externalId = given.get('external_id');
    return { number, ...(externalId !== undefined && { externalId }), errors: errorsOf(error, given) };
  }
}

/** Returns the fields of a line as a request has them. */
function contentOf(given: ReadonlyMap<string, string>): object {
  const metadata = new Map<string, string>();
  const row: Record<string, string> = {};
  for (const [name, text] of given) {
    const column = COLUMNS.get(name);
    if (column === undefined) metadata.set(name.slice(METADATA.length), text);
    else row[name] = column.read(text);
  }
  return { ...row, metadata: Object.fromEntries(metadata) };
}

/**
 * Returns the errors of a line. They contain no value, because a document is personal data.
 *
 * @param given the fields that the API's rules refuse.
 */
export function errorsOf(problem: Problem, given?: ReadonlyMap<string, string>): string[] {
  const errors = problem.errors?.map(({ pointer = '', detail }) => {
    const [name, text] = [pointer.slice(1), given?.get(pointer.slice(1))];
    return `${name} ${(text !== undefined && COLUMNS.get(name)?.faultOf?.(text)) || detail}`;
  });
  return errors ?? [problem.message];
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
