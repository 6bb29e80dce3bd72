import { createHash, timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Problem } from '../common/problem.js';
import { Config } from '../config/config.js';
import { bearerTokenOf } from '../http/app-request.js';

const CHALLENGE = { 'www-authenticate': 'Bearer realm="metrics"' };

/** Requires METRICS_TOKEN as a bearer token, if it is configured. */
@Injectable()
export class MetricsTokenGuard implements CanActivate {
  constructor(private readonly config: Config) {}

  canActivate(context: ExecutionContext): boolean {
    const { METRICS_TOKEN: expected } = this.config;
    if (expected === undefined) return true;
    const request = context.switchToHttp().getRequest<Request>();
    if (request.headers.authorization === undefined)
      throw new Problem('missing_token', { detail: 'An access token is required', headers: CHALLENGE });
    const given = bearerTokenOf(request) ?? '';
    // Digests have the same length, which `timingSafeEqual` requires.
    if (!timingSafeEqual(digestOf(given), digestOf(expected)))
      throw new Problem('invalid_token', { detail: 'The access token is not valid', headers: CHALLENGE });
    return true;
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
