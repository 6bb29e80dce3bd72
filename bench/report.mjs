// @ts-check

/** @typedef {import('./load.mjs').Figures} Figures */

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return Number.isInteger(middle) ? (at(sorted, middle - 1) + at(sorted, middle)) / 2 : at(sorted, Math.floor(middle));
}

/** @param {number[]} numbers @param {number} index */
function at(numbers, index) {
  return numbers[index] ?? NaN;
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
 * Two servers' rounds, pair by pair: what disturbs the machine for a while disturbs both of a pair.
 *
 * @param {Figures[]} ones
 * @param {Figures[]} others
 * @param {'perSecond' | 'p50' | 'p99'} figure
 * @returns {number} the median of the ratios one / other
 */
export function medianRatio(ones, others, figure) {
  return median(ones.map((one, round) => one[figure] / (others[round]?.[figure] ?? NaN)));
}

/** Column heads that go with `cells`. */
export const HEADS = ['requests/s', 'p50 ms', 'p95 ms', 'p99 ms', 'refused'];

/** @param {Figures} figures */
export function cells({ perSecond, p50, p95, p99, refused, requests }) {
  return [
    perSecond.toFixed(0),
    ...[p50, p95, p99].map((time) => time.toFixed(1)),
    refused === 0 ? '0' : `${refused} of ${requests}`,
  ];
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
