import { createRequire } from 'node:module';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { ExpressInstrumentation, ExpressLayerType } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { MySQL2Instrumentation } from '@opentelemetry/instrumentation-mysql2';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ConsoleSpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Span,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-node';

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

/**
 * The attributes that are exported, with OpenTelemetry's old and its stable names. Paths, queries and client addresses
 * are not exported, because they can contain personal data.
 */
const ALLOWED_ATTRIBUTES = new Set([
  'http.method',
  'http.request.method',
  'http.route',
  'http.status_code',
  'http.response.status_code',
  'http.flavor',
  'network.protocol.version',
  'express.name',
  'express.type',
  'db.system',
  'db.system.name',
  'db.name',
  'db.namespace',
  'db.statement',
  'db.query.text',
  'db.operation.name',
  'error.type',
]);

/**
 * Removes from each span what must not be exported: attributes that are not in the list, the caller's `tracestate`, and
 * error messages, because those of the database contain values. The log has them, masked, under the request ID.
 */
function redact(next: SpanProcessor): SpanProcessor {
  return {
    onStart: (span: Span, context) => next.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      for (const name of Object.keys(span.attributes)) if (!ALLOWED_ATTRIBUTES.has(name)) delete span.attributes[name];
      delete span.status.message;
      // The caller's `tracestate` is meant for the caller's vendors.
      delete span.spanContext().traceState;
      span.events.length = 0;
      next.onEnd(span);
    },
    forceFlush: () => next.forceFlush(),
    shutdown: () => next.shutdown(),
  };
}
