import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { Problem } from '../values/problem.js';

/** Every ID in a path is one, apart from the caller's `external_id`. */
const UUID = '[0-9a-f-]{36}';

type MethodsResponse = Response<unknown, { allow?: Set<string> }>;

/**
 * Refuses methods that a path does not support with a 405 that lists the supported ones (RFC 9110, section 15.5.6), and
 * paths that do not exist with a 404; Express has only the 404. Nest runs this hook when all routes exist, and adds its
 * handler for unknown paths after it.
 */
@Injectable()
export class AllowedMethods implements OnModuleInit {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
    const app = this.adapterHost.httpAdapter?.getInstance<Express>();
    const routes = methodsByPath(app);
    for (const [path, methods] of routes) app.all(path, noteMethods(methods));
    app.use(refuseMethod);
    app.use(refusePath([...routes.keys()]));
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

/** Several paths can match a request, such as `/orders/:id` and `/orders/search`. */
function noteMethods(methods: Set<string>): RequestHandler {
  return (_request, response: MethodsResponse, next) => {
    response.locals.allow = new Set([...(response.locals.allow ?? []), ...methods]);
    next();
  };
}

function refuseMethod(_request: Request, response: MethodsResponse, next: NextFunction): void {
  if (response.locals.allow === undefined) return next();
  const allow = [...response.locals.allow].sort().join(', ');
  next(new Problem('method_not_allowed', { detail: `allowed: ${allow}`, headers: { allow } }));
}

function refusePath(routes: string[]): RequestHandler {
  const existing = routes.map(
    (route) => new RegExp(`^${route.replace(':external_id', '[^/]+').replace(/:\w+/g, UUID)}$`),
  );
  return ({ path }, _response, next) => {
    const meant = path.replace(/^\/v\d+(?=\/)/, '').replace(/\/$/, '');
    const hint = existing.some((route) => route.test(meant)) ? `; did you mean "${meant}"?` : '';
    next(new Problem('route_not_found', { detail: `no operation has this path${hint}` }));
  };
}
