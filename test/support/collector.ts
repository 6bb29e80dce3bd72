import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

interface CollectedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  /** 2 is a server span; 3 is a client span, such as a query. */
  kind: number;
  attributes: Record<string, unknown>;
}

/** A span as it is sent. */
type SentSpan = Omit<CollectedSpan, 'attributes'> & { attributes: { key: string; value: Record<string, unknown> }[] };

/** An OpenTelemetry collector that receives OTLP over HTTP as JSON. */
export class Collector {
  /** The received bodies. */
  readonly received: string[] = [];
  readonly #server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      this.received.push(text);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get spans(): CollectedSpan[] {
    const bodies = this.received.map(
      (text) => JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[] },
    );
    return bodies
      .flatMap(({ resourceSpans }) => resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        ...span,
        attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
      }));
  }

  /** Waits until the span of the request, which ends last, has arrived. @returns the spans of the trace. */
  async trace(traceId: string): Promise<CollectedSpan[]> {
    for (let attempt = 0; attempt < 2000; attempt++) {
      const spans = this.spans.filter((span) => span.traceId === traceId);
      if (spans.some(({ kind }) => kind === 2)) return spans;
      await sleep(50);
    }
    throw new Error(`no complete trace ${traceId} among ${this.spans.length} spans`);
  }
}
