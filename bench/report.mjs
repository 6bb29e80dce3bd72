// @ts-check

/** @typedef {import('./load.mjs').Figures} Figures */

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/**
 * The median of each figure over the rounds; requests and refusals are added up.
 *
 * @param {Figures[]} rounds
 */
export function medians(rounds) {
  const of = (/** @type {keyof Figures} */ name) => median(rounds.map((round) => round[name]));
  const sum = (/** @type {keyof Figures} */ name) => rounds.reduce((total, round) => total + round[name], 0);
  return {
    requests: sum('requests'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p95: of('p95'),
    p99: of('p99'),
    refused: sum('refused'),
  };
}

/**
 * Prints a table that is Markdown as well.
 *
 * @param {string} title
 * @param {string[]} heads
 * @param {string[][]} rows
 */
export function printTable(title, heads, rows) {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  console.log(`\n${title}\n\n${[line(heads), rule, ...rows.map(line)].join('\n')}\n`);
}
