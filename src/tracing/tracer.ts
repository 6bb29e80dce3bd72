import { createRequire } from 'node:module';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation, ExpressLayerType } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { MySQL2Instrumentation } from '@opentelemetry/instrumentation-mysql2';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, ConsoleSpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { redact } from './redaction.js';

/** What is asked every few seconds, and is not what anybody wants to know the course of. */
const NOT_TRACED = /^\/(health|metrics)(\/|\?|$)/;

/**
 * Records a span for each request, for its handler and for each of its queries. Endpoint, headers, sampling, batches and
 * the resource's attributes are read by the libraries from OpenTelemetry's own variables.
 *
 * @returns what sends the rest and ends it.
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
      // Without this the statements would be recorded with their parameters filled in.
      new MySQL2Instrumentation({ maskStatement: true }),
    ],
  });
  // The instrumentations change prototypes when a module is required. All three are CommonJS or Node's own, so whoever
  // imports them later gets the same objects: no loader of ES modules has to be hooked.
  const require = createRequire(import.meta.url);
  for (const traced of ['node:http', 'express', 'mysql2']) require(traced);
  return () => provider.shutdown();
}
