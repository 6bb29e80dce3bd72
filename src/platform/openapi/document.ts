import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, getSchemaPath as schemaPath, SwaggerModule } from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { Config } from '../config/config.js';
import { FEED_EVENTS, type FeedEventType } from '../values/domain-event.js';
import { entryOf, NEXT_ACTIONS, Problem, type ProblemCode, PROBLEMS } from '../values/problem.js';
import { headerReferences, type Operation, RESPONSE_HEADERS, type Schema } from './decorators.js';

const DESCRIPTION = `
Cashback orders for merchants' systems. Log in and create an order: the response says how much cashback the customer can
redeem on it, and how much the customer will receive for it. Then complete, cancel or refund the order.

* Money is a decimal string in BRL, such as \`"150.00"\`. Instants are RFC 3339 in UTC.
* Every error is \`application/problem+json\` (RFC 9457) with a stable \`code\`.
* Every response has an \`x-request-id\` header. If you send one, it is returned.
* To use "Try it out", log in, click **Authorize** and paste the \`access_token\`.
* Start with [the guide](/docs/integrate.md). [/llms.txt](/llms.txt) lists all pages, and Postman imports
  [a sale](/docs/postman.json).
`;

const OF_BACK_OFFICE = `* Staff use the [back office](/back-office/).
`;

const OF_SANDBOX = `
**This is a sandbox.** Create a merchant for your tests with \`POST /sandbox/merchants\`, and move its clock with
\`PUT /sandbox/clock\`.
`;

/** In the order of a sale. In each, operations are in the order in which controllers have them: that of their use. */
const TAGS = {
  auth: 'Login, refresh and logout of API users',
  quotes: 'What an order would redeem and earn',
  orders: 'Orders, from creation to completion',
  refunds: 'What comes back of completed orders',
  wallets: "Customers' cashback with the merchant",
  grants: 'Cashback that no order earned',
  debits: 'Cashback that is taken from customers by hand',
  policy: 'Rules of the cashback, and their history',
  campaigns: 'Other rules for some days',
  reports: 'Reports over all customers',
  events: 'The feed of changes',
  webhooks: 'The feed, sent to your own endpoints',
  customers: 'What is stored about a customer: export and erasure',
  users: "The merchant's API users",
};

export function openApiDocument(app: INestApplication): OpenAPIObject {
  const { PUBLIC_URL, PORT, SANDBOX, BACK_OFFICE } = app.get(Config);
  const description = [SANDBOX ? OF_SANDBOX : '', DESCRIPTION, BACK_OFFICE ? OF_BACK_OFFICE : ''].join('');
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Cashback order service')
    .setDescription(description)
    .setVersion('1.0')
    .addServer(PUBLIC_URL ?? `http://localhost:${PORT}`)
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'opaque',
      description: 'The `access_token` of a login or a refresh',
    });
  for (const [name, text] of Object.entries(TAGS)) builder.addTag(name, text);
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
  limitResponses(schemas);
  for (const operation of operations) limitPage(operation, schemas);
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
  completeMember(schema);
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
  const { $ref, allOf = [], items, properties } = schema;
  for (const one of allOf) closeRequest(one, schemas);
  if ($ref !== undefined) closeRequest(referred($ref, schemas)!, schemas);
  if (items !== undefined) closeRequest(items, schemas);
  if (properties === undefined) return;
  schema.additionalProperties = false;
  for (const member of Object.values(properties)) closeRequest(member, schemas);
}

const referred = ($ref: string, schemas: Record<string, Schema>): Schema | undefined =>
  schemas[$ref.replace('#/components/schemas/', '')];

/** Responses return what requests sent, so they have its limits: an `order_external_id` that of an `external_id`. */
function limitResponses(schemas: Record<string, Schema>): void {
  const isRequest = ({ additionalProperties }: Schema): boolean => additionalProperties === false;
  const membersOf = (some: Schema[]) =>
    some.flatMap(({ properties = {} }) => Object.entries(properties) as [string, Schema][]);
  // A UUID is in place of the document if the customer was erased.
  const limits = new Map([['document', 36]]);
  for (const [name, { maxLength, maxItems = 0 }] of membersOf(Object.values(schemas).filter(isRequest)))
    limits.set(name, Math.max(maxLength ?? maxItems, limits.get(name) ?? 0));
  limits.delete('data');
  for (const [name, schema] of membersOf(Object.values(schemas).filter((one) => !isRequest(one)))) {
    const limit = limits.get(/external_id$|reason$|store$/.exec(name)?.[0] ?? name);
    const [type] = [schema.type].flat();
    if (!limit) continue;
    if (type === 'string' && !schema.format && !schema.enum) schema.maxLength ??= limit;
    if (type === 'array') schema.maxItems ??= limit;
  }
}

/** A page has at most as many elements as its `limit` can ask for. */
function limitPage({ parameters = [], responses }: Operation, schemas: Record<string, Schema>): void {
  const limit = parameters.find((one): one is { schema: Schema } & typeof one => 'name' in one && one.name === 'limit');
  const ok = responses['200'];
  const page = ok !== undefined && 'content' in ok ? ok.content?.['application/json']?.schema : undefined;
  if (limit === undefined || page === undefined || !('$ref' in page)) return;
  const data = referred(page.$ref, schemas)?.properties?.['data'];
  if (data !== undefined) Object.assign(data, { maxItems: limit.schema.maximum });
}

/**
 * Returns the example of a schema, from those of its members. Members without one are left out, such as an instant that
 * would soon be past.
 */
