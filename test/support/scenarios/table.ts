import { readdirSync, readFileSync } from 'node:fs';

/** A scenario of `test/sandbox/scenarios`, as its page has it. */
export interface Scenario {
  /** The name of the page: what its policy is about. */
  family: string;
  title: string;
  policy: { time_zone?: string };
  /** When day 0 is, if that matters. */
  begins: string | undefined;
  steps: string[];
  rows: string[];
}

const FOLDER = 'test/sandbox/scenarios';

/** Reads the pages. Each section has a table; the policy is that of the page, or its own. */
export function readScenarios(): Scenario[] {
  const pages = readdirSync(FOLDER).filter((file) => file !== 'README.md');
  return pages.sort().flatMap((file) => {
    const [head = '', ...sections] = readFileSync(`${FOLDER}/${file}`, 'utf8').split(/^## /m);
    return sections.map((section) => {
      const policy = JSON.parse((policyOf(section) ?? policyOf(head))!) as Scenario['policy'];
      const begins = /^Day 0 is (.*? before .*?)\./m.exec(section)?.[1];
      const rows = rowsOf(section);
      const steps = rows.map((cells) => cells[STEP]!).filter((step) => step !== '');
      const title = section.slice(0, section.indexOf('\n'));
      return { family: file.replace(/\.md$/, ''), title, policy, begins, steps, rows: rows.map(rowText) };
    });
  });
}

const policyOf = (text: string): string | undefined => /^```json\n([^]*?)^```$/m.exec(text)?.[1];

/** The columns: day, time, step, what happens, what it says, available, pending, held, debt. */
const STEP = 2;
export const rowText = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function rowsOf(section: string): string[][] {
  const [, , ...rows] = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
