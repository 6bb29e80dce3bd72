/** A request that "Try it out" of Swagger UI is about to send. */
export interface TriedRequest {
  url: string;
  method: string;
  body?: unknown;
}

/**
 * Completes a request of "Try it out" in the browser. Swagger UI receives the source of this function, so it uses
 * nothing outside itself.
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
      .replace(/("external_id"\s*:\s*"(?:PED-1001|DEV-1|SORRY-1))"/, `$1-${suffix}"`)
      .replace(/("expires_at"\s*:\s*)"([^"]*)"/, (member: string, name: string, instant: string) =>
        Date.parse(instant) < Date.now() ? `${name}"${inAnHour}"` : member,
      );
  }
  return request;
}

/**
 * Makes responses compact, so that an opened operation fits on two screens of 900 pixels. Long examples and the headers
 * of errors scroll.
 */
export const COMPACT_STYLE = `
.swagger-ui .responses-inner .highlight-code > .microlight { max-height: 48px !important; }
.swagger-ui .opblock-body textarea.body-param__text { min-height: 104px !important; height: 104px; }
.swagger-ui .response-controls { padding-top: 0; margin: 0; }
.swagger-ui .response-control-media-type__title,
.swagger-ui .response-control-media-type__accept-message,
.swagger-ui .response-control-examples__title,
.swagger-ui .examples-select__section-label,
.swagger-ui .example__section-header { display: none; }
.swagger-ui .model-example { margin-top: 0; }
.swagger-ui .model-example .tab, .swagger-ui .response .tab { margin: 2px 0; padding: 0; }
.swagger-ui table.headers td, .swagger-ui table.headers th { padding: 1px 8px 1px 0 !important; }
.swagger-ui .response[data-code='default'] .headers-wrapper { max-height: 80px; overflow-y: auto; }
.swagger-ui .responses-table td { padding-top: 6px !important; }
.swagger-ui .opblock-description-wrapper, .swagger-ui .execute-wrapper { padding: 8px 20px; }
.swagger-ui .opblock-section-header { min-height: 36px; padding: 2px 20px; }
.swagger-ui .responses-inner, .swagger-ui .parameters-container { padding: 6px 20px; }
.swagger-ui table.parameters td { padding: 2px 0 !important; }
.swagger-ui .parameters-col_description { margin-bottom: 0; }
.swagger-ui .headers-wrapper h4, .swagger-ui .headers__title { margin: 2px 0; }
.swagger-ui .responses-inner h5 { margin: 4px 0; }
.swagger-ui .response .markdown p, .swagger-ui .response .renderedMarkdown p { margin: 2px 0; }
`;
