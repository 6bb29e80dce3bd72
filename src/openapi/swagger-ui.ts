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
 */
export function completeTriedRequest(request: TriedRequest): TriedRequest {
  const { pathname, search } = new URL(request.url, location.origin);
  request.url = location.origin + pathname + search;
  if (typeof request.body === 'string') {
    const suffix = Math.random().toString(36).slice(2, 10);
    request.body = request.body.replace(/("external_id"\s*:\s*"(?:PED-1001|DEV-1|SORRY-1))"/, `$1-${suffix}"`);
  }
  return request;
}

/** Shows requests and live responses completely, and headers when the mouse is over them. */
const STYLE = `
.swagger-ui .topbar { display: none; }
.swagger-ui .body-param__text { field-sizing: content; }
.swagger-ui .parameters input[type='text'] { max-width: 400px; width: 100%; }
.swagger-ui .live-responses-table .highlight-code > .microlight { max-height: none; }
.swagger-ui .live-responses-table div:not(:hover, :last-child) > h5 + pre { display: none; }
.swagger-ui .headers-wrapper:not(:hover) table { display: none; }
.swagger-ui .headers-wrapper h4::after, .swagger-ui .live-responses-table div:not(:last-child) > h5:has(+ pre)::after { content: ' ▾'; }
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
      defaultModelsExpandDepth: 0,
      requestInterceptor: completeTriedRequest,
    },
  });
}
