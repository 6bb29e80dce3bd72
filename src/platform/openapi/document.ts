import { STATUS_CODES } from 'node:http';
import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, getSchemaPath as schemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Config } from '../config/config.js';
import { FEED_EVENTS, type FeedEventType } from '../values/domain-event.js';
import { headerReferences, type Operation, RESPONSE_HEADERS, type Schema } from './decorators.js';
import { describeProblems } from './problems.js';

const DESCRIPTION = `
Cashback orders for merchants' systems. Log in and create an order: the response says how much cashback the customer can
redeem on it, and how much the customer will receive for it. Then complete, cancel or refund the order.

* Money is a decimal string in BRL, such as \`"150.00"\`. Instants are RFC 3339 in UTC.
* Every error is \`application/problem+json\` (RFC 9457) with a stable \`code\`.
* Every response has an \`x-request-id\` header. If you send one, it is returned.
* To use "Try it out", log in, click **Authorize** and paste the \`access_token\`.
`;

const OF_SANDBOX = `
**This is a sandbox.** Create a merchant for your tests with \`POST /sandbox/merchants\`, and move its clock with
\`PUT /sandbox/clock\`.
`;

export function openApiDocument(app: INestApplication): OpenAPIObject {
  const { PUBLIC_URL, PORT, SANDBOX } = app.get(Config);
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Cashback order service')
    .setDescription(SANDBOX ? `${OF_SANDBOX}${DESCRIPTION}` : DESCRIPTION)
    .setVersion('1.0')
    .addServer(PUBLIC_URL ?? `http://localhost:${PORT}`)
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'opaque',
      description: 'The `access_token` of a login or a refresh',
    })
    .addTag('auth', 'Login, refresh and logout of API users')
    .addTag('users', "The merchant's API users")
    .addTag('orders', 'Orders, from creation to refunds')
    .addTag('wallets', "Customers' cashback with the merchant")
    .addTag('customers', 'What is stored about a customer: export and erasure')
    .addTag('events', 'The feed of changes')
    .addTag('reports', 'Reports over all customers')
    .addTag('webhooks', 'The feed, sent to your own endpoints');
  if (SANDBOX) builder.addTag('sandbox', 'Merchants for your tests, and their clocks');
  const config = builder.build();
  const document = SwaggerModule.createDocument(app, config, { operationIdFactory: (_controller, method) => method });
  Object.assign(document.info, {
    contact: { name: 'The operator of the service' },
    license: { name: 'Not licensed to the public', identifier: 'LicenseRef-UNLICENSED' },
  });
  document.components = { ...document.components, headers: RESPONSE_HEADERS };
  const schemas = document.components.schemas as Record<string, Schema>;
  for (const schema of Object.values(schemas)) completeSchema(schema);
  describeEvents(schemas);
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods) as Operation[]);
  for (const operation of operations) completeOperation(operation, schemas);
  describeProblems(document, operations);
  document.webhooks = webhooks();
  return document;
}

/** Makes `EventDto` a union of one schema per type, such as `OrderCompletedEvent`. */
function describeEvents(schemas: Record<string, Schema>): void {
  const { properties = {}, required = [], 'x-data': dataOf = {} } = schemas['EventDto']!;
  const ofTypes = Object.entries(dataOf).map(([type, data]) => {
    // The list of one value is for openapi-zod-client, which does not read `const`.
    const constant = { type: 'string', const: type, enum: [type] };
    const typed = { ...properties, type: constant, data: { $ref: schemaPath(data) } };
    const summary = FEED_EVENTS[type as FeedEventType];
    return { type, schema: { type: 'object', description: `${summary}.`, properties: typed, required } };
  });
  for (const { type, schema } of ofTypes) schemas[eventName(type)] = schema;
  const refOf = (type: string): string => `#/components/schemas/${eventName(type)}`;
  schemas['EventDto'] = {
    oneOf: ofTypes.map(({ type }) => ({ $ref: refOf(type) })),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(ofTypes.map(({ type }) => [type, refOf(type)])),
    },
  };
}

