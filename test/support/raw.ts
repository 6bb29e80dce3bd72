import { connect } from 'node:net';
import type { Answer, Body } from './client.js';
import type { Service } from './service.js';

/**
 * Sends raw bytes, which can be invalid HTTP, and reads the one response until the server closes the connection. The
 * request must contain `connection: close` or be so malformed that the server closes it.
 */
export async function sendBytes(service: Pick<Service, 'url'>, bytes: string | Buffer): Promise<Answer> {
  const { hostname, port } = new URL(service.url);
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => resolve());
    socket.on('error', (error) => (chunks.length > 0 ? resolve() : reject(error)));
    socket.setTimeout(60_000, () => socket.destroy(new Error('the server neither answered nor closed')));
  });
  return parseAnswer(Buffer.concat(chunks).toString());
}

/** A raw request. `Host`, `Connection`, and `Content-Length` are added unless `headers` sets them. */
export function aRequest(
  line: string,
  headers: Record<string, string | undefined> = {},
  body: string | Buffer = '',
): Buffer {
  const fields = {
    host: 'localhost',
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  const head = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\r\n`],
  );
  return Buffer.concat([Buffer.from(`${line} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'), Buffer.from(body)]);
}

/** Parses a raw response. */
export function parseAnswer(text: string): Answer {
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...fields] = text.slice(0, end).split('\r\n');
  const headers = new Headers(
    fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1).trim()]),
  );
  const body = text.slice(end + 4);
  const isJson = (headers.get('content-type') ?? '').includes('json') && body !== '';
  return { status: Number(statusLine.split(' ')[1]), headers, body: (isJson ? JSON.parse(body) : body) as Body };
}
