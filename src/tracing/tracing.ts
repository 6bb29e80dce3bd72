import { setTimeout as sleep } from 'node:timers/promises';

/** A collector that does not answer must not hold up the end of the service. */
const FLUSH_WITHIN_MS = 3000;

let flush: (() => Promise<void>) | undefined;

/**
 * Starts tracing if OpenTelemetry's own variables ask for it; otherwise nothing of it is even loaded. It must be
 * done before anything that is traced is used.
 */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<void> {
  if (!isTracingWanted(env)) return;
  const { startTracer } = await import('./tracer.js');
  flush = startTracer(env);
}

/** Sends what has been recorded and not yet sent. */
export async function finishTracing(): Promise<void> {
  await Promise.race([flush?.().catch(() => undefined), sleep(FLUSH_WITHIN_MS, undefined, { ref: false })]);
}

/** Whether spans have somewhere to go: an endpoint, or an exporter that needs none or has one by default. */
export function isTracingWanted(env: NodeJS.ProcessEnv): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  const exporter = env.OTEL_TRACES_EXPORTER?.trim() ?? '';
  if (exporter !== '') return ['otlp', 'console'].includes(exporter);
  return Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
}
