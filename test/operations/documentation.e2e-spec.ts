import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { problemCodes } from '../../src/common/problem.js';

const read = (file: string): string => readFileSync(file, 'utf8');

/** The cells of a file's table rows, without the headings. */
const rowsOf = (file: string): string[][] =>
  [...read(file).matchAll(/^\|(.*)\|$/gm)].map(([, row]) => (row ?? '').split('|').map((cell) => cell.trim()));

describe('the documentation', () => {
  it('lists every module of src in docs/architecture.md, and no folder that does not exist', () => {
    const named = rowsOf('docs/architecture.md').flatMap(([folders]) =>
      [...(folders ?? '').matchAll(/`([\w/-]+)`/g)].map(([, folder]) => folder ?? ''),
    );
    const modules = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(named).toEqual(expect.arrayContaining(modules.map(({ name }) => `src/${name}`)));
    expect(named.filter((folder) => folder.startsWith('src/') && !existsSync(folder))).toEqual([]);
  });

  it('lists every published error code with its status in docs/errors.md, and no other', () => {
    const documented = rowsOf('docs/errors.md')
      .filter(([status]) => /^\d{3}$/.test(status ?? ''))
      .map(([status, code]) => `${status} ${code?.replaceAll('`', '')}`);
    expect(documented.sort()).toEqual(
      problemCodes()
        .map(({ status, code }) => `${status} ${code}`)
        .sort(),
    );
  });

  it("uses one BASE for every address in README's commands", () => {
    expect(read('README.md').match(/http:\/\/localhost\S*/g)).toEqual(['http://localhost:3000']);
    expect(read('README.md')).toContain('BASE=http://localhost:3000\n');
    expect(read('tools/start/demo.mjs')).toContain('BASE=${base}\n');
  });
});
