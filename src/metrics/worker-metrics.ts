import cluster from 'node:cluster';
import { AggregatorRegistry, type Registry } from 'prom-client';

/** A worker asks its supervisor for the metrics of all. */
export interface MetricsQuestion {
  metricsQuestion: number;
}

export interface MetricsAnswer {
  metricsAnswer: number;
  text: string;
}

export function isMetricsQuestion(message: unknown): message is MetricsQuestion {
  return typeof message === 'object' && message !== null && 'metricsQuestion' in message;
}

let questions = 0;
const waiting = new Map<number, (text: string) => void>();

/** Lets the supervisor of this worker, if it has one, collect these figures and answer with those of all. */
export function offerMetrics(registry: Registry): void {
  if (!cluster.isWorker) return;
  // The library listens for the supervisor's wish as soon as there is one of these.
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries([registry]);
  process.on('message', (message: Partial<MetricsAnswer> | null) => {
    const { metricsAnswer = 0, text = '' } = message ?? {};
    waiting.get(metricsAnswer)?.(text);
    waiting.delete(metricsAnswer);
  });
}

/** The figures of all workers; of this process alone where it has no supervisor. */
export function allMetrics(registry: Registry): Promise<string> {
  if (!cluster.isWorker) return registry.metrics();
  const metricsQuestion = ++questions;
  return new Promise((resolve) => {
    waiting.set(metricsQuestion, resolve);
    process.send?.({ metricsQuestion } satisfies MetricsQuestion);
  });
}
