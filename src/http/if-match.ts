import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { Problem } from '../common/problem.js';
import type { AppRequest } from './app-request.js';
import { documented } from './decorators.js';

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
 *
 * @throws Problem malformed_request.
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
        'The `version` that you read, in quotes, such as `"1"`. If the order has another one, the response is 412.',
      schema: { type: 'string' },
    }),
  );
