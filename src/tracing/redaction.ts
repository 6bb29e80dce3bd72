import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';

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
export function redact(next: SpanProcessor): SpanProcessor {
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
