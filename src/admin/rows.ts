import { Option } from 'commander';
import { formatMoney, formatPercent } from '../common/money.js';

export type Row = Record<string, unknown>;

export type Format = 'table' | 'json' | 'csv';

/** `--format` of reports. Without it, the output decides, as for other lists. */
export const formatOption = (): Option =>
  new Option(
    '--format <format>',
    'table, json (one line per row) or csv; default: table on a terminal, otherwise json',
  ).choices(['table', 'json', 'csv']);

export const usualFormat = (): Format => (process.stdout.isTTY ? 'table' : 'json');

/**
 * Prints a list as a table on a terminal, and as one JSON object per line otherwise.
 *
 * @param inTable returns what a table shows of a row; all rows have the same members.
 */
export function printRows(rows: readonly Row[], inTable: (row: Row) => Row = (row) => row): void {
  printAs(usualFormat(), usualFormat() === 'table' ? rows.map(inTable) : rows);
}

/** Prints rows, which all have the same members. CSV follows RFC 4180, with a header. */
export function printAs(format: Format, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] ?? {});
  if (format === 'json') for (const row of rows) console.log(JSON.stringify(row));
  else if (format === 'table') for (const line of tableOf(columns, rows)) console.log(line);
  else if (rows.length > 0)
    for (const fields of [columns, ...rows.map((row) => Object.values(row))])
      console.log(fields.map((field) => csvField(textOf(field))).join(','));
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
  return [lineOf([...columns]), ...rows.map((row) => lineOf(columns.map((column) => cellOf(row[column]))))];
}

/** A control character in a name must not move the cursor. */
const cellOf = (value: unknown): string => textOf(value).replaceAll(/\p{Cc}/gu, '\uFFFD');

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/**
 * Returns an entity, or a part of one, as the command line shows it: members in snake case, centavos as decimal
 * strings, rates in percent, binary values in hexadecimal digits. It knows no columns, so it also shows new ones.
 */
export function toJson(entity: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entity).map(([member, value]) => {
      const name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (name.endsWith('_cents')) return [name.slice(0, -'_cents'.length), amountOf(value as number | null)];
      if (name.endsWith('_bps')) return [name.slice(0, -'_bps'.length), formatPercent(value as number)];
      return [name, toValue(name, value)];
    }),
  );
}

const amountOf = (cents: number | null): string | null => (cents === null ? null : formatMoney(cents));

/** Other objects are a caller's own, such as metadata: their members keep their names. */
function toValue(name: string, value: unknown): unknown {
  if (name === 'policy') return toJson(value as object);
  if (name === 'earn_rates_by_payment_method')
    return Object.fromEntries(
      Object.entries(value as Record<string, number>).map(([id, bps]) => [id, formatPercent(bps)]),
    );
  if (Array.isArray(value)) return value.map((part: unknown) => (isObject(part) ? toJson(part) : part));
  return Buffer.isBuffer(value) ? value.toString('hex') : value;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
