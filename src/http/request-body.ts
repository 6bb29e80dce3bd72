import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import express, { type Request, type Response } from 'express';
import { Problem } from '../common/problem.js';

const MAX_DEPTH = 64;
/** An order of 500 items has about 3,000. Hundreds of thousands fit in the bytes, and would take 100 ms to parse. */
const MAX_VALUES = 10_000;

const parseJson = promisify(
  express.json({
    limit: '256kb',
    inflate: false,
    strict: false,
    type: () => true,
    verify: (_request, _response, body, encoding) => {
      if (encoding !== 'utf-8') throw new Problem('unsupported_media_type', { detail: 'JSON must be in UTF-8' });
      if (!isUtf8(body)) throw new Problem('malformed_json', { detail: 'the body is not valid UTF-8' });
      refuseComplexity(body);
    },
  }),
);

/** @throws Problem unsupported_media_type, payload_too_large, malformed_json. */
export async function readJsonBody(request: Request, response: Response): Promise<void> {
  if (request.headers['transfer-encoding'] === undefined && !Number(request.headers['content-length'])) return;
  if (!request.is('application/json')) throw new Problem('unsupported_media_type');
  try {
    await parseJson(request, response);
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { status, message } = error as { status?: number; message: string };
    if (status === 413) throw new Problem('payload_too_large', { detail: 'a request body is limited to 262144 bytes' });
    const headers = { 'accept-encoding': 'identity' };
    if (status === 415) throw new Problem('unsupported_media_type', { detail: message, headers });
    throw new Problem('malformed_json', { detail: message });
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
    if (depth > MAX_DEPTH) throw new Problem('malformed_json', { detail: `nested deeper than ${MAX_DEPTH} levels` });
    if (values > MAX_VALUES) throw new Problem('malformed_json', { detail: `more than ${MAX_VALUES} values` });
  }
}
