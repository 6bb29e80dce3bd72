import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { entryOf, Problem, type ProblemCode, PROBLEMS } from '../../src/platform/values/problem.js';
import type { Problem as ProblemBody } from '../support/expectations.js';

const read = (file: string): string => readFileSync(file, 'utf8');

/** The cells of each table row in a file, without headings. */
const rowsOf = (file: string): string[][] =>
  [...read(file).matchAll(/^\|(.*)\|$/gm)].map(([, row]) => (row ?? '').split('|').map((cell) => cell.trim()));

describe('the documentation', () => {
  it('docs/architecture.md lists every module of src, and names only files and folders that exist', () => {
    const page = read('docs/architecture.md');
    const listed = [...page.matchAll(/^(\w+) {3,}\w/gm)].map(([, name]) => name);
    const modules = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(listed.sort()).toEqual(modules.map(({ name }) => name).sort());
    const named = [...page.matchAll(/`([\w-]+\/[\w./-]+)`/g)].map(([, file = '']) => file);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((file) => ![file, `src/${file}`].some(existsSync) && !/\/x\./.test(file))).toEqual([]);
  });

  it('each test that test/reports-from-outside.md names exists', () => {
    const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const tests = files.map((file) => read(`test/${file}`)).join('\n');
    const named = rowsOf('test/reports-from-outside.md').slice(2);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(([, , title = '']) => !tests.includes(title.replace(/^.*?: (?=if )/, '')))).toEqual([]);
  });

  it('docs/errors.md lists the error codes with their status and next action, in order', () => {
    const documented = rowsOf('docs/errors.md')
      .filter(([status]) => /^\d{3}$/.test(status ?? ''))
      .map(([status, code, , action]) => `${status} ${code} ${action}`.replaceAll('`', ''));
    expect(documented).toEqual(
      Object.entries(PROBLEMS).map(([code, { status, next_action }]) => `${status} ${code} ${next_action}`),
    );
  });

  it('docs/errors.md names the members of each error and no members of other errors', () => {
    const codes = Object.keys(PROBLEMS) as ProblemCode[];
    const members = codes.map((code) => Object.keys(entryOf(code).members ?? {}).filter((name) => name !== 'errors'));
    const all = new Set(members.flat());
    const documented = rowsOf('docs/errors.md').filter(([status]) => /^\d{3}$/.test(status ?? ''));
    const named = documented.map(
      ([, , text = '']) => new Set(text.match(/(?<=`)\w+(?=`)/g)?.filter((name) => all.has(name))),
    );
    expect(named.map((names, row) => [codes[row], ...[...names].sort()])).toEqual(
      members.map((names, row) => [codes[row], ...names.sort()]),
    );
  });

  it('docs/errors.md shows a problem as the service sends it', () => {
    const shown = JSON.parse(/^```json\n([^]*?)^```$/m.exec(read('docs/errors.md'))?.[1] ?? '') as ProblemBody;
    const sent = new Problem('validation_failed', { errors: shown.errors }).toBody(shown.instance, shown.request_id);
    expect(JSON.stringify(sent)).toBe(JSON.stringify(shown));
  });

  it('docs/errors.md says in every row what to do about the error', () => {
    const rows = rowsOf('docs/errors.md').filter(([status]) => /^\d{3}$/.test(status ?? ''));
    expect(rows.map(([, code, text]) => `${code} ${text}`).filter((row) => !/: \w/.test(row))).toEqual([]);
  });

  const alerts = [...new Set([...read('ops/alerts.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? ''))];

  it('docs/incidents.md has a paragraph for every alert under its name and for no other alert', () => {
    const section = /^## Alerts$([^]*?)^## /m.exec(read('docs/incidents.md'))?.[1] ?? '';
    const headings = [...section.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
    expect(headings.sort()).toEqual([...alerts].sort());
    expect(
      section
        .split(/^### .*$/m)
        .slice(1)
        .map((text) => text.trim()),
    ).not.toContain('');
  });

  it('ops/alerts.test.yml tests that every alert is silent for a healthy service and that it is raised', () => {
    const [, healthy = '', ...others] = read('ops/alerts.test.yml').split(/^ {2}- name: /m);
    const silent = [...healthy.matchAll(/alertname: (\w+), exp_alerts: \[\]/g)].map(([, name]) => name);
    const raised = others.flatMap((test) =>
      [...test.matchAll(/alertname: (\w+)\n +exp_alerts:/g)].map(([, name]) => name),
    );
    expect(alerts.filter((name) => !silent.includes(name))).toEqual([]);
    expect(alerts.filter((name) => !raised.includes(name))).toEqual([]);
  });

  it('the links inside docs/incidents.md and to its headings lead to a heading', () => {
    const anchors = [...read('docs/incidents.md').matchAll(/^##+ (.*)$/gm)].map(([, heading]) =>
      (heading ?? '')
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = ['README.md', ...readdirSync('docs').map((file) => `docs/${file}`)]
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) => {
        const link = file === 'docs/incidents.md' ? /\]\(#([\w-]+)\)/g : /incidents\.md#([\w-]+)/g;
        return [...read(file).matchAll(link)].map(([, anchor]) => anchor ?? '');
      });
    expect(links.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
  });

  it('the commands in README.md use one BASE variable for the address', () => {
    expect(read('README.md').match(/http:\/\/localhost\S*/g)).toEqual(['http://localhost:3000']);
    expect(read('README.md')).toContain('BASE=http://localhost:3000\n');
    expect(read('tools/demo.mjs')).toContain('BASE=${base}\n');
  });
});
