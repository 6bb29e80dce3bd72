import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import express, { type Response } from 'express';
import { promisify } from 'node:util';
import { Config } from '../config/config.js';
import { networkOf } from '../config/network.js';
import { type Quotas, RateLimiter, SANDBOX_STORAGE } from '../rate-limits/rate-limiter.js';
import { Problem } from '../values/problem.js';
import { type AppRequest } from './app-request.js';
import { startBodyDeadline, startDeadline } from './http-server.js';
import { refuseUnexpectedBody, refuseUnexpectedQuery } from './validation.pipe.js';

const MAX_BYTES = 256 * 1024;

/** Invalid bytes would become U+FFFD, which makes different IDs equal. */
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

const readBytes = promisify(express.raw({ limit: MAX_BYTES, inflate: false, type: () => true }));

/** A body of these has no meaning (RFC 9110, section 9.3). */
export const SAFE_METHODS = ['GET', 'HEAD'];

/** Reads the body after the other guards, so that none is read without a valid token. */
@Injectable()
export class BodyGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const [request, response] = context.getArgs<[AppRequest, Response]>();
    refuseUnexpectedQuery(context);
    if (!SAFE_METHODS.includes(request.method)) await readJsonBody(request, response);
    refuseUnexpectedBody(context);
    return true;
  }
}

/** Reads a JSON body in UTF-8 into `request.body`; undefined if there is none. Express would not refuse other bytes. */
async function readJsonBody(request: AppRequest, response: Response): Promise<void> {
  if (lengthOf(request) === 0) return;
  refuseUnreadableBody(request);
  startBodyDeadline(request, response);
  try {
    await readBytes(request, response);
  } catch (error) {
    const { type, message } = error as { type?: string; message: string };
    throw type === 'entity.too.large' ? tooLarge() : malformed(message);
  } finally {
    startDeadline(request, response);
  }
  request.body = parse(request.body);
}

function parse(body: unknown): unknown {
  // Nothing is read if the client disconnected before. That must not pass for a request without a body.
  if (!Buffer.isBuffer(body)) throw malformed('the body did not arrive');
  if (body.length === 0) return undefined;
  return parseJson(decode(body));
}

function decode(body: Buffer): string {
  try {
    return UTF_8.decode(body);
  } catch {
    throw malformed('the body is not valid UTF-8');
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw malformed((error as Error).message);
  }
}

/** RFC 9112, section 6.3: a body has one of these two header fields. Without a length, it may be the largest. */
function lengthOf({ headers }: AppRequest): number {
  return Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : MAX_BYTES));
}

/** Refuses a body that the headers already show to be unreadable, before it arrives. */
function refuseUnreadableBody(request: AppRequest): void {
  if (!request.is('application/json') || !isInUtf8(request))
    throw unsupported(request.headers['content-type'] ?? 'none');
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') throw compressed(encoding);
  if (lengthOf(request) > MAX_BYTES) throw tooLarge();
}

/** JSON must be in UTF-8 (RFC 8259, section 8.1). */
function isInUtf8(request: AppRequest): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  return /^utf-?8$/i.test(charset.trim());
}

const malformed = (detail: string): Problem => new Problem('malformed_json', { detail });

const tooLarge = (): Problem =>
  new Problem('payload_too_large', { detail: `a request body is limited to ${MAX_BYTES} bytes` });

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

const QUOTAS = 'quotas';

/**
 * Limits the requests to a route or a controller: per API user, or per network if the route needs no access token.
 * Routes with the same quotas share one count per caller. On a route, it replaces that of the controller.
 */
export function RateLimit(quotas: Quotas): MethodDecorator & ClassDecorator {
  return SetMetadata(QUOTAS, quotas);
}

/** Counts a request under the quotas of its route, if any. Runs after the guard that authenticates the caller. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: Config,
    private readonly limiter: RateLimiter,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    const quotas = this.reflector.getAllAndOverride<Quotas | undefined>(QUOTAS, targets);
    if (quotas === undefined) return true;
    const request = context.switchToHttp().getRequest<AppRequest>();
    const { user, ip, method } = request;
    const network = ['network', networkOf(ip)];
    await this.limiter.count(quotas(this.config), user === undefined ? network : ['user', user.apiUserId]);
    const bytes = lengthOf(request);
    // A body that is too large is not read.
    if (SAFE_METHODS.includes(method) || bytes > MAX_BYTES) return true;
    await this.limiter.count(SANDBOX_STORAGE(this.config), network, Math.ceil(bytes / 1024) || 1);
    return true;
  }
}
