import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startGuarded, untilReady } from '../../tools/support/guarded-process.mjs';
import { findFreePort } from '../../tools/support/ports.mjs';
import { makeTempFolder, run } from '../../tools/support/processes.mjs';

/** Whether the programs of Prometheus are available. `npm test` does not require them. */
export const hasPrometheus =
  (await run('prometheus', ['--version'], { timeoutMs: 10_000 })).ok &&
  (await run('promtool', ['--version'], { timeoutMs: 10_000 })).ok;

/** What Prometheus returns for each series. */
interface Series {
  metric: Record<string, string>;
  value: [number, string];
}

/** A private Prometheus. */
export interface Prometheus {
  /** Evaluates an expression now. @returns the value of each series. */
  query(expression: string): Promise<number[]>;
  /** Evaluates an expression now. @returns the labels of each series. */
  labels(expression: string): Promise<Record<string, string>[]>;
  stop(): Promise<void>;
}

/** The token that `startPrometheus` sends to the service. */
export const METRICS_TOKEN = 'a-token-for-the-metrics';

/**
 * Writes what `ops/prometheus.yml` says to copy, with other targets, into a folder.
 *
 * @param targets addresses such as `127.0.0.1:3000` by job. Other jobs keep their targets.
 * @returns the path of the configuration
 */
export function copyConfiguration(folder: string, targets: Record<string, string[]> = {}): string {
  let text = readFileSync('ops/prometheus.yml', 'utf8').replaceAll('_interval: 15s', '_interval: 1s');
  for (const [job, addresses] of Object.entries(targets)) {
    const ofJob = new RegExp(`(job_name: ${job}\n[^]*?targets: )\\[.*\\]`);
    if (!ofJob.test(text)) throw new Error(`ops/prometheus.yml has no job ${job} with targets`);
    // JSON is YAML.
    text = text.replace(ofJob, `$1${JSON.stringify(addresses)}`);
  }
  const config = path.join(folder, 'prometheus.yml');
  writeFileSync(config, text);
  writeFileSync(path.join(folder, 'metrics-token'), METRICS_TOKEN);
  copyFileSync('ops/alerts.yml', path.join(folder, 'alerts.yml'));
  return config;
}

/**
 * Starts a Prometheus with `ops/prometheus.yml` that collects metrics every second.
 *
 * @param targets the addresses of each job
 */
export async function startPrometheus(targets: Record<string, string[]>): Promise<Prometheus> {
  const folder = makeTempFolder('cashback-prometheus');
  const port = await findFreePort();
  const config = copyConfiguration(folder, targets);
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const running = await startGuarded({
    command: 'prometheus',
    args,
    output: { file: '/dev/null' },
    litter: folder,
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await running.end(5000);
    rmSync(folder, { recursive: true, force: true });
  };
  if (!(await untilReady(url, running, '/-/ready'))) {
    await stop();
    throw new Error('Prometheus did not become ready');
  }
  const evaluate = async (expression: string): Promise<Series[]> => {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const { status, error, data } = (await response.json()) as {
      status: string;
      error: string;
      data: { result: Series[] };
    };
    if (status !== 'success') throw new Error(`${expression}: ${error}`);
    return data.result;
  };
  return {
    query: async (expression) => (await evaluate(expression)).map(({ value }) => Number(value[1])),
    labels: async (expression) => (await evaluate(expression)).map(({ metric }) => metric),
    stop,
  };
}
