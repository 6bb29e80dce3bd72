import { createRequire } from 'node:module';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation, ExpressLayerType } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { MySQL2Instrumentation } from '@opentelemetry/instrumentation-mysql2';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, ConsoleSpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { redact } from './redaction.js';

/** Frequent requests whose traces are of no use. */
const NOT_TRACED = /^\/(health|metrics)(\/|\?|$)/;

/**
 * Records a span for each request, for its handler and for each of its queries. The libraries read the endpoint,
 * headers, sampling, batches and resource attributes from OpenTelemetry's own variables.
 *
 * @returns a function that sends the remaining spans and stops tracing.
 */
export function startTracer(env: NodeJS.ProcessEnv): () => Promise<void> {
  const exporter = env.OTEL_TRACES_EXPORTER === 'console' ? new ConsoleSpanExporter() : new OTLPTraceExporter();
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'cashback-order-service' }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [redact(new BatchSpanProcessor(exporter))],
  });
  provider.register();
  registerInstrumentations({
    instrumentations: [
      new HttpInstrumentation({
        disableOutgoingRequestInstrumentation: true,
        ignoreIncomingRequestHook: ({ url = '' }) => NOT_TRACED.test(url),
      }),
      new ExpressInstrumentation({ ignoreLayersType: [ExpressLayerType.MIDDLEWARE, ExpressLayerType.ROUTER] }),
      // Otherwise statements are recorded with their parameter values.
      new MySQL2Instrumentation({ maskStatement: true }),
    ],
  });
  // The instrumentations patch a module when it is required. All three are CommonJS or built in, so later imports get
  // the same objects and no hook for ES modules is needed.
  const require = createRequire(import.meta.url);
  for (const traced of ['node:http', 'express', 'mysql2']) require(traced);
  return () => provider.shutdown();
}
