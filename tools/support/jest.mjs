// @ts-check
import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { makeTempFolder } from './temp-folder.mjs';

/**
 * @typedef {{ passed: number, failed: number }} Tally
 * @typedef {'unit' | 'e2e' | 'endurance'} Project
 * @typedef {{ fullName: string, status: string, invocations?: number }} TestResult
 * @typedef {object} Results
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numRuntimeErrorTestSuites
 * @property {{ assertionResults: TestResult[] }[]} testResults
 */

/**
 * Runs Jest and reads what it counted from its own result file.
 *
 * @param {object} options
 * @param {Project[]} options.projects
 * @param {string[]} options.extraArgs what the caller typed after `--`
 * @param {NodeJS.ProcessEnv} options.env
 * @param {(command: string, args: string[], options: { env: NodeJS.ProcessEnv }) => Promise<boolean>} options.execute shows the
 *   command's output and says whether it succeeded
 */
export async function runJest({ projects, extraArgs, env, execute }) {
  const folder = makeTempFolder('cashback-jest');
  const resultFile = path.join(folder, 'results.json');
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = [
    'node_modules/jest/bin/jest.js',
    '--selectProjects',
    ...projects,
    '--json',
    // A test that failed may have left a connection open. The run must end all the same.
    '--forceExit',
    `--outputFile=${resultFile}`,
    // The tests of the endurance suite load the machine: one file at a time.
    ...(projects.includes('endurance') ? ['--maxWorkers=1'] : []),
  ];
  try {
    const ok = await execute(process.execPath, [...node, ...jest, ...extraArgs], { env });
    return tally(resultFile, ok);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A suite that could not even be loaded has no tests that fail, and Jest can fail for reasons that are no test's:
 * either is at least one failure.
 *
 * @param {string} resultFile
 * @param {boolean} ok whether Jest itself said that all is well
 */
function tally(resultFile, ok) {
  if (!existsSync(resultFile)) return { passed: 0, failed: 1 };
  /** @type {Results} */
  const results = JSON.parse(readFileSync(resultFile, 'utf8'));
  for (const { fullName, status, invocations } of results.testResults.flatMap((file) => file.assertionResults))
    if (status === 'passed' && (invocations ?? 1) > 1) console.log(`PASSED AT THE SECOND ATTEMPT: ${fullName}`);
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  return { passed: results.numPassedTests, failed: ok ? failed : Math.max(failed, 1) };
}
