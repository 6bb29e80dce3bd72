import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startGuarded, untilReady } from '../../tools/support/guarded-process.mjs';
import { findFreePort } from '../../tools/support/ports.mjs';
import { makeTempFolder, run } from '../../tools/support/processes.mjs';

/** Whether the programs of Prometheus are available. `npm test` does not require them. */
export const hasPrometheus =
  (await run('prometheus', ['--version'], { timeoutMs: 10_000 })).ok &&
  (await run('promtool', ['--version'], { timeoutMs: 10_000 })).ok;

/** A private Prometheus. */
export interface Prometheus {
  /** Evaluates an expression now. @returns the value of each series. */
  query(expression: string): Promise<number[]>;
  stop(): Promise<void>;
}

/**
 * Starts a Prometheus that collects metrics every second.
 *
 * @param targets addresses such as `127.0.0.1:3000`, each of which serves `/metrics`
 * @param rules a file with rules
 */
export async function startPrometheus(targets: string[], rules: string): Promise<Prometheus> {
  const folder = makeTempFolder('cashback-prometheus');
  const port = await findFreePort();
  const config = path.join(folder, 'prometheus.yml');
  // JSON is YAML.
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [path.resolve(rules)],
      scrape_configs: [{ job_name: 'service', static_configs: [{ targets }] }],
    }),
  );
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
  return {
    query: async (expression) => {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { status, error, data } = (await response.json()) as any;
      if (status !== 'success') throw new Error(`${expression}: ${error}`);
      return data.result.map(({ value }: { value: [number, string] }) => Number(value[1]));
    },
    stop,
  };
}
