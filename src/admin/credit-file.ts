import { Problem } from '../common/problem.js';
import type { NamedGrant } from '../cashback/grant-content.js';
import type { RequestValidationPipe } from '../http/validation.pipe.js';
import { CreateGrantDto } from '../wallets/dto/grant.dto.js';
import { readGrant } from '../wallets/grant.mapper.js';

/** The columns of a file, in any order. The last two are optional. */
const COLUMNS = ['document', 'amount', 'external_id', 'available_on', 'expires_on'];
const REQUIRED = 3;

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
  const isComplete = COLUMNS.slice(0, REQUIRED).every((name) => columns.includes(name));
  if (!isComplete || columns.some((name) => !COLUMNS.includes(name)) || new Set(columns).size < columns.length)
    throw new Error(`the first line must name the columns ${COLUMNS.join(',')}; the last two are optional`);
  return { separator, columns };
}

function creditOf(line: Line, { separator, columns }: Layout, rules: RequestValidationPipe): CreditLine {
  const { number } = line;
  if ('error' in line) return { number, errors: [line.error] };
  const fields = fieldsOf(line.text, separator);
  if (fields === undefined) return { number, errors: ['the quotes are not closed, or text is next to them'] };
  if (fields.length !== columns.length)
    return { number, errors: [`has ${fields.length} fields instead of ${columns.length}`] };
  const members = columns.map((name, at) => [name, fields[at]] as const).filter(([, text]) => text !== '');
  const row = Object.fromEntries(members) as Record<string, string>;
  try {
    const valid = rules.transform(row, { type: 'body', metatype: CreateGrantDto }) as CreateGrantDto;
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
 * A field contains no line break: with a general parser, one open quote would spoil all later lines.
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
