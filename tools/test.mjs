// @ts-check
//
// npm test                 lint, build, OpenAPI document, unit and end-to-end tests on a database of their own
// npm run test:unit        the unit tests alone, without a database
// npm run test:e2e         build, and the end-to-end tests alone
//
// What follows `--` goes to Jest: npm run test:e2e -- -t refresh
import { spawn } from 'node:child_process';
import path from 'node:path';
import { provideDatabase } from './local-database.mjs';
import { runJest } from './support/jest.mjs';
import { watchParent } from './support/parent.mjs';

/** @typedef {import('./support/jest.mjs').Tally} Tally */

const PROJECT = path.resolve(import.meta.dirname, '..');

/** The command that is running now, to be ended when we are told to end. */
let current = /** @type {import('node:child_process').ChildProcess | undefined} */ (undefined);
let interrupted = false;

/** Steps that are no tests and failed: named again at the end, as what follows them scrolls them away. @type {string[]} */
const failedSteps = [];

/**
 * @param {string} line
 */
function say(line) {
  console.log(`[test] ${line}`);
}

/**
 * Runs a command of this project and shows its output.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<boolean>} whether it succeeded
 */
function execute(command, args, env = process.env) {
  if (interrupted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: PROJECT, env, stdio: ['ignore', 'inherit', 'inherit'] });
    current = child;
    child.once('error', (error) => {
      console.error(error.message);
      resolve(false);
    });
    child.once('exit', (code) => resolve(code === 0));
  });
}

/**
 * A step that is no test counts as one failure if it fails, and as nothing if it succeeds.
 *
 * @param {string} title
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<Tally>}
 */
async function step(title, command, args) {
  say(title);
  const ok = await execute(command, args);
  if (!ok) failedSteps.push(title);
  return { passed: 0, failed: ok ? 0 : 1 };
}

/**
 * @param {('unit' | 'e2e')[]} projects
 * @param {string[]} extraArgs
 * @returns {Promise<Tally>}
 */
async function testOnDatabase(projects, extraArgs) {
  const database = await provideDatabase({ purpose: 'test', say });
  try {
    return await runJest({ projects, extraArgs, execute, env: { ...process.env, DATABASE_URL: database.url } });
  } finally {
    await database.stop();
    console.log(`\nDatabase: ${database.version}`);
  }
}

/**
 * @param {'all' | 'unit' | 'e2e'} what
 * @param {string[]} extraArgs
 * @returns {Promise<Tally>}
 */
async function test(what, extraArgs) {
  if (what === 'unit') {
    const result = await runJest({ projects: ['unit'], extraArgs, execute, env: process.env });
    console.log('\nDatabase: none, unit tests need none');
    return result;
  }
  const lint = what === 'all' ? await step('Lint', 'npm', ['run', '--silent', 'lint']) : { passed: 0, failed: 0 };
  const build = await step('Build', 'npm', ['run', '--silent', 'build']);
  // Some end-to-end tests run the build: without one their failures would say nothing.
  if (build.failed > 0) return { passed: 0, failed: lint.failed + build.failed };
  const openApi = await step('OpenAPI document', process.execPath, ['tools/openapi.mjs']);
  const result = await testOnDatabase(what === 'all' ? ['unit', 'e2e'] : ['e2e'], extraArgs);
  return { passed: result.passed, failed: result.failed + lint.failed + openApi.failed };
}

/** Lets the current command end; what follows it is skipped, and the database is stopped as always. */
function interrupt() {
  interrupted = true;
  current?.kill('SIGTERM');
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, interrupt);
watchParent(interrupt);

const [first = '', ...rest] = process.argv.slice(2);
const what = first === 'unit' || first === 'e2e' ? first : 'all';
const extraArgs = what === 'all' ? process.argv.slice(2) : rest;
/** @type {Tally} */
let result;
try {
  result = await test(what, extraArgs);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  result = { passed: 0, failed: 1 };
}
if (interrupted) result.failed = Math.max(result.failed, 1);
for (const title of failedSteps) console.log(`FAILED: ${title} (see above)`);
console.log(`${result.passed} passed, ${result.failed} failed`);
process.exitCode = result.failed > 0 ? 1 : 0;
