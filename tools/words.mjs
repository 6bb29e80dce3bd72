// @ts-check
//
// Part of `npm run lint`: fails on words that the texts of this project do not use, and says what to write instead.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What not to write, and what to write instead. Matched ignoring case, at the edges of words, across no line. */
const WORDS = /** @type {[string, string][]} */ ([
  ['anew|once more', 'again'],
  ['whoever|hangs? up|hung up|of whom', 'clients that…, callers that…'],
  [
    '(one|two|once|twice|a line|a page|a row) (a|an) (merchant|request|customer|order|connection|file|minute|second|day)',
    'per',
  ],
  ['so (many|few|often|much) (as )?(of|in|per)', 'the number of'],
  ['so many', 'n; the number of'],
  ['over zero', 'greater than zero'],
  ['under zero', 'less than zero'],
  ['mend(s|ed|ing)?', 'fix'],
  ['faults? of ours', 'a server error'],
  ['to the letter', 'identical; exactly'],
  ['as (it|they) now stands?', 'in its current state; current'],
  ['(let|lets|letting) (it |them |this |that )?go', 'release'],
  ['(give|gives|gave|given|giving) (it |them )?back', 'release; return'],
  ['is away|are away|was away|comes? again|came again', 'is unreachable; retry'],
  ['a (tenth|twentieth|fifth|hundredth)', '10 %, 5 %'],
  ['log-(in|ins|out|outs)', 'login, logout'],
  ['time-outs?|look-ups?|e-mails?|back-ups?', 'timeout, lookup, email, backup'],
  ['renew(s|ed|ing|al)? (the |a |its |their )?(access |refresh )?(tokens?|token sets?|sessions?)', 'refresh'],
  ['other content', 'different content'],
  ['weather|life|night|nights|house|room|doors?', 'load, lifecycle, incident, codebase, module, entry point'],
  ['keeps? others out', 'security'],
  ['completed otherwise', 'already completed with different values'],
  ['(come|comes|came) to \\d', 'add up to'],
  ['together at most', 'must add up to at most'],
  ['claw(s|ed|ing)?[ -]?backs?|reinstat(e|es|ed|ing|ement)', 'take back; return'],
  ['whilst|hence|thereof|therein|lest|ere|amongst|betimes', 'a plain word'],
]);

const PATTERNS = WORDS.map(([words, instead]) => ({
  pattern: new RegExp(`(?<![\\w-])(?:${words})(?![\\w-])`, 'gi'),
  instead,
}));
// The words are English, so the Portuguese pages are not searched.
const FILES = [
  ...['*.ts', '*.tsx', '*.mjs', '*.md', '*.yml', '*.yaml', 'Dockerfile', '.env.example', '.ci/*'],
  ...[':!*pt-BR*', ':!*pt-br*'],
];

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...FILES], {
  encoding: 'utf8',
});
const faults = listed
  .split('\0')
  .filter((file) => file !== '' && file !== 'tools/words.mjs')
  .flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        PATTERNS.flatMap(({ pattern, instead }) =>
          Array.from(line.matchAll(pattern), ([word]) => `${file}:${index + 1}: “${word}”; write: ${instead}`),
        ),
      ),
  );
for (const fault of faults) console.error(fault);
if (faults.length > 0) console.error(`${faults.length} words that these texts do not use; see tools/words.mjs`);
process.exitCode = faults.length > 0 ? 1 : 0;
