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
 * - An `expires_at` that is past is an hour from now.
 */
export function completeTriedRequest(request: TriedRequest): TriedRequest {
  const page = (globalThis as unknown as { location: { origin: string } }).location;
  const { pathname, search } = new URL(request.url, page.origin);
  request.url = page.origin + pathname + search;
  if (typeof request.body === 'string') {
    const suffix = Math.random().toString(36).slice(2, 10);
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    request.body = request.body
      .replace(/("external_id"\s*:\s*"(?:PED-1001|DEV-1|CRED-1))"/, `$1-${suffix}"`)
      .replace(/("expires_at"\s*:\s*)"([^"]*)"/, (member: string, name: string, instant: string) =>
        Date.parse(instant) < Date.now() ? `${name}"${inAnHour}"` : member,
      );
  }
  return request;
}
