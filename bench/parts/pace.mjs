// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Step } from '../load.mjs' */
import { warmUp } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { sales } from '../operations.mjs';
import { pace } from '../pace.mjs';
import { memoryMiB } from '../processes.mjs';
import { printTable } from '../report.mjs';
import { CUSTOMERS, openShop } from '../seed.mjs';

const PER_SECOND = 300;

/**
 * Sales in one request at a steady rate for a long time, as their callers see them.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measurePace(lab, { minutes }) {
  const { schema } = await openShop(lab, 'bench_pace', CUSTOMERS);
  const { url, pid, stop } = await lab.startService(schema);
  const steps = sales(await logIn(url));
  await warmUp(url, steps);
  const before = memoryMiB(pid).resident;
  lab.say(`${PER_SECOND} sales per second for ${minutes} minutes`);
  const step = /** @type {Step} */ (steps[0]);
  const figures = await pace({ url, step, perSecond: PER_SECOND, seconds: 60 * minutes });
  const memory = { before, ...memoryMiB(pid) };
  const { requests, perSecond, p50, p95, p99, refused } = figures;
  printTable(
    `Sales in one request at ${PER_SECOND} per second`,
    ['sales', 'per second', 'p50 ms', 'p95', 'p99', 'refused', 'MiB before', 'after', 'at most'],
    [
      [String(requests), perSecond.toFixed(0), ...[p50, p95, p99].map((ms) => ms.toFixed(1)), String(refused)].concat(
        [memory.before, memory.resident, memory.peak].map(String),
      ),
    ],
  );
  await stop();
  return { ...figures, memory };
}
