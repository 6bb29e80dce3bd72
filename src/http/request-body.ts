import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { Problem } from '../common/problem.js';
import { hasTooManyChunks, MAX_CHUNKS } from './request-class.js';

const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 64;
/** An order of 500 items has about 3,000. Hundreds of thousands fit in the bytes, and would take 100 ms to parse. */
const MAX_VALUES = 10_000;

/** Throws for invalid UTF-8, which would otherwise become U+FFFD and make different IDs equal. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Refuses a body that the request's headers already show to be unreadable.
 *
 * @throws Problem unsupported_media_type, payload_too_large.
 */
export function refuseUnreadableBody(request: Request): void {
  if (!hasBody(request)) return;
  if (!request.is('application/json') || !isInUtf8(request))
    throw unsupported(request.headers['content-type'] ?? 'none');
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') throw compressed(encoding);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) throw tooLarge();
}

/** RFC 9112, section 6.3: a request with a body has one of these two header fields. */
export function hasBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}

/**
 * Reads a JSON body in UTF-8. (body-parser refuses a body that is too large only after all of it has arrived.)
 *
 * @returns undefined for an empty body.
 * @throws Problem malformed_json, payload_too_large.
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw tooLarge();
      if (hasTooManyChunks(request)) throw tooManyChunks();
      chunks.push(chunk);
    }
  } catch (error) {
    // The rest of the body is discarded as it arrives, so that the client can read the response.
    if (!hasTooManyChunks(request)) request.resume();
    throw error instanceof Problem ? error : malformed('the body could not be read');
  }
  return parse(Buffer.concat(chunks));
}

/** JSON must be in UTF-8 (RFC 8259, section 8.1). */
function isInUtf8(request: Request): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  return /^utf-?8$/i.test(charset.trim());
}

const tooLarge = (): Problem =>
  new Problem('payload_too_large', { detail: `a request body is limited to ${MAX_BYTES} bytes` });

const tooManyChunks = (): Problem =>
  new Problem('payload_too_large', {
    detail: `a request body is limited to ${MAX_CHUNKS} chunks: buffer it before you send it`,
  });

const malformed = (detail: string): Problem => new Problem('malformed_json', { detail });

const unsupported = (got: string): Problem =>
  new Problem('unsupported_media_type', {
    detail: `content-type must be application/json in UTF-8; received: ${got.slice(0, 100)}`,
  });

/** A few bytes can decompress to the largest body. RFC 9110, section 15.5.16, says how to report it. */
const compressed = (encoding: string): Problem =>
  new Problem('unsupported_media_type', {
    detail: `a request body must not be compressed; content-encoding: ${encoding.slice(0, 100)}`,
    headers: { 'accept-encoding': 'identity' },
  });

function parse(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  refuseComplexity(body);
  let text: string;
  try {
    text = UTF_8.decode(body);
  } catch {
    throw malformed('the body is not valid UTF-8');
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw malformed((error as Error).message);
  }
}

/** Deeply nested JSON could exhaust the stack of a recursive function, and each value takes time and memory. */
function refuseComplexity(body: Buffer): void {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === 0x22) inString = !inString;
    else if (inString) at += byte === 0x5c ? 1 : 0;
    else if (byte === 0x2c) values++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    else if (byte === 0x7b || byte === 0x5b) {
      depth++;
      values++;
    }
    if (depth > MAX_DEPTH) throw malformed(`the body is nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES) throw malformed(`the body has more than ${MAX_VALUES} members and elements`);
  }
}
