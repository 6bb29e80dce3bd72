import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from './client.js';
import type { Problem } from './expectations.js';

/** The parts of an OpenAPI document that tests look at. */
export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  webhooks: object;
  components: { schemas: Record<string, Schema>; responses: Record<string, { content: Content }> };
  servers: object[];
  tags: { name: string }[];
}

export interface Operation {
  operationId: string;
  tags: string[];
  parameters: { name: string; in: string; required?: boolean; explode?: boolean; schema: Schema }[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
}

type Content = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, { value: object }> }>;

export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  pattern?: string;
  maxLength?: number;
  maxItems?: number;
  example?: unknown;
  enum?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
  const?: string;
  anyOf?: Schema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
}

/** The schema that a `$ref` refers to. */
export const schemaOf = ({ components }: OpenApi, $ref: string): Schema => components.schemas[$ref.split('/').at(-1)!]!;

/** A request as a test sent it, and its response. */
interface Exchange {
  method: string;
  path: string;
  body: unknown;
  answer: Answer<unknown>;
}

interface Route {
  pattern: RegExp;
  template: string;
}

/** The OpenAPI document as a contract: it validates requests and responses. */
export class Contract {
  readonly #document: OpenApi;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #routes: Route[];

  constructor(document: OpenApi) {
    this.#document = structuredClone(document);
    // Neither a response nor a request that was accepted has undocumented members.
    for (const schema of Object.values(this.#document.components.schemas))
      if (schema.type === 'object') schema.additionalProperties = false;
    (addFormats as unknown as (to: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema({ $id: 'openapi', ...this.#document });
    this.#routes = Object.keys(this.#document.paths).map((template) => ({
      template,
      pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
    }));
  }

  /** Returns what the document does not allow. A request that the document forbids must have been refused. */
  violations({ method, path, body, answer }: Exchange): string[] {
    const { pathname, searchParams } = new URL(path, 'http://localhost');
    // A fixed path is preferred to one with parameters.
    const candidates = this.#routes.filter(({ pattern }) => pattern.test(pathname));
    const route = candidates.find(({ template }) => template === pathname) ?? candidates[0];
    const operation = route && this.#document.paths[route.template]![method.toLowerCase()];
    if (operation === undefined) return [];
    const at = ['paths', route?.template ?? '', method.toLowerCase()];
    const found = this.#ofResponse(at, operation, answer);
    if (answer.status < 400 && !hasRefusedElement(answer.body))
      found.push(...this.#ofRequest(at, operation, searchParams, body));
    return found.map((violation) => `${method} ${pathname}: ${answer.status}: ${violation}`);
  }

  #ofResponse(at: string[], operation: Operation, answer: Answer<unknown>): string[] {
    const listed = String(answer.status) in operation.responses;
    if (!listed && answer.status < 400) return ['the status is not documented'];
    const common = this.#document.components.responses.CommonProblem!;
    const response = listed ? operation.responses[answer.status]! : common;
    const place = listed ? [...at, 'responses', String(answer.status)] : ['components', 'responses', 'CommonProblem'];
    const media = (answer.headers.get('content-type') ?? '').split(';')[0] ?? '';
    if (response.content === undefined) return answer.body === '' ? [] : ['the response must have no body'];
    const of = response.content[media];
    if (of === undefined) return [`the media type ${media} is not documented`];
    if (media === 'application/problem+json') {
      const shared = common.content[media]!.examples!;
      const { code } = answer.body as Problem;
      if (!(code in of.examples! || code in shared)) return [`the code ${code} is not documented`];
    }
    return [
      ...this.errors([...place, 'content', media, 'schema'], answer.body),
      ...this.#disorder(of.schema, answer.body),
    ];
  }

  /** Returns the members of a response that are not in the order of its schema. */
  #disorder(schema: Schema, value: unknown): string[] {
    if (typeof value !== 'object' || value === null) return [];
    if (schema.$ref !== undefined) return this.#disorder(schemaOf(this.#document, schema.$ref), value);
    if (schema.discriminator !== undefined) {
      const { propertyName, mapping } = schema.discriminator;
      return this.#disorder({ $ref: mapping[(value as Record<string, string>)[propertyName]!]! }, value);
    }
    const choice = schema.oneOf?.[0] ?? schema.anyOf?.[0] ?? schema.allOf?.[0];
    if (choice !== undefined) return this.#disorder(choice, value);
    if (Array.isArray(value)) return value.flatMap((element) => this.#disorder(schema.items!, element));
    const documented = Object.keys(schema.properties ?? {}).filter((name) => name in value);
    const sent = Object.keys(value).filter((name) => documented.includes(name));
    return [
      ...(documented.join() === sent.join()
        ? []
        : [`the order of members is ${sent.join()}, not ${documented.join()}`]),
      ...documented.flatMap((name) =>
        this.#disorder(schema.properties![name]!, (value as Record<string, unknown>)[name]),
      ),
    ];
  }

  #ofRequest(at: string[], operation: Operation, query: URLSearchParams, body: unknown): string[] {
    const found = [...query.keys()]
      .filter((name) => !operation.parameters.some((parameter) => parameter.in === 'query' && parameter.name === name))
      .map((name) => `the query parameter ${name} is not documented`);
    if (body === undefined) return operation.requestBody?.required ? [...found, 'the request must have a body'] : found;
    if (operation.requestBody === undefined) return found;
    return [
      ...found,
      ...this.errors([...at, 'requestBody', 'content', 'application/json', 'schema'], withoutNulls(body)),
    ];
  }

  /** Returns what the schema at this place in the document does not allow. */
  errors(pointer: string[], value: unknown): string[] {
    const key = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
    const validate = this.#compiled.get(key) ?? this.#ajv.compile({ $ref: `openapi#/${key}` });
    this.#compiled.set(key, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    );
  }
}

/** Whether one element of a batch was not valid, which does not fail the batch. */
const hasRefusedElement = (body: unknown): boolean => {
  const { data } = (body ?? {}) as { data?: ({ problem?: Problem | null } | null)[] };
  return Array.isArray(data) && data.some((element) => element?.problem?.status === 400);
};

/** An optional member that is null counts as absent, and one that is required is refused. */
function withoutNulls(body: unknown): unknown {
  const drop = (_: string, value: unknown): unknown => (value === null ? undefined : value);
  return body === null ? null : JSON.parse(JSON.stringify(body, drop));
}

/** That of a sandbox, which has all operations. */
const FILE = 'dist/openapi-sandbox.json';
let contract: Contract | undefined;

/** Throws if an exchange violates the OpenAPI document of the build. */
export function assertContract(exchange: Exchange): void {
  if (!existsSync(FILE))
    throw new Error(`${FILE} does not exist: run \`npm run build && node tools/openapi.mjs\` first`);
  contract ??= new Contract(JSON.parse(readFileSync(FILE, 'utf8')) as OpenApi);
  const violations = contract.violations(exchange);
  if (violations.length > 0) throw new Error(`the OpenAPI document does not allow this:\n${violations.join('\n')}`);
}
