import type { ApiResponseOptions } from '@nestjs/swagger';

type Headers = NonNullable<ApiResponseOptions['headers']>;

/** The header fields of responses, for the OpenAPI document. */
export const RESPONSE_HEADERS = {
  'x-request-id': {
    description:
      'ID of the request: the one that you sent if it has 1 to 128 letters, digits, `.`, `_` or `-`, otherwise a new UUID',
    schema: { type: 'string', example: 'b7c1f2f4-3c55-4a5e-9b52-6a2a0a3f6f10' },
  },
  Location: {
    description: 'Path of the created resource',
    schema: { type: 'string', format: 'uri-reference', example: '/orders/0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' },
  },
  'Idempotency-Replayed': {
    description: '`true` if this response is a replay of an earlier one',
    schema: { type: 'string', enum: ['true'] },
  },
  'WWW-Authenticate': {
    description: 'With 401: how to authenticate (RFC 6750)',
    schema: { type: 'string', example: 'Bearer realm="cashback"' },
  },
  Allow: { description: 'With 405: the methods of the path', schema: { type: 'string', example: 'GET, HEAD, POST' } },
  'Retry-After': {
    description: 'With 429 and 503: seconds to wait before you send the request again',
    schema: { type: 'integer', minimum: 1, example: 1 },
  },
  RateLimit: {
    description: 'With 429: the limits that are used up, and the seconds until each is available again',
    schema: { type: 'string', example: '"requests";r=0;t=1' },
  },
  'RateLimit-Policy': {
    description: 'With 429: the quota and the window of those limits in seconds',
    schema: { type: 'string', example: '"requests";q=100;w=1' },
  },
} satisfies Headers;

export function headerReferences(...names: (keyof typeof RESPONSE_HEADERS)[]): Headers {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
