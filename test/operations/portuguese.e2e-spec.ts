import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ENTRY_KINDS } from '../../src/cashback/entry.entity.js';
import { EARN_LIMITED_BY, entryOf, LIMITED_BY, type ProblemCode, PROBLEMS } from '../../src/platform/values/problem.js';
import { TO_RECEIVE_STATUSES } from '../../src/orders/order.dto.js';
import { ORDER_STATUSES } from '../../src/orders/order-transitions.js';
import { brokenLinksIn, cellsOf, type Section, sectionsOf } from '../support/pages.js';

interface Pair {
  english: string;
  portuguese: string;
  /** Only the first sections of the English page are translated. */
  translated?: number;
  /** The last sections of the Portuguese page have no English ones. */
  own?: number;
  /** Only the first columns of the tables are translated. */
  columns?: number;
}

const ERRORS = 'docs/pt-BR/erros.md';
const PAIRS: Pair[] = [
  { english: 'README.md', portuguese: 'README.pt-BR.md', translated: 4, own: 1 },
  { english: 'docs/checkout.md', portuguese: 'docs/pt-BR/checkout.md' },
  { english: 'docs/cashback.md', portuguese: 'docs/pt-BR/dinheiro.md' },
  { english: 'docs/errors.md', portuguese: ERRORS, own: 6, columns: 3 },
  { english: 'docs/events.md', portuguese: 'docs/pt-BR/eventos.md' },
  { english: 'docs/integrate.md', portuguese: 'docs/pt-BR/integrar.md' },
  { english: 'docs/personal-data.md', portuguese: 'docs/pt-BR/lgpd.md' },
];
const PAGES = ['README.pt-BR.md', ...readdirSync('docs/pt-BR').map((file) => `docs/pt-BR/${file}`)];

const read = (file: string): string => readFileSync(file, 'utf8');
const levelOf = ({ heading }: Section): number => heading.indexOf(' ');
const lacking = (some: string[], others: string[]): string[] => some.filter((one) => !others.includes(one));

/** Returns what differs between two sections, for the person who translates. */
function differences(english: Section, portuguese: Section): string[] {
  const found = lacking(english.words, portuguese.words).map((word) => `add ${word}`);
  found.push(...lacking(portuguese.words, english.words).map((word) => `remove ${word}, or add it in English`));
  const count = (what: string, expected: number, actual: number): void => {
    if (expected !== actual) found.push(`write ${expected} ${what}, not ${actual}`);
  };
  count('code blocks', english.blocks.length, portuguese.blocks.length);
  count('table rows', english.rows.length, portuguese.rows.length);
  count('paragraphs and list items', english.texts, portuguese.texts);
  const block = english.blocks.findIndex((text, index) => portuguese.blocks[index] !== text);
  if (block >= 0) found.push(`copy code block ${block + 1}`);
  const row = english.rows.findIndex((words, index) => portuguese.rows[index] !== words);
  if (row >= 0) found.push(`row ${row + 1} of the tables must have ${english.rows[row]}`);
  return found;
}

/** Says from which heading on two pages differ that do not have the same headings. */
function firstHeading(sources: Section[], translation: Section[], english: string, portuguese: string): string {
  const index = sources.findIndex((source, at) => {
    const target = translation[at];
    return !target || levelOf(source) !== levelOf(target) || differences(source, target).length > 0;
  });
  const from = sources.at(index)?.heading;
  return `${portuguese} has ${translation.length} headings, and ${english} ${sources.length}: compare from “${from}” on`;
}

/** Returns one line per difference: where, what to do there, and the English section that says it. */
function followUp({ english, portuguese, translated, own = 0, columns }: Pair): string[] {
  const sources = sectionsOf(english, columns).slice(0, translated);
  const translations = sectionsOf(portuguese, columns);
  const translation = translations.slice(0, translations.length - own);
  const levels = (sections: Section[]): string => sections.map(levelOf).join();
  if (levels(sources) !== levels(translation)) return [firstHeading(sources, translation, english, portuguese)];
  return sources.flatMap((source, index) => {
    const target = translation[index] as Section;
    return differences(source, target).map(
      (what) => `${portuguese}, “${target.heading}”: ${what}; see ${english}, “${source.heading}”`,
    );
  });
}

/** Returns the rows of the tables under a heading: the word in backticks, and the sentence in the last column. */
function sentencesUnder(heading: string): { word: string; sentence: string }[] {
  const section = read(ERRORS).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return cellsOf(section).map((cells) => ({ word: (cells[0] ?? '').slice(1, -1), sentence: cells.at(-1) ?? '' }));
}

