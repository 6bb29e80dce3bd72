import { Option } from 'commander';

export type Row = Record<string, unknown>;

export type Format = 'table' | 'json' | 'csv';

/** `--format` of reports. Without it, the output decides, as for other lists. */
export const formatOption = (): Option =>
  new Option(
    '--format <format>',
    'table, json (one line per row) or csv; default: table on a terminal, otherwise json',
  ).choices(['table', 'json', 'csv']);

/** Returns how a list is printed where nobody said it: people read tables, programs read JSON lines. */
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

/** Returns the lines of a table: numbers and amounts to the right, everything else to the left. */
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
