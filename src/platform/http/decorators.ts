import {
  applyDecorators,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  Param,
  type PipeTransform,
  SetMetadata,
} from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiParam, ApiSecurity, ApiTags } from '@nestjs/swagger';
import { REQUESTS } from '../rate-limits/rate-limiter.js';
import { type Caller, type Permission } from '../values/caller.js';
import { readId } from '../values/ids.js';
import { Problem } from '../values/problem.js';
import { type AppRequest } from './app-request.js';
import { RateLimit } from './guards.js';

export const IS_PUBLIC = 'isPublic';

export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);

export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) => callerOf(context));

export const MerchantId = createParamDecorator((_: unknown, context: ExecutionContext) => callerOf(context).merchantId);

function callerOf(context: ExecutionContext): Caller {
  const { user, permissions = [] } = context.switchToHttp().getRequest<AppRequest>();
  if (user === undefined) throw new Error('a public route has no caller');
  return { ...user, permissions };
}

const UUID_SCHEMA = { type: 'string', format: 'uuid', example: '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' };

const uuidOrNotFound: PipeTransform<string, string> = {
  transform: (value, { data }) => readId(value, `the ${data} in the path must be the UUID that the service gave it`),
};

/** The `{id}` of a path, or another ID by its name. Anything but a UUID is a 404. */
export const IdParam = (description: string, name = 'id'): ParameterDecorator =>
  documented(Param(name, uuidOrNotFound), ApiParam({ name, description, schema: UUID_SCHEMA }));

/** A decorator of a parameter that also documents it in the parameter's operation. */
export function documented(parameter: ParameterDecorator, operation: MethodDecorator): ParameterDecorator {
  return (target, method = '', index) => {
    parameter(target, method, index);
    operation(target, method, Object.getOwnPropertyDescriptor(target, method) ?? {});
  };
}

/** An entity tag (RFC 9110, section 8.8.3): weak or not, and its opaque part. */
const TAG = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;

/**
 * A list of entity tags. Elements may be empty (RFC 9110, section 5.6.1). No two parts match the same character: with
 * a choice for each of many blanks, a match would take forever.
 */
const TAGS = new RegExp(`^(?:[ \\t,]|${TAG.source}(?=[ \\t]*(?:,|$)))*$`);

/**
 * Returns the entity tags that the field allows; undefined if it allows any, or is absent. A weak tag never matches,
 * because the comparison is strong (RFC 9110, section 13.1.1).
 */
function tagsOf(field: string | undefined): string[] | undefined {
  if (field === undefined || field === '*') return undefined;
  if (!TAGS.test(field))
    throw new Problem('malformed_request', { detail: 'If-Match must be * or quoted versions such as "3"' });
  return Array.from(field.matchAll(TAG)).flatMap(([, weak, tag]) =>
    weak === undefined && tag !== undefined ? [tag] : [],
  );
}

const Versions = createParamDecorator((_: unknown, context: ExecutionContext) =>
  tagsOf(context.switchToHttp().getRequest<AppRequest>().headers['if-match']),
);

/** The versions in the `If-Match` of a request; undefined allows any version of a resource that exists. */
export const IfMatch = (): ParameterDecorator =>
  documented(
    Versions(),
    ApiHeader({
      name: 'If-Match',
      required: false,
      description:
        'The `version` that you read, in quotes, such as `"1"`. If it is another one by now, the response is 412.',
      schema: { type: 'string' },
      example: '*',
    }),
  );

/**
 * A controller for merchants' systems: its routes need an access token and share the limit of requests. Each says which
 * permission it `Requires`.
 *
 * @param path of its routes.
 * @param tag its section of the OpenAPI document.
 */
export const MerchantController = (path: string, tag: string): ClassDecorator =>
  applyDecorators(Controller(path), ApiTags(tag), RateLimit(REQUESTS));

export const REQUIRED = 'required_permissions';

/**
 * Says which permission an operation, or each operation of a controller, needs: one of these, or none if there are
 * none. It must be on every operation that needs a token.
 */
export const Requires = (...permissions: Permission[]): MethodDecorator & ClassDecorator =>
  applyDecorators(
    SetMetadata(REQUIRED, permissions),
    // OpenAPI 3.1 allows the names of roles here.
    ...(permissions.length === 0 ? [ApiBearerAuth()] : permissions.map((name) => ApiSecurity('bearer', [name]))),
  );