const membersIn = (file: string): string[] =>
  [...read(file).matchAll(/readonly (\w+)!/g)].map(([, name]) => name ?? '');
const membersOf = (code: ProblemCode): string[] => Object.keys(entryOf(code).members ?? {});

/** Returns whether a sentence is too short or long, not plain, or has a member that is not there. */
const unfit = (sentence: string, members: string[]): boolean =>
  sentence.length < 10 ||
  sentence.length > 120 ||
  /[`"_]/.test(sentence.replace(/\{\w+\}/g, '')) ||
  [...sentence.matchAll(/\{(\w+)\}/g)].some(([, name]) => !members.includes(name ?? ''));

const ORDER_DTO = 'src/orders/order.dto.ts';
const TABLES: [heading: string, words: string[], members: string[]][] = [
  ['`limited_by` do resgate', [...LIMITED_BY], membersIn(ORDER_DTO)],
  ['`limited_by` do cashback a receber', [...EARN_LIMITED_BY], membersIn(ORDER_DTO)],
  [
    '`limited_by` de uma concessão',
    [...(PROBLEMS.grant_exceeds_maximum.members?.limited_by.enum as string[])],
    membersOf('grant_exceeds_maximum'),
  ],
  ['Linhas do extrato', Object.keys(ENTRY_KINDS), membersIn('src/cashback/wallet.dto.ts')],
  ['Status do pedido', [...ORDER_STATUSES], []],
  ['Status do cashback a receber', [...TO_RECEIVE_STATUSES], membersIn(ORDER_DTO)],
];

describe('the Portuguese pages', () => {
  it.each(PAIRS)('$portuguese has the headings, code blocks, table rows, names and numbers of $english', (pair) => {
    expect(followUp(pair)).toEqual([]);
  });

  it.each(PAIRS)('$portuguese and $english link to each other before their second heading', (pair) => {
    const linked = ([from, to]: string[]): boolean =>
      [...(read(from ?? '').split(/^## /m)[0] ?? '').matchAll(/^\[(?:English|Português)\]\(([^)]+)\)/gm)].some(
        ([, target]) => join(dirname(from ?? ''), target ?? '') === to,
      );
    expect([linked([pair.english, pair.portuguese]), linked([pair.portuguese, pair.english])]).toEqual([true, true]);
  });

  it('docs/pt-BR/erros.md has one short sentence for tills for every error code, in the order of the service', () => {
    const rows = cellsOf(read(ERRORS)).filter(([status]) => /^\d{3}$/.test(status ?? ''));
    expect(rows.map(([status, code]) => `${status} ${code}`)).toEqual(
      Object.entries(PROBLEMS).map(([code, { status }]) => `${status} \`${code}\``),
    );
    const codes = Object.keys(PROBLEMS) as ProblemCode[];
    const wrong = rows.filter(([, , , sentence = ''], row) => unfit(sentence, membersOf(codes[row] as ProblemCode)));
    expect(wrong).toEqual([]);
  });

  it.each(TABLES)(
    'the table “%s” of docs/pt-BR/erros.md has a short sentence for each word',
    (heading, words, members) => {
      const rows = sentencesUnder(heading);
      expect(rows.map(({ word }) => word)).toEqual(words);
      expect(rows.filter(({ sentence }) => unfit(sentence, members))).toEqual([]);
    },
  );

  it('docs/pt-BR/comecar.md has the permissions of docs/roles.md', () => {
    const rowsIn = (file: string, heading: string): string[] =>
      sectionsOf(file).find((section) => section.heading === heading)?.rows ?? [];
    const english = rowsIn('docs/roles.md', '# Who may do what');
    expect(english).not.toEqual([]);
    expect(rowsIn('docs/pt-BR/comecar.md', '## Quem pode o quê')).toEqual(english);
  });

  it('the names of the API in docs/pt-BR are in an English page', () => {
    const english = ['README.md', ...readdirSync('docs').map((file) => `docs/${file}`)]
      .filter((file) => file.endsWith('.md'))
      .map(read)
      .join('\n');
    const unknown = PAGES.flatMap((file) =>
      sectionsOf(file).flatMap(({ words, rows }) =>
        [...words, ...rows]
          .flatMap((text) => text.match(/(?<=`)[^` ][^`]*(?=`)/g) ?? [])
          .filter((name) => !english.includes(name))
          .map((name) => `${file}: ${name}`),
      ),
    );
    expect(unknown).toEqual([]);
  });

  it('the links in the Portuguese pages lead to a file and a heading', () => {
    expect(PAGES.flatMap(brokenLinksIn)).toEqual([]);
  });
});
