import { isAscii, isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { parse } from 'csv-parse/sync';
import { withoutPunctuation } from '../platform/values/document.js';
import { type Fault } from '../platform/values/problem.js';
import { isCalendarDay } from '../platform/values/time.js';
import { METADATA_KEY } from '../platform/values/texts.js';

/** How a column of a file is read. */
interface Column {
  /** Returns the value, which has no blanks around it, as the API takes it. */
  read: (text: string) => string;
  /** Says what is wrong with a refused value, where the API's rules would say what a file need not have. */
  faultOf?: (text: string) => string | undefined;
}

const TEXT: Column = { read: String };
const DAY: Column = { read: plainDay, faultOf: dayFault };

/** The members of `POST /grants` that a file can have as columns, in any order. */
const COLUMNS: ReadonlyMap<string, Column> = new Map([
  ['document', { read: withoutPunctuation, faultOf: documentFault }],
  ['amount', { read: plainAmount, faultOf: amountFault }],
  // The same accents of another program must not be another grant.
  ['external_id', { read: (text) => text.normalize() }],
  ['available_on', DAY],
  ['expires_on', DAY],
  ['reason', TEXT],
  ['note', TEXT],
  ['store', TEXT],
]);

/** `1.234,56` as the API writes it, `1234.56`. The API's rules refuse what can be read in two ways, such as `1.234`. */
function plainAmount(amount: string): string {
  return /^(\d+|\d{1,3}(\.\d{3})+),\d+$/.test(amount) ? amount.replaceAll('.', '').replace(',', '.') : amount;
}

/** `31/12/2026` as the API writes it. `1/2/2026` is refused: who writes no zeros may begin with the month. */
function plainDay(text: string): string {
  return text.replace(/^(\d{2})\/(\d{2})\/(\d{4})$/, '$3-$2-$1');
}

const AMOUNTS = 'such as "1500,00", "1.500,00" or "1500.00"';

/** What is wrong with an amount. The first pattern that matches decides. */
const AMOUNT_FAULTS: [RegExp, string | undefined][] = [
  // The API says that it is negative, zero or too large.
  [/^(-\d.*|(0|[1-9]\d*)(\.\d\d?)?)$/, undefined],
  [/R\$/i, `must be a number without "R$", ${AMOUNTS}`],
  [/^\d{1,3}[.,]\d{3}$/, `can be read in two ways: write the decimals, ${AMOUNTS}`],
  [/(?:)/, `must be a number with at most two decimals, ${AMOUNTS}`],
];

function amountFault(text: string): string | undefined {
  const amount = plainAmount(text);
  return AMOUNT_FAULTS.find(([pattern]) => pattern.test(amount))?.[1];
}

function dayFault(text: string): string | undefined {
  if (isCalendarDay(plainDay(text))) return undefined;
  return 'must be a calendar day in the years 1970 to 9998, such as "2026-11-20" or "20/11/2026"';
}

/** A program can take a CPF for a number: then it removes leading zeros, or writes `5,29982E+10` or `52998224725.0`. */
function documentFault(text: string): string | undefined {
  return /^(\d{1,10}|\d{12,13}|\d+[.,]\d+|\d+([.,]\d+)?E\+?\d+)$/i.test(text)
    ? 'must be a CPF of 11 digits or a CNPJ of 14 characters: a spreadsheet may have changed it, so format the column as text'
    : undefined;
}

const REQUIRED = ['document', 'amount', 'external_id'];

/** The prefix of a column for one key of the metadata. */
const METADATA = 'metadata.';

/** A line of a file: what it asks for, as a request has it, and as it stands in the file, or its errors. */
export type CreditLine =
  { number: number; content: CreditContent; given: ReadonlyMap<string, string> } | { number: number; errors: string[] };

/** What a request has of a line, whatever is wrong with it. */
export type CreditContent = Record<string, unknown> & { external_id?: string; amount?: string };

/** What tells Excel the separator, and no other program anything. */
const SEPARATOR_LINE = /^"?sep=[,;]"?$/i;

/** A record of a file: the number of its first line, and its fields if it has no error. */
interface CsvRecord {
  number: number;
  fields: string[];
  error: string | undefined;
}

/**
 * Reads the grants of a CSV file.
 *
 * @throws Error if the first line does not name the columns, or if `recordsOf` throws.
 */
export async function* creditsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<CreditLine, void> {
  let columns: string[] | undefined;
  for await (const record of recordsOf(chunks)) {
    if (columns === undefined) columns = columnsOf(record);
    else if (record.error !== undefined || record.fields.some((field) => field.trim() !== ''))
      yield creditOf(record, columns);
  }
  if (columns === undefined) throw new Error('the file is empty');
}

function columnsOf({ fields, error }: CsvRecord): string[] {
  const columns = error === undefined ? fields.map(columnOf) : [];
  const known = [...COLUMNS.keys(), `${METADATA}<key>`].join(',');
  const isComplete = REQUIRED.every((name) => columns.includes(name));
  if (!isComplete || !columns.every(isColumn) || new Set(columns).size < columns.length)
    throw new Error(`the first line must name columns of ${known}; ${REQUIRED.join(',')} are required`);
  return columns;
}

/** `External ID` is `external_id`. Keys of metadata stay as they are. */
function columnOf(name: string): string {
  const plain = name.trim().replace(/^metadata\./i, METADATA);
  return plain.startsWith(METADATA) ? plain : plain.toLowerCase().replaceAll(/\s+/g, '_');
}

const isColumn = (name: string): boolean =>
  COLUMNS.has(name) || (name.startsWith(METADATA) && METADATA_KEY.test(name.slice(METADATA.length)));

function creditOf({ number, fields, error }: CsvRecord, columns: string[]): CreditLine {
  if (error !== undefined) return { number, errors: [error] };
  if (fields.length !== columns.length)
    return { number, errors: [`has ${fields.length} fields instead of ${columns.length}`] };
  const given = new Map(
    columns.map((name, at) => [name, fields[at]!.trim()] as const).filter(([, text]) => text !== ''),
  );
  return { number, content: contentOf(given), given };
}

/** Returns the fields of a line as a request has them. */
function contentOf(given: ReadonlyMap<string, string>): CreditContent {
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
export function errorsOf(
  { errors, detail }: { errors?: readonly Fault[]; detail?: unknown },
  given: ReadonlyMap<string, string>,
): string[] {
  const told = errors?.map(({ pointer = '', detail }) => {
    const [name, text] = [pointer.slice(1), given.get(pointer.slice(1))];
    return `${name} ${(text !== undefined && COLUMNS.get(name)?.faultOf?.(text)) || detail}`;
  });
  return told ?? [String(detail)];
}

/** The longest line that is read. A longer one is reported and skipped, so that memory stays bounded. */
const MAX_LINE_BYTES = 65_536;

/**
 * Reads the records of a file (RFC 4180). Text in quotes can have line breaks, so what is between quotes is never read
 * as a line of its own. No column allows line breaks: such a record is one error.
 *
 * @throws Error if where a record ends is not known: text follows closed quotes, quotes are not closed in time, or a
 *   line ends with LF in a file with CRLF.
 */
export async function* recordsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord, void> {
  let separator: string | undefined;
  let open: Pick<Line, 'number' | 'bytes'> | undefined;
  const unclosed = (number: number): Error =>
    new Error(`line ${number}: a quote is not closed within ${MAX_LINE_BYTES} bytes`);
  let hasCrLf: boolean | undefined;
  for await (const line of linesOf(chunks)) {
    hasCrLf ??= line.isCrLf;
    if (line.number === 1 && SEPARATOR_LINE.test(line.text)) continue;
    separator ??= line.text.includes(';') ? ';' : ',';
    const { number, bytes } = open ?? { number: line.number, bytes: 0 };
    // What continues a text in quotes is read like a line that begins with them.
    const [fields, faults] = fieldsOf(open ? `"${line.text}` : line.text, separator);
    const isOpen = faults.delete('CSV_QUOTE_NOT_CLOSED');
    const fault = faults.delete('INVALID_OPENING_QUOTE') ? 'a text has a quote and is not in quotes' : undefined;
    const error = open ? `lines ${number} to ${line.number} are one record: a text has a line break` : line.error;
    if ((open || isOpen) && bytes + line.bytes > MAX_LINE_BYTES) throw unclosed(number);
    if (faults.size > 0) throw new Error(`line ${line.number}: text follows a closed quote; a quote in a text is ""`);
    // Spreadsheets write CRLF between records, and LF for a line break in a text.
    if (hasCrLf && !line.isCrLf && !isOpen)
      throw new Error(`line ${line.number}: ends with LF and not CRLF; a text with a line break must be in quotes`);
    open = isOpen ? { number, bytes: bytes + line.bytes } : undefined;
    if (!isOpen) yield { number, fields, error: error ?? fault };
  }
  if (open) throw unclosed(open.number);
}

/** A line of a file: its number, from 1, its size, and its text, also if that is refused with an error. */
interface Line {
  number: number;
  bytes: number;
  /** Whether it ends with CRLF, or is the last one. */
  isCrLf: boolean;
  text: string;
  error?: string | undefined;
}

const [LINE_FEED, CARRIAGE_RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/**
 * Splits bytes into lines, which end with LF or CRLF. Each line is decoded separately, so a bad one does not affect
 * others.
 */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let parts: Buffer[] = [];
  let [bytes, last] = [0, 0];
  let hasQuote = false;
  const decoded = lineDecoder();
  const add = (part: Buffer): void => {
    bytes += part.length;
    last = part.at(-1) ?? last;
    hasQuote ||= part.includes(QUOTE);
    if (bytes <= MAX_LINE_BYTES) parts.push(part);
  };
  const end = (isLast = false): Line => {
    // Quotes in what is not read could be open at its end.
    const tooLong = { text: hasQuote ? '"' : '', error: `is longer than ${MAX_LINE_BYTES} bytes` };
    const line = {
      number: ++number,
      bytes: bytes + 1,
      isCrLf: isLast || last === CARRIAGE_RETURN,
      ...(bytes > MAX_LINE_BYTES ? tooLong : decoded(Buffer.concat(parts))),
    };
    [parts, bytes, last, hasQuote] = [[], 0, 0, false];
    return line;
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
  if (bytes > 0) yield end(true);
}

/**
 * Returns a decoder of lines. The first line that is not ASCII decides about the encoding of the file, as does a byte
 * order mark, which is dropped. A line in another one is refused, because its characters can only be guessed.
 */
function lineDecoder(): (line: Buffer) => Pick<Line, 'text' | 'error'> {
  let encoding: 'UTF-8' | 'Windows-1252' | undefined;
  return (line) => {
    const own = isAscii(line) ? (encoding ?? 'UTF-8') : isUtf8(line) ? 'UTF-8' : 'Windows-1252';
    if (!isAscii(line)) encoding ??= own;
    // `TextDecoder` of some supported Node versions takes Windows-1252 for ISO 8859-1.
    const text = iconv.decode(line, own).replace(/\r+$/, '');
    if (own !== (encoding ?? own)) return { text, error: `is not ${encoding} like the lines before it` };
    if (own !== 'UTF-8' && text.includes('\ufffd'))
      return { text, error: 'has a byte that Windows-1252 does not define' };
    return { text, error: /[\r\u2028\u2029]/.test(text) ? 'a text has a line break' : undefined };
  };
}

/** Splits a line into fields. @returns them, without blanks around them and quotes, and the codes of faults. */
function fieldsOf(line: string, delimiter: string): [fields: string[], faults: Set<string>] {
  const faults = new Set<string>();
  const onSkip = (error?: { code: string }): undefined => void faults.add(error?.code ?? '');
  const options = { delimiter, recordDelimiter: '\n', trim: true, skipRecordsWithError: true, onSkip };
  return [parse(line, options)[0] ?? [], faults];
}
