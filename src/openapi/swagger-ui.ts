import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { openApiDocument } from './document.js';

/** The location of the page, in the browser. */
declare const location: { origin: string };

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
  const { pathname, search } = new URL(request.url, location.origin);
  request.url = location.origin + pathname + search;
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

/** Shows live responses completely, and keeps the list of headers of all errors short. */
const STYLE = `
.swagger-ui .live-responses-table .highlight-code > .microlight { max-height: none; }
.swagger-ui .response[data-code='default'] .headers-wrapper { max-height: 80px; overflow-y: auto; }
`;

/** Serves Swagger UI at `/docs` and the document at `/docs-json`. `/` redirects to `/docs`. */
export function serveDocumentation(app: INestApplication): void {
  app.getHttpAdapter().get('/', (_request: Request, response: Response) => response.redirect('/docs'));
  SwaggerModule.setup('docs', app, () => openApiDocument(app), {
    customSiteTitle: 'Cashback order service',
    customCss: STYLE,
    swaggerOptions: {
      persistAuthorization: true,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      requestInterceptor: completeTriedRequest,
    },
  });
}