function exampleOf({ $ref, example, items, properties }: Schema, schemas: Record<string, Schema>): unknown {
  if ($ref !== undefined) return exampleOf(referred($ref, schemas)!, schemas);
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
  const replays = operation['x-replays'] === true ? (['Idempotency-Replayed'] as const) : [];
  delete operation['x-replays'];
  for (const [status, response] of Object.entries(operation.responses)) {
    if (response === undefined || '$ref' in response) continue;
    response.description ||= STATUS_CODES[status] ?? status;
    response.headers = { ...response.headers, ...headerReferences('x-request-id', ...replays) };
  }
}

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** What every operation can return. */
const COMMON: ProblemCode[] = [
  'malformed_request',
  'malformed_json',
  'validation_failed',
  'missing_token',
  'invalid_token',
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'headers_too_large',
  'internal_error',
  'unavailable',
];

/**
 * Describes the problems of all operations: what is particular to an operation by status, and what every operation can
 * return in one shared `default` response. All are a `Problem`, so that a client handles them in one function.
 */
function describeProblems({ components = {} }: OpenAPIObject, operations: Operation[]): void {
  // A live service has no operation with the problems of a sandbox.
  const possible = CODES.filter(
    (code) => COMMON.includes(code) || operations.some((operation) => operation['x-problems']?.includes(code)),
  );
  components.schemas = { ...components.schemas, ...problemSchemas(possible) };
  components.responses = {
    CommonProblem: {
      ...problemResponse(COMMON, { $ref: '#/components/schemas/Problem' }),
      description: 'What every operation can return: one example per code',
      headers: headerReferences(
        ...(['x-request-id', 'WWW-Authenticate', 'Allow', 'Retry-After', 'RateLimit', 'RateLimit-Policy'] as const),
      ),
    },
  };
  for (const operation of operations) {
    const own = CODES.filter((code) => operation['x-problems']?.includes(code));
    delete operation['x-problems'];
    for (const status of own.map((code) => PROBLEMS[code].status))
      operation.responses[status] = problemResponse(
        CODES.filter((code) => PROBLEMS[code].status === status && (own.includes(code) || COMMON.includes(code))),
      );
    // Not `4XX` and `5XX`: from such a range, oazapfts generates a type that is a syntax error (`status: 4XX`).
    operation.responses['default'] = { $ref: '#/components/responses/CommonProblem' };
  }
}

function problemResponse(codes: ProblemCode[], schema: Schema | { $ref: string } = anyProblem(codes)) {
  const examples = codes.map((code) => [code, { summary: code, value: exampleOfProblem(code) }] as const);
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
    content: {
      'application/problem+json': {
        schema,
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function exampleOfProblem(code: ProblemCode): object {
  const { members = {}, example: { instance = '/orders', detail } = {} } = entryOf(code);
  const fields = Object.fromEntries(Object.entries(members).map(([name, { example }]) => [name, example]));
  const problem = new Problem(...([code, { ...fields, detail }] as ConstructorParameters<typeof Problem>));
  return problem.toBody(instance, 'b7c1f2f4-3c55-4a5e-9b52-6a2a0a3f6f10');
}

/** Returns the schema of all problems, and one per code, such as `ExternalIdConflictProblem`, with its members. */
function problemSchemas(codes: readonly ProblemCode[]): Record<string, Schema> {
  return {
    Problem: {
      description: 'An error (RFC 9457). Its `code` says which one, and which members it has.',
      ...anyProblem(codes),
    },
    ProblemError: {
      type: 'object',
      description: 'An error in one member of the request.',
      properties: {
        pointer: { type: 'string', description: 'JSON Pointer into the request body (RFC 6901).' },
        parameter: { type: 'string', description: 'Name of the query parameter, if the error is in the query.' },
        detail: { type: 'string', description: 'What is expected.' },
      },
      required: ['detail'],
    },
    NextAction: {
      type: 'string',
      enum: [...NEXT_ACTIONS],
      description: 'What to do. If `retryable` is true, first send the same request again.',
    },
    ...Object.fromEntries(codes.map((code) => [problemName(code), problemSchema(code)])),
  };
}

const problemName = (code: ProblemCode): string =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()) + 'Problem';

/** Returns the schema of one of these problems. */
function anyProblem(codes: readonly ProblemCode[]): Schema & { $ref?: string } {
  const references = codes.map((code) => [code, `#/components/schemas/${problemName(code)}`] as const);
  const [only] = references;
  if (only !== undefined && references.length === 1) return { $ref: only[1] };
  return {
    oneOf: references.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'code', mapping: Object.fromEntries(references) },
  };
}

function problemSchema(code: ProblemCode): Schema {
  const { status, title, retryable, members = {} } = entryOf(code);
  const { errors, ...extensions } = members;
  const properties: Record<string, Schema> = {
    type: { type: 'string', const: `urn:problem:cashback:${code}` },
    title: { type: 'string', description: 'Summary of the problem, the same for every occurrence.' },
    status: { type: 'integer', const: status, description: 'HTTP status code.' },
    detail: { type: 'string', description: 'Explanation of this occurrence.' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: { type: 'string', const: code, description: 'Stable identifier of the problem, for programs.' },
    request_id: { type: 'string', description: 'ID of the request, as in `x-request-id` and in the logs.' },
    retryable: { type: 'boolean', const: retryable, description: 'Whether the same request may succeed later.' },
    next_action: { $ref: '#/components/schemas/NextAction' },
    ...extensions,
    ...(errors && {
      errors: {
        type: 'array',
        items: { $ref: '#/components/schemas/ProblemError' },
        description: 'All errors of the request.',
      },
    }),
  };
  const required = Object.keys(properties).filter((name) => name !== 'errors' || errors?.example !== undefined);
  return { type: 'object', description: `${title}. (RFC 9457)`, properties, required };
}
