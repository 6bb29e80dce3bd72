import { AMOUNT_PATTERN } from '../common/money.js';
import { type Fault, LIMITED_BY, ORDER_OPERATIONS, type ProblemCode } from '../common/problem.js';
import type { Schema } from './types.js';

/** What the documentation says about a problem in addition to the catalogue of codes. */
export interface ProblemExample {
  /** An explanation as the service gives it; the title if left out. */
  detail?: string;
  /** The path of a request that can get this problem; `/orders` if left out. */
  instance?: string;
  /** Errors of members. A problem without them never has `errors`. */
  errors?: Fault[];
  /** Whether `errors` is only there if members are not valid. */
  errorsAreOptional?: true;
  /** The extension members, each with its schema and an example. */
  extensions?: Record<string, Schema>;
}

const ORDER = '/orders/0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';

const money = (description: string, example: string): Schema => ({
  type: 'string',
  pattern: AMOUNT_PATTERN.source,
  description,
  example,
});
const statuses = { $ref: '#/components/schemas/OrderStatus' };
const limitedBy: Schema = {
  type: ['string', 'null'],
  enum: [...LIMITED_BY],
  description: 'What limits the maximum; null if only the total does.',
  example: 'order_share',
};

/** An example of each problem, and its extension members. */
export const PROBLEM_EXAMPLES: Record<ProblemCode, ProblemExample> = {
  malformed_request: { detail: 'the request must have exactly one valid Host header field' },
  malformed_json: { detail: 'Unexpected end of JSON input' },
  validation_failed: {
    detail: '1 member is not valid',
    errors: [{ pointer: '/items/0/price', detail: 'must be a decimal string such as "49.90", at most "999999999.99"' }],
  },
  missing_token: { detail: 'send the access token in the header: Authorization: Bearer <access_token>' },
  invalid_token: { detail: 'the access token is unknown, expired or revoked: refresh it or log in again' },
  invalid_credentials: { detail: 'email or password is wrong', instance: '/auth/login' },
  invalid_refresh_token: {
    detail: 'the refresh token is unknown, expired, used or revoked: log in again',
    instance: '/auth/refresh',
  },
  not_found: { instance: ORDER },
  method_not_allowed: { detail: 'allowed: GET, HEAD, POST' },
  request_timeout: {},
  external_id_conflict: {
    detail: 'order 0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10 has this external_id and differs in 1 member',
    errors: [{ pointer: '/total', detail: 'differs from the earlier request' }],
  },
  invalid_transition: {
    detail: 'the order is completed: it cannot be cancelled; refund it instead',
    instance: `${ORDER}/cancel`,
    errors: [{ pointer: '/redeem', detail: 'the order was completed with 20.00' }],
    errorsAreOptional: true,
    extensions: {
      current_status: { ...statuses, description: 'The status of the order.', example: 'completed' },
      allowed: {
        type: 'array',
        items: statuses,
        description: 'The statuses that the order can change to.',
        example: ['partially_refunded', 'refunded'],
      },
      operations: {
        type: 'array',
        items: { type: 'string', enum: [...ORDER_OPERATIONS] },
        description: 'What can be done with the order now.',
        example: ['refund'],
      },
    },
  },
  redemption_no_longer_available: {
    detail: 'at most 5.00 can be redeemed on this order now',
    instance: `${ORDER}/complete`,
    extensions: {
      maximum: money('The maximum that can be redeemed now, in BRL.', '5.00'),
      limited_by: { ...limitedBy, example: 'balance' },
    },
  },
  precondition_failed: { detail: 'the order has version 3, which If-Match does not name', instance: ORDER },
  payload_too_large: { detail: 'a request body is limited to 262144 bytes' },
  unsupported_media_type: { detail: 'content-type must be application/json in UTF-8; received: text/plain' },
  payments_exceed_total: {
    detail: 'the payment methods add up to 160.00, which exceeds the total of 150.00',
    errors: [{ pointer: '/payment_methods', detail: 'must add up to at most 150.00' }],
  },
  redemption_exceeds_maximum: {
    detail: 'at most 75.00 can be redeemed on this order now',
    instance: `${ORDER}/redemption`,
    extensions: { maximum: money('The maximum that can be redeemed now, in BRL.', '75.00'), limited_by: limitedBy },
  },
  refund_exceeds_total: {
    detail: 'at most 100.00 of this order can be refunded',
    instance: `${ORDER}/refunds`,
    extensions: { maximum: money('The part of the total that can still be refunded, in BRL.', '100.00') },
  },
  too_many_requests: { detail: 'try again in 1 second' },
  headers_too_large: { instance: '/' },
  internal_error: {},
  unavailable: { detail: 'try again in a moment' },
};
