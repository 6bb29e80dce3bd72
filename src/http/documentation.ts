import { STATUS_CODES } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import type { Request, Response } from 'express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

const DESCRIPTION = `
Cashback orders for merchants' systems: log in, create an order and learn what cashback the customer can redeem
on it and will receive for it; then complete, cancel or refund it.

* Money is a decimal string in BRL, such as \`"150.00"\`. Instants are RFC 3339 in UTC.
* Every failure is \`application/problem+json\` (RFC 9457) with a stable \`code\`.
* Every answer carries \`x-request-id\`: the caller's own, if it sent one.
* Log in, press **Authorize** and paste the \`access_token\`; then "Try it out" works.
`;

/** The OpenAPI 3.1 document of the service. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Cashback order service')
    .setDescription(DESCRIPTION)
    .setVersion('1.0')
    .addServer('/', 'This service')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The `access_token` of a login or a refresh' })
    .addTag('auth', 'Login, refresh and logout of API users')
    .addTag('orders', 'Orders, from their creation to their refunds')
    .addTag('wallets', "Customers' cashback with the merchant")
    .addTag('operation', 'For operators of the service')
    .build();
  const document = SwaggerModule.createDocument(app, config, { operationIdFactory: (_controller, method) => method });
  for (const operation of operationsOf(document)) completeOperation(operation);
  return document;
}

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

function operationsOf(document: OpenAPIObject): Operation[] {
  return Object.values(document.paths).flatMap(({ get, put, post }) =>
    [get, put, post].filter((operation) => operation !== undefined),
  );
}

/** Adds what Nest leaves out: that a route needs no token, and the description of a success. */
function completeOperation(operation: Operation): void {
  operation.security ??= [];
  for (const [status, response] of Object.entries(operation.responses)) {
    if (response && 'description' in response) response.description ||= STATUS_CODES[status] ?? status;
  }
}

/** Swagger UI at `/docs`, where `/` leads, and the document itself at `/docs-json`. */
export function serveDocumentation(app: INestApplication): void {
  app.getHttpAdapter().get('/', (_request: Request, response: Response) => response.redirect('/docs'));
  SwaggerModule.setup('docs', app, () => openApiDocument(app), {
    customSiteTitle: 'Cashback order service',
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true, tryItOutEnabled: true },
  });
}
