import { type NextFunction, raw, type Request, type RequestHandler, type Response } from 'express';
import { Problem } from '../common/problem.js';

const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 64;

/** Broken UTF-8 would become U+FFFD and make two ids one: it throws instead. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** The names that are dropped, or an escape that could spell them: what hardly any body has, and what makes parsing slow. */
const MAY_NAME_RESERVED = /constructor|__proto__|\\u/;

/**
 * The one reader of request bodies: JSON in UTF-8, at most 256 KiB, and a Problem for everything else.
 * Nest's own parser also takes forms, and its refusals look unlike each other.
 */
export function readJsonBody(): RequestHandler {
  const read = raw({ limit: MAX_BYTES, type: () => true });
  return (request: Request, response: Response, next: NextFunction) => {
    if (!hasBody(request)) return next();
    if (!request.is('application/json') || !isInUtf8(request))
      return next(unsupported(request.headers['content-type'] ?? 'none'));
    // raw-body would first read all that was announced, however much that is.
    if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) return next(tooLarge());
    read(request, response, (error?: unknown) => {
      try {
        if (error !== undefined) throw asProblem(error);
        request.body = parse(request.body as Buffer);
      } catch (fault) {
        return next(fault);
      }
      next();
    });
  };
}

/** RFC 9112, section 6.3: a body is announced by one of these two header fields. */
function hasBody(request: Request): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) !== 0);
}

/** JSON travels in no other charset (RFC 8259, section 8.1). */
function isInUtf8(request: Request): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  return /^utf-?8$/i.test(charset.trim());
}

const tooLarge = (): Problem =>
  new Problem('payload_too_large', { detail: `a request body is at most ${MAX_BYTES} bytes` });

const malformed = (detail: string): Problem => new Problem('malformed_json', { detail });

const unsupported = (got: string): Problem =>
  new Problem('unsupported_media_type', {
    detail: `content-type must be application/json in UTF-8; it was: ${got.slice(0, 100)}`,
  });

/** @returns undefined for a body of no bytes. @throws Problem malformed_json. */
function parse(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  refuseDepth(body);
  let text: string;
  try {
    text = UTF_8.decode(body);
  } catch {
    throw malformed('the body is not valid UTF-8');
  }
  try {
    return JSON.parse(text, MAY_NAME_RESERVED.test(text) ? dropReservedNames : undefined) as unknown;
  } catch (error) {
    throw malformed((error as Error).message);
  }
}

/** A body of a hundred thousand brackets would exhaust the stack of whoever walks it. */
function refuseDepth(body: Buffer): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === 0x22) inString = !inString;
    else if (inString) at += byte === 0x5c ? 1 : 0;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    if (depth > MAX_DEPTH) throw malformed(`the body is nested deeper than ${MAX_DEPTH} levels`);
  }
}

/** No member of ours is called so; class-transformer takes an object's own `constructor` for its class, and throws. */
function dropReservedNames(name: string, value: unknown): unknown {
  return name === 'constructor' || name === '__proto__' ? undefined : value;
}

/** raw-body names what went wrong in `type`. */
function asProblem(error: unknown): unknown {
  const { type = '', message = 'unknown', status } = error as { type?: string; message?: string; status?: number };
  if (type === 'entity.too.large') return tooLarge();
  if (type === 'encoding.unsupported') return unsupported(message);
  // Broken compression and the like come without a type, but with a status of 4xx.
  if (type === '' && status === undefined) return error;
  return malformed('the body could not be read');
}
