import cluster, { type Worker } from 'node:cluster';
import type { Logger } from 'pino';
import { AggregatorRegistry } from 'prom-client';
import { isMetricsQuestion, type MetricsAnswer } from './metrics/worker-metrics.js';

const PAUSE_BEFORE_RESTART_MS = 1000;

/** Whether this process only watches over others that serve. */
export function isSupervisor(workers: number): boolean {
  return workers > 1 && cluster.isPrimary;
}

/**
 * Runs so many processes of the service on one port. One that dies is replaced; on SIGTERM all end in good
 * order, and then this one does. It serves nothing itself, but adds up the workers' metrics.
 */
export function superviseWorkers(count: number, logger: Logger): void {
  const metrics = new AggregatorRegistry();
  let isEnding = false;
  let exitCode = 0;
  const startOne = (): void => {
    if (!isEnding) cluster.fork();
  };
  const end = (): void => {
    isEnding = true;
    for (const worker of workers()) worker.process.kill('SIGTERM');
    if (workers().length === 0) process.exit(exitCode);
  };
  cluster.on('exit', (worker, code, signal) => {
    if (code !== 0) logger.error({ pid: worker.process.pid, code, signal }, 'worker died');
    if (!isEnding) return void setTimeout(startOne, PAUSE_BEFORE_RESTART_MS);
    // One that had not begun to listen yet has no way to end but by the signal itself.
    if (signal !== 'SIGTERM') exitCode ||= code ?? 1;
    if (workers().length === 0) process.exit(exitCode);
  });
  cluster.on('message', (worker: Worker, message: unknown) => {
    if (!isMetricsQuestion(message)) return;
    const answer = (text: string): boolean =>
      worker.send({ metricsAnswer: message.metricsQuestion, text } satisfies MetricsAnswer);
    metrics.clusterMetrics().then(answer, () => answer(''));
  });
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  for (let started = 0; started < count; started++) startOne();
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}