const eventName = (type: string): string =>
  `${type.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`;

function webhooks(): NonNullable<OpenAPIObject['webhooks']> {
  const webhook = ([type, summary]: [string, string]) => ({
    post: {
      tags: ['webhooks'],
      operationId: type,
      summary,
      description: 'Signed as in Standard Webhooks. With a `batch` above 1, the body is `{ "data": [event, …] }`.',
      security: [],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${eventName(type)}` } } },
      },
      responses: { '2XX': { description: 'The event was accepted' } },
    },
  });
  return Object.fromEntries(Object.entries(FEED_EVENTS).map((event) => [event[0], webhook(event)]));
}

/** Sorts the members and completes each. */
function completeSchema(schema: Schema): void {
  const { properties, 'x-order': order = [] } = schema;
  delete schema['x-order'];
  if (properties === undefined) return;
  const sorted = order.flatMap((name) => (properties[name] === undefined ? [] : [[name, properties[name]] as const]));
  schema.properties = { ...Object.fromEntries(sorted), ...properties };
  for (const member of Object.values(schema.properties)) completeMember(member);
}

/**
 * Removes a default: with one, generated types of requests require the member. Writes a list of one value as a
 * constant, which the decorators of Nest do not have: from the list, some clients generate an enum.
 */
function completeMember(schema: Schema): void {
  delete schema.default;
  if (schema.enum?.length !== 1) return;
  schema.const = schema.enum[0];
  delete schema.enum;
}

/** Says that a request has no other members, because the service refuses them. Responses may get new members. */
function closeRequest(schema: Schema, schemas: Record<string, Schema>): void {
  const { $ref, items, properties } = schema;
  if ($ref !== undefined) closeRequest(schemas[$ref.replace('#/components/schemas/', '')]!, schemas);
  if (items !== undefined) closeRequest(items, schemas);
  if (properties === undefined) return;
  schema.additionalProperties = false;
  for (const member of Object.values(properties)) closeRequest(member, schemas);
}

/**
 * Returns the example of a schema, from those of its members. Members without one are left out, such as an instant that
 * would soon be past.
 */
function exampleOf({ $ref, example, items, properties }: Schema, schemas: Record<string, Schema>): unknown {
  if ($ref !== undefined) return exampleOf(schemas[$ref.replace('#/components/schemas/', '')]!, schemas);
  if (example !== undefined) return example;
  if (items !== undefined) return [exampleOf(items, schemas)];
  const members = Object.entries(properties ?? {}).map(([name, member]) => [name, exampleOf(member, schemas)] as const);
  return members.length === 0 ? undefined : Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

/** Adds what Nest omits: which permission a route needs, an example of the request, and what successes have. */
function completeOperation(operation: Operation, schemas: Record<string, Schema>): void {
  operation.security ??= [];
  const permissions = operation.security.flatMap((alternative) => Object.values(alternative).flat());
  const needed = permissions.map((name) => `\`${name}\``).join(' or ');
  if (needed !== '') {
    operation.description = `${operation.description} Needs the permission ${needed}.`;
    operation['x-problems'] = [...(operation['x-problems'] ?? []), 'forbidden'];
  }
  for (const parameter of operation.parameters ?? [])
    if ('schema' in parameter && parameter.schema !== undefined) completeMember(parameter.schema);
  const body = operation.requestBody;
  const json = body !== undefined && 'content' in body ? body.content['application/json'] : undefined;
  if (json?.schema !== undefined) {
    json.example = exampleOf(json.schema, schemas);
    closeRequest(json.schema, schemas);
  }
  for (const [status, response] of Object.entries(operation.responses)) {
    if (response === undefined || '$ref' in response) continue;
    response.description ||= STATUS_CODES[status] ?? status;
    response.headers = { ...response.headers, ...headerReferences('x-request-id') };
  }
}
