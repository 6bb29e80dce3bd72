import { isUtf8 } from 'node:buffer';
import { json, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { Problem } from './problem.js';

const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 64;

/**
 * The one reader of request bodies: JSON in UTF-8, at most 256 KiB, and a Problem for everything else.
 * Nest's own parser also takes forms, and its refusals look unlike each other.
 */
export function readJsonBody(): RequestHandler {
  const parse = json({ limit: MAX_BYTES, strict: false, type: () => true, verify: refuseWhatJsonParseWouldBend, reviver: dropReservedNames });
  return (request: Request, response: Response, next: NextFunction) => {
    if (!hasBody(request)) return next();
    if (!request.is('application/json') || !isInUtf8(request)) return next(unsupported(request.headers['content-type'] ?? 'none'));
    // body-parser would first read all that was announced, however much that is.
    if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) return next(tooLarge());
    parse(request, response, (error?: unknown) => next(error === undefined ? undefined : asProblem(error)));
  };
}

/** RFC 9112, section 6.3: a body is announced by one of these two header fields. */
function hasBody(request: Request): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}

/** body-parser would also decode UTF-7, UTF-16 and UTF-32, in which brackets and quotes have other bytes. */
function isInUtf8(request: Request): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  return /^utf-?8$/i.test(charset.trim());
}

const tooLarge = (): Problem => new Problem('payload_too_large', { detail: `a request body is at most ${MAX_BYTES} bytes` });

const unsupported = (got: string): Problem =>
  new Problem('unsupported_media_type', { detail: `content-type must be application/json in UTF-8; it was: ${got.slice(0, 100)}` });

/**
 * Broken UTF-8 would become U+FFFD and make two ids one; a body of a hundred thousand brackets would
 * exhaust the stack of whoever walks it.
 */
function refuseWhatJsonParseWouldBend(_request: unknown, _response: unknown, body: Buffer): void {
  if (!isUtf8(body)) throw new Problem('malformed_json', { detail: 'the body is not valid UTF-8' });
  let depth = 0;
  let inString = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === 0x22) inString = !inString;
    else if (inString) at += byte === 0x5c ? 1 : 0;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    if (depth > MAX_DEPTH) throw new Problem('malformed_json', { detail: `the body is nested deeper than ${MAX_DEPTH} levels` });
  }
}

/** No member of ours is called so; class-transformer takes an object's own `constructor` for its class, and throws. */
function dropReservedNames(name: string, value: unknown): unknown {
  return name === 'constructor' || name === '__proto__' ? undefined : value;
}

/** body-parser names what went wrong in `type`. */
function asProblem(error: unknown): unknown {
  // body-parser has made the thrown Problem an http-error too, which Nest would take for one of Express's own.
  if (error instanceof Problem) return new Problem(error.code, { detail: error.message });
  const { type = '', message = 'unknown', status } = error as { type?: string; message?: string; status?: number };
  if (type === 'entity.too.large') return tooLarge();
  if (type === 'charset.unsupported' || type === 'encoding.unsupported') return unsupported(message);
  // Broken compression and the like come without a type, but with a status of 4xx.
  if (type === '' && status === undefined) return error;
  return new Problem('malformed_json', { detail: type === 'entity.parse.failed' ? message : 'the body could not be read' });
}
