import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';

/** An unresponsive collector must not delay the shutdown. */
const FLUSH_TIMEOUT_MS = 3000;

let flush: (() => Promise<void>) | undefined;

/**
 * Starts tracing if OpenTelemetry's own variables enable it; otherwise its libraries are not even loaded. Must be
 * called before the traced modules are loaded.
 */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<void> {
  if (!isTracingWanted(env)) return;
  const { startTracer } = await import('./tracer.js');
  flush = startTracer(env);
}

/** The variables name an endpoint, or an exporter that needs none or has a default. */
function isTracingWanted(env: NodeJS.ProcessEnv): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  const exporter = env.OTEL_TRACES_EXPORTER?.trim() ?? '';
  if (exporter !== '') return ['otlp', 'console'].includes(exporter);
  return Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
}

/** Sends the remaining spans at shutdown, after all requests have been answered. */
@Injectable()
export class TracingShutdown implements OnApplicationShutdown {
  async onApplicationShutdown(): Promise<void> {
    await Promise.race([flush?.().catch(() => undefined), sleep(FLUSH_TIMEOUT_MS, undefined, { ref: false })]);
  }
}
