/** A request that "Try it out" of Swagger UI is about to send. */
export interface TriedRequest {
  url: string;
  method: string;
  body?: unknown;
}

/**
 * Completes a request of "Try it out" in the browser. Swagger UI receives the source of this function, so it uses nothing
 * outside itself.
 *
 * - The request goes to the origin of the page: that is this service, whatever its public URL is.
 * - The `external_id` of an example gets a new suffix. Otherwise the second click would return the first order.
 */
export function completeTriedRequest(request: TriedRequest): TriedRequest {
  const page = (globalThis as unknown as { location: { origin: string } }).location;
  const { pathname, search } = new URL(request.url, page.origin);
  request.url = page.origin + pathname + search;
  if (typeof request.body === 'string') {
    const suffix = Math.random().toString(36).slice(2, 10);
    request.body = request.body.replace(/("external_id"\s*:\s*"(?:PED|DEV|CRED)-1(?:001)?)"/, `$1-${suffix}"`);
  }
  return request;
}
