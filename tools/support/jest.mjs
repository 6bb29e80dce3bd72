// @ts-check
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { makeTempFolder } from './processes.mjs';

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Tally
 * @typedef {'unit' | 'short' | 'e2e' | 'edge' | 'endurance'} Project
 * @typedef {object} Results
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numRuntimeErrorTestSuites
 * @property {{ assertionResults: { fullName: string, status: string }[] }[]} testResults
 */

/** How long Jest may take to exit after the last test. */
const EXIT_SECONDS = 15;

/** Options of Jest that select tests by their title: then the other tests are not worth a line. */
const SELECTS_BY_TITLE = /^(-t|--testNamePattern)/;

/**
 * Runs Jest and reads the numbers from its own result file.
 *
 * @param {object} options
 * @param {Project[]} options.projects
 * @param {string[]} options.extraArgs what the caller typed after `--`
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {(command: string, args: string[], options: { env: NodeJS.ProcessEnv, signal: AbortSignal }) => Promise<boolean>} options.execute
 *   shows the output of a command and returns whether it succeeded
 * @returns {Promise<Tally>}
 */
export async function runJest({ projects, extraArgs, env = process.env, execute }) {
  const folder = makeTempFolder('cashback-jest');
  const resultFile = path.join(folder, 'results.json');
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = [
    'node_modules/jest/bin/jest.js',
    '--selectProjects',
    ...projects,
    '--json',
    `--outputFile=${resultFile}`,
    // The endurance tests load the machine: one file at a time.
    ...(projects.includes('endurance') ? ['--maxWorkers=1'] : []),
  ];
  const { signal, stop } = watchExit(resultFile);
  try {
    const ok = await execute(process.execPath, [...node, ...jest, ...extraArgs], { env, signal });
    return tally(resultFile, ok, !extraArgs.some((arg) => SELECTS_BY_TITLE.test(arg)));
  } finally {
    stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Jest does not exit while a test has left something open, such as a connection. That is a failure, and must not last
 * forever: after a while the signal aborts Jest.
 *
 * @param {string} resultFile exists when the tests are done
 */
function watchExit(resultFile) {
  const controller = new AbortController();
  let seconds = 0;
  const timer = setInterval(() => {
    if (existsSync(resultFile)) seconds += 1;
    if (seconds < EXIT_SECONDS) return;
    console.error('FAILED: Jest does not exit, because a test left something open (jest --detectOpenHandles)');
    clearInterval(timer);
    controller.abort();
  }, 1000);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}

/**
 * A file that could not be loaded has no failed tests, and Jest can fail for other reasons: either is at least one failure.
 *
 * @param {string} resultFile
 * @param {boolean} ok whether Jest succeeded
 * @param {boolean} listsSkipped
 * @returns {Tally}
 */
function tally(resultFile, ok, listsSkipped) {
  if (!existsSync(resultFile)) return { passed: 0, failed: 1, skipped: 0 };
  /** @type {Results} */
  const results = JSON.parse(readFileSync(resultFile, 'utf8'));
  const tests = results.testResults.flatMap((file) => file.assertionResults);
  if (listsSkipped)
    for (const { fullName, status } of tests) if (status === 'pending') console.log(`SKIPPED: ${fullName}`);
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  return {
    passed: results.numPassedTests,
    failed: ok ? failed : Math.max(failed, 1),
    skipped: results.numPendingTests,
  };
}
