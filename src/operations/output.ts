import { Option } from 'commander';
import { csvOf } from '../platform/http/csv.js';
import { UUID } from '../platform/values/ids.js';
import { formatMoney, formatPercent } from '../platform/values/money.js';
import { localTime } from '../platform/values/time.js';
import { wholeNumber } from './arguments.js';

export type Row = Record<string, unknown>;

const FORMATS = ['table', 'json', 'csv', 'csv-pt-BR'] as const;
export type Format = (typeof FORMATS)[number];

/** `--format` of reports. Without it, the output decides, as for other lists. */
export const formatOption = (): Option =>
  new Option(
    '--format <format>',
    'table, json (one line per row), csv, or csv-pt-BR for spreadsheets in Brazil; default: table on a terminal, otherwise json',
  ).choices(FORMATS);

/** `--limit` of a record with lists. */
export const limitOption = (): Option =>
  new Option('--limit <n>', 'maximum number of rows of each list')
    .default(process.stdout.isTTY ? 10 : 100, '10 on a terminal, otherwise 100')
    .argParser(wholeNumber(1, 10_000));

export const usualFormat = (): Format => (process.stdout.isTTY ? 'table' : 'json');

/**
 * Prints a list as a table on a terminal, and as one JSON object per line otherwise.
 *
 * @param inTable returns what a table shows of a row; all rows have the same members.
 */
export function printRows(rows: readonly Row[], inTable: (row: Row) => Row = (row) => row): void {
  printAs(usualFormat(), usualFormat() === 'table' ? rows.map(inTable) : rows);
}

/** Prints rows, which all have the same members. */
export function printAs(format: Format, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  if (format === 'json') for (const row of rows) console.log(JSON.stringify(row));
  else if (format === 'table') for (const line of tableOf(columns, rows)) console.log(line);
  else if (rows.length > 0)
    process.stdout.write(csvOf(columns, rows, { locale: format === 'csv-pt-BR' ? 'pt-BR' : undefined }));
}

/** The lists whose rows are looked up by their ID: a refund needs that of the order. */
const LISTS_WITH_IDS = ['completed_orders'];

/**
 * Prints a record as JSON or, on a terminal, as its values and a table for each of its lists. The values of a part are
 * those of `part.member`. Instants are in the record's time zone, if it has one. The tables have no IDs of the service,
 * except those of {@link LISTS_WITH_IDS}.
 */
export function printRecord(record: object): void {
  if (usualFormat() === 'json') return console.log(JSON.stringify(record, null, 2));
  const { time_zone: own, policy } = record as { time_zone?: string; policy?: { time_zone: string } };
  const timeZone = own ?? policy?.time_zone;
  const members = Object.entries(flat(record, timeZone));
  const width = Math.max(...members.map(([name]) => name.length));
  for (const [name, value] of members)
    if (!isList(value)) console.log(`${cellOf(name).padEnd(width)}  ${cellOf(value)}`.trimEnd());
  for (const [name, value] of members) {
    if (!isList(value)) continue;
    const rows = value.map((row) => flat(row, timeZone));
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const isId = (column: string, cell: string): boolean =>
      UUID.test(cell) && !column.endsWith('external_id') && !(column === 'id' && LISTS_WITH_IDS.includes(name));
    const isShown = (column: string): boolean =>
      rows.map((row) => cellOf(row[column])).some((cell) => cell !== '' && !isId(column, cell));
    for (const line of ['', name, ...tableOf(columns.filter(isShown), rows)]) console.log(line);
  }
}

const isList = (value: unknown): value is object[] => Array.isArray(value) && value.every(isObject);

function flat(row: object, timeZone: string | undefined, prefix = ''): Row {
  const parts = Object.entries(row).map(([member, value]: [string, unknown]) => {
    const name = `${prefix}${member}`;
    if (value instanceof Date && timeZone !== undefined) return { [name]: localTime(value, timeZone) };
    const isPart = isObject(value) && !Array.isArray(value) && !(value instanceof Date);
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
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns an entity, or a part of one, as the command line shows it: members in snake case, centavos as decimal
 * strings, rates in percent, binary values in hexadecimal digits. It knows no columns, so it also shows new ones.
 */
export function toJson(entity: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entity).map(([member, value]) => {
      const name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (name.endsWith('_cents')) return [name.slice(0, -'_cents'.length), amountOf(value as number | null)];
      if (name.endsWith('_bps'))
        return [name.slice(0, -'_bps'.length), value === null ? null : formatPercent(value as number)];
      return [name, toValue(name, value)];
    }),
  );
}

const amountOf = (cents: number | null): string | null => (cents === null ? null : formatMoney(cents));

/** Other objects are a caller's own, such as metadata: their members keep their names. */
function toValue(name: string, value: unknown): unknown {
  if (name === 'policy' || name === 'changes') return toJson(value as object);
  if (name === 'earn_rates_by_payment_method')
    return Object.fromEntries(
      Object.entries(value as Record<string, number>).map(([id, bps]) => [id, formatPercent(bps)]),
    );
  if (Array.isArray(value)) return value.map((part: unknown) => (isObject(part) ? toJson(part) : part));
  return Buffer.isBuffer(value) ? value.toString('hex') : value;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
