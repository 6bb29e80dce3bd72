import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What of a section is the same in every language. */
export interface Section {
  /** With its level: `## Refund`. */
  heading: string;
  /** The fenced blocks. */
  blocks: string[];
  /** What is in backticks and the numbers, per table row. */
  rows: string[];
  /** What is in backticks and the numbers, outside blocks and tables. */
  words: string[];
  /** The number of paragraphs and list items. */
  texts: number;
}

/** The links to the other language, and the notes (`>`) that a page has in its language only. */
const NOT_TRANSLATED = /^(?:>.*|\[(?:English|Português)\]\(.*)$/gm;
const ROW = /^\|.*\|$/gm;

/** Returns the distinct names in backticks and numbers of a text, sorted. `1.234,50` and `1,234.50` are the same. */
function wordsOf(text: string): string[] {
  const names = text.match(/`[^`]+`/g) ?? [];
  const numbers = text.replace(/`[^`]+`|\]\([^)]*\)/g, '').match(/\d+(?:[.,]\d+)*/g) ?? [];
  return [...new Set([...names, ...numbers.map((number) => number.replaceAll(',', '.'))])].sort();
}

/** Returns the cells of the rows of a text's tables, without headings. */
export function cellsOf(text: string): string[][] {
  const tables = text.match(/(?:^\|.*\|\n?)+/gm) ?? [];
  return tables.flatMap((table) =>
    (table.match(ROW) ?? []).slice(2).map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    ),
  );
}

/** @param columns only that many columns of a table are the same in every language. */
export function sectionsOf(file: string, columns?: number): Section[] {
  const blocks: string[] = [];
  const prose = readFileSync(file, 'utf8').replace(/^```[^]*?^```$/gm, (block) => `\0${blocks.push(block) - 1}`);
  return prose.split(/^(?=#+ )/m).map((section) => {
    const text = section.replace(NOT_TRANSLATED, '');
    const outside = text.replace(ROW, '').replace(/^\0\d+$/gm, '');
    return {
      heading: text.split('\n', 1)[0] ?? '',
      blocks: [...text.matchAll(/^\0(\d+)$/gm)].map(([, index]) => blocks[Number(index)] ?? ''),
      rows: cellsOf(text).map((cells) => wordsOf(cells.slice(0, columns).join('|')).join(' ')),
      words: wordsOf(outside),
      texts: outside.split(/\n{2,}|\n(?=- |\d+\. )/).filter((part) => part.trim() !== '').length,
    };
  });
}

/** Returns the anchors of a page's headings, as GitHub makes them. */
export const anchorsOf = (file: string): string[] =>
  sectionsOf(file).map(({ heading }) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Returns the links of a page that lead to no file or heading. */
export const brokenLinksIn = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
    .filter(([, path = '', anchor]) => {
      const target = path === '' ? file : join(dirname(file), path);
      return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
    })
    .map(([link]) => `${file}: ${link}`);

/** A response as a page shows it. */
export interface ShownAnswer {
  status: number;
  body: unknown;
}

/** Commands of a page, and what the page shows below them: responses, or other lines. */
export interface CommandBlock {
  page: string;
  line: number;
  commands: string;
  answers: ShownAnswer[];
  text?: string;
}

/** @throws if a fenced block is neither commands nor what the commands before it print. */
export function commandBlocksOf(page: string): CommandBlock[] {
  const content = readFileSync(page, 'utf8');
  const blocks: CommandBlock[] = [];
  let fences = 0;
  for (const { 1: language, 2: text = '', index } of content.matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    fences += 2;
    const line = content.slice(0, index).split('\n').length;
    const before = blocks.at(-1);
    const isShown = before === undefined || before.text !== undefined || before.answers.length > 0;
    if (language === 'sh') blocks.push({ page, line, commands: text, answers: [] });
    else if (language === 'json' && !isShown) before.answers = answersIn(text);
    else if (language === 'text' && !isShown) before.text = text;
    else throw new Error(`${page}:${line}: this block is not run`);
  }
  if (content.match(/^\s*(```|~~~)/gm)?.length !== fences) throw new Error(`${page} has a block that is not run`);
  return blocks;
}

/** Reads responses as the `api` of a page prints them: each has a status at the beginning of a line, then JSON. */
export function answersIn(text: string): ShownAnswer[] {
  return text
    .split(/^(?=\d{3} )/m)
    .filter((answer) => answer.trim() !== '')
    .map((answer) => ({ status: Number(answer.slice(0, 3)), body: JSON.parse(answer.slice(4)) as unknown }));
}
