// @ts-check
//
// npm test                    build, unit tests and the short set of end-to-end tests, a list in jest.config.mjs, on a
//                             temporary database
// npm run test:all            build, OpenAPI document with its linters, unit tests and all end-to-end tests
// npm run test:unit           the unit tests, without a database
// npm run test:e2e            build and the end-to-end tests
// npm run test:edge           build and the tests of the service behind HAProxy; skipped without `haproxy`
// npm run test:endurance      build and the tests that take long: kills, outages, overload, long random runs
//
// Arguments after `--` go to Jest: npm run test:e2e -- -t refresh
// With BUILT=true, the tests use the build that is there, also several runs beside each other.
// The last line is `N passed, N failed` or `N passed, N failed, N skipped`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { provideDatabase } from './local-database.mjs';
import { runJest } from './support/jest.mjs';
import { messageOf, onInterrupt, PROJECT } from './support/processes.mjs';

/** @typedef {import('./support/jest.mjs').Tally} Tally */
/** @typedef {import('./support/jest.mjs').Project} Project */

/** What each first argument runs. @type {Map<string | undefined, Project[]>} */
const SUITES = new Map([
  ['all', ['unit', 'e2e']],
  ['unit', ['unit']],
  ['e2e', ['e2e']],
  ['edge', ['edge']],
  ['endurance', ['endurance']],
]);
/** What runs without one. @type {Project[]} */
const SHORT = ['unit', 'short'];
/** How long the model runs in the short set, unless the caller says it. */
const SHORT_MODEL = { MODEL_SEQUENCES: '20' };

/** The running commands, so that an interrupt can stop them. @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
let interrupted = false;

/** Failed steps other than tests. They are listed at the end, because later output hides them. @type {string[]} */
const failedSteps = [];

/** @param {string} line */
function say(line) {
  console.log(`[test ${Math.round(process.uptime())} s] ${line}`);
}

/**
 * Runs a command of this project.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, signal?: AbortSignal }} [options] `signal` stops the command, which then has failed
 * @returns {Promise<boolean>} whether it succeeded
 */
async function execute(command, args, { env = process.env, signal } = {}) {
  if (interrupted) return false;
  const child = spawn(command, args, { cwd: PROJECT, env, signal, stdio: ['ignore', 'inherit', 'inherit'] });
  running.add(child);
  try {
    const [code] = await once(child, 'close');
    return code === 0;
  } catch (error) {
    console.error(messageOf(error));
    return false;
  } finally {
    running.delete(child);
  }
}

/**
 * Runs a step that is not a test. A failed step counts as one failure.
 *
 * @param {string} title
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<boolean>} whether it succeeded
 */
async function step(title, command, args) {
  say(`${title}: started`);
  const ok = await execute(command, args);
  say(`${title}: ${ok ? 'passed' : 'FAILED'}`);
  if (!ok) failedSteps.push(title);
  return ok;
}

/** Without a build, nothing is tested, which is a failure. */
function isBuilt() {
  const isThere = existsSync(path.join(PROJECT, 'dist/openapi.json'));
  if (!isThere) failedSteps.push('BUILT=true without a build');
  return isThere;
}

/** @param {Project[]} projects @param {string[]} extraArgs */
async function testOnDatabase(projects, extraArgs) {
  const provided = provideDatabase({ purpose: projects.includes('endurance') ? 'endurance' : 'test', say });
  // The server starts during the build. Its failure is reported below.
  provided.catch(() => undefined);
  const built = process.env['BUILT'] === 'true' ? isBuilt() : await step('Build', 'npm', ['run', '--silent', 'build']);
  // They take half a minute of one processor, so only the whole set runs them, beside its tests.
  const linted =
    built && projects === SUITES.get('all')
      ? step('Linters of the OpenAPI document', process.execPath, ['tools/openapi-lint.mjs'])
      : undefined;
  const database = await provided;
  try {
    // Without a build, the tests that start it would fail, too.
    if (!built) return { passed: 0, failed: 0, skipped: 0 };
    const env = { ...(projects === SHORT ? SHORT_MODEL : {}), ...process.env, DATABASE_URL: database.url };
    return await runJest({ projects, extraArgs, execute, env });
  } finally {
    await linted;
    await database.stop();
    console.log(`\nDatabase: ${database.version}`);
  }
}

/** Runs what the arguments of this program say. @param {string[]} args */
function test(args) {
  const projects = SUITES.get(args[0]);
  if (projects === undefined) return testOnDatabase(SHORT, args);
  const extraArgs = args.slice(1);
  return args[0] === 'unit' ? runJest({ projects, extraArgs, execute }) : testOnDatabase(projects, extraArgs);
}

/** Stops the current commands. Later steps are skipped, and the database is stopped. */
function interrupt() {
  interrupted = true;
  for (const child of running) child.kill('SIGTERM');
}

onInterrupt(interrupt);

/** @type {Tally} */
let result;
try {
  result = await test(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  result = { passed: 0, failed: 1, skipped: 0 };
}
result.failed += failedSteps.length;
if (interrupted) result.failed = Math.max(result.failed, 1);
for (const title of failedSteps) console.log(`FAILED: ${title} (see above)`);
const skipped = result.skipped > 0 ? `, ${result.skipped} skipped` : '';
console.log(`${result.passed} passed, ${result.failed} failed${skipped}`);
process.exitCode = result.failed > 0 ? 1 : 0;
