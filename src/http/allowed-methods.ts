import type { Request } from 'express';

interface RouteLayer {
  match(path: string): boolean;
  route?: { methods: Record<string, boolean> };
}

/**
 * Returns the methods that the request's path supports, sorted; none if there is no such path. (RFC 9110, section
 * 15.5.6)
 */
export function allowedMethods(request: Request): string[] {
  const { stack } = (request.app as unknown as { router: { stack: RouteLayer[] } }).router;
  const methods = stack
    .filter((layer) => layer.route !== undefined && matches(layer, request.path))
    .flatMap((layer) => Object.keys(layer.route?.methods ?? {}))
    .map((method) => method.toUpperCase());
  if (methods.includes('_ALL')) return [];
  if (methods.includes('GET')) methods.push('HEAD');
  return [...new Set(methods)].sort();
}

/** Matching decodes the path's parameters, which throws for a path such as `/orders/%ff`. */
function matches(layer: RouteLayer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false;
  }
}
