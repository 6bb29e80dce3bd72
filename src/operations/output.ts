import { csvOf } from '../platform/http/csv.js';
import { UUID } from '../platform/values/ids.js';
import { localTime } from '../platform/values/time.js';

export type Row = Record<string, unknown>;

export const FORMATS = ['table', 'json', 'csv', 'csv-pt-BR'] as const;
export type Format = (typeof FORMATS)[number];

/** Without a choice, what reads the output decides: a person or a program. */
export const usualFormat = (): Format => (process.stdout.isTTY ? 'table' : 'json');

interface Printed {
  format: Format;
  /** Of instants in a table, if there is one merchant. */
  timeZone: string | undefined;
  /** Of the file, if it is CSV. */
  columns?: readonly string[] | undefined;
  /** Whether these rows follow others. */
  isContinued?: boolean;
}

/** Prints rows: JSON is one object per line. */
export function printRows(rows: readonly Row[], { format, timeZone, columns, isContinued }: Printed): void {
  if (format === 'json') for (const row of rows) console.log(JSON.stringify(row));
  else if (format === 'table') printTable(rows, timeZone, columns);
  else {
    const [locale, first] = [format === 'csv-pt-BR' ? ('pt-BR' as const) : undefined, rows[0]];
    const text = csvOf(columns ?? Object.keys(first ?? {}), rows, {
      locale,
      timeZone,
      isContinued: isContinued === true,
    });
    process.stdout.write(text);
  }
}

/** Prints a record as JSON, or as its values and a table for each of its lists. A part's member is `part.member`. */
export function printRecord(record: object, { format, timeZone }: Printed): void {
  if (format === 'json') return console.log(JSON.stringify(record, null, 2));
  const members = Object.entries(flat(record, timeZone));
  const width = Math.max(...members.map(([name]) => name.length));
  for (const [name, value] of members)
    if (!isList(value)) console.log(`${cellOf(name).padEnd(width)}  ${cellOf(value)}`.trimEnd());
  for (const [name, value] of members) {
    if (!isList(value)) continue;
    console.log(`\n${name}`);
    printTable(value as Row[], timeZone);
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isList = (value: unknown): value is object[] => Array.isArray(value) && value.every(isObject);

/** A table leaves out what no row has, and IDs of the service where there is a name to find the row by. */
function printTable(rows: readonly Row[], timeZone: string | undefined, chosen?: readonly string[]): void {
  const lines = rows.map((row) => flat(row, timeZone));
  const columns = chosen?.map((column) => column.replace(/\.name$/, '')) ?? [
    ...new Set(lines.flatMap((line) => Object.keys(line))),
  ];
  const isNamed = columns.some((column) => column === 'external_id' || column === 'email');
  const isShown = (column: string): boolean => {
    const cells = lines.map((line) => cellOf(line[column])).filter((cell) => cell !== '');
    const isKey =
      column === 'merchant_id' ||
      column === 'wallet_id' ||
      column.startsWith('details.') ||
      (column === 'id' && !isNamed);
    return cells.length > 0 && (isKey || column.endsWith('external_id') || !cells.every((cell) => UUID.test(cell)));
  };
  for (const line of tableOf(columns.filter(isShown), lines)) console.log(line);
}

function flat(row: object, timeZone: string | undefined, prefix = ''): Row {
  const parts = Object.entries(row).map(([member, value]: [string, unknown]) => {
    const name = `${prefix}${member}`;
    if (value instanceof Date && timeZone !== undefined) return { [name]: localTime(value, timeZone) };
    const isPart = isObject(value) && !Array.isArray(value) && !(value instanceof Date) && !('user_id' in value);
    return isPart ? flat(value, timeZone, `${name}.`) : { [name]: value };
  });
  return Object.assign({}, ...parts) as Row;
}

function tableOf(columns: readonly string[], rows: readonly Row[]): string[] {
  if (rows.length === 0) return ['(none)'];
  const padders = columns.map((column) => {
    const cells = rows.map((row) => cellOf(row[column]));
    const width = Math.max(column.length, ...cells.map((cell) => cell.length));
    const isNumeric = cells.every((cell) => /^-?\d+(\.\d+)?%?$/.test(cell));
    return (cell: string): string => (isNumeric ? cell.padStart(width) : cell.padEnd(width));
  });
  const lineOf = (cells: string[]): string =>
    cells
      .map((cell, at) => padders[at]!(cell))
      .join('  ')
      .trimEnd();
  return [lineOf(columns.map(cellOf)), ...rows.map((row) => lineOf(columns.map((column) => cellOf(row[column]))))];
}

/** A control character in a name must not move the cursor. */
const cellOf = (value: unknown): string => textOf(value).replaceAll(/\p{Cc}/gu, '\uFFFD');

/** An author is a name. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  if (isObject(value) && 'name' in value) return String(value.name);
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
