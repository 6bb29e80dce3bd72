import type { ReadableSpan, Span, SpanProcessor } from '@opentelemetry/sdk-trace-node';

/**
 * The attributes that leave the house, in OpenTelemetry's old names and its stable ones. A path or a query can hold
 * anything, a caller's address is a person's: they stay here.
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
 * Takes from each span what must not leave, before it is handed on: the attributes that are not in the list, and the
 * words of errors, because a database repeats the values that it refuses. The log has them, masked, under the request's id.
 */
export function redact(next: SpanProcessor): SpanProcessor {
  return {
    onStart: (span: Span, context) => next.onStart(span, context),
    onEnd: (span: ReadableSpan) => {
      for (const name of Object.keys(span.attributes)) if (!ALLOWED_ATTRIBUTES.has(name)) delete span.attributes[name];
      delete span.status.message;
      span.events.length = 0;
      next.onEnd(span);
    },
    forceFlush: () => next.forceFlush(),
    shutdown: () => next.shutdown(),
  };
}
