import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, NextFunction, Request, Response } from 'express';
import { Problem } from '../common/problem.js';

/**
 * Refuses methods that a path does not support with a 405 that lists the supported ones (RFC 9110, section 15.5.6).
 * Nest runs this hook when all routes exist, and adds its handler for unknown paths after it.
 */
@Injectable()
export class AllowedMethods implements OnModuleInit {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
    const app = this.adapterHost.httpAdapter?.getInstance<Express>();
    for (const [path, methods] of methodsByPath(app))
      app.all(path, (_request: Request, _response: Response, next: NextFunction) => next(notAllowed(methods)));
  }
}

function methodsByPath(app: Express): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { route } of app.router.stack) {
    if (route === undefined) continue;
    const methods = found.get(route.path) ?? new Set();
    for (const { method } of route.stack) methods.add(method.toUpperCase());
    if (methods.has('GET')) methods.add('HEAD');
    found.set(route.path, methods);
  }
  return found;
}

function notAllowed(methods: Set<string>): Problem {
  const allow = [...methods].sort().join(', ');
  return new Problem('method_not_allowed', { detail: `allowed: ${allow}`, headers: { allow } });
}
