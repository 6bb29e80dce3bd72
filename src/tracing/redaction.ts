import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';

/**
 * The attributes that are exported, in OpenTelemetry's old names and its stable ones. A path or a query can hold
 * anything, a caller's address is personal data: they are not exported.
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
 * Removes from each span what must not be exported: the attributes that are not in the list, the caller's `tracestate`,
 * and the texts of errors, because a database repeats the values that it refuses. The log has them, masked, under the request's id.
 */
export function redact(next: SpanProcessor): SpanProcessor {
  return {
    onStart: (span: Span, context) => next.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      for (const name of Object.keys(span.attributes)) if (!ALLOWED_ATTRIBUTES.has(name)) delete span.attributes[name];
      delete span.status.message;
      // What the caller's `tracestate` says is for the caller's vendors.
      delete span.spanContext().traceState;
      span.events.length = 0;
      next.onEnd(span);
    },
    forceFlush: () => next.forceFlush(),
    shutdown: () => next.shutdown(),
  };
}
