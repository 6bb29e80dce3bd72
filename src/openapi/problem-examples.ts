import { AMOUNT_PATTERN } from '../common/money.js';
import { OPTIONAL_PERMISSIONS } from '../common/permissions.js';
import { differing, type Fault, LIMITED_BY, ORDER_OPERATIONS, type ProblemCode } from '../common/problem.js';
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
    errors: [{ pointer: '/items/0/price', detail: 'must have a point as decimal separator' }],
  },
  missing_token: { detail: 'send the access token in the header: Authorization: Bearer <access_token>' },
  invalid_token: { detail: 'the access token (cbat_…) is unknown, expired or revoked: refresh it or log in again' },
  invalid_credentials: { detail: 'email or password is wrong', instance: '/auth/login' },
  invalid_refresh_token: {
    detail: 'the refresh token (cbrt_…) is unknown, expired, used or revoked: log in again',
    instance: '/auth/refresh',
  },
  forbidden: {
    detail: 'this API user does not have the permission "grants": ask the operator of the service for it',
    instance: '/grants',
    extensions: {
      permission: {
        type: 'string',
        enum: [...OPTIONAL_PERMISSIONS],
        description: 'The permission that the API user lacks.',
        example: 'grants',
      },
    },
  },
  route_not_found: { detail: 'no operation has this path; did you mean "/orders"?', instance: '/v1/orders' },
  not_found: { detail: 'no order has this ID', instance: ORDER },
  method_not_allowed: { detail: 'allowed: GET, HEAD, POST' },
  request_timeout: {},
  external_id_conflict: {
    detail: 'order 0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10 has this external_id and differs in 1 member',
    errors: [differing('/total')],
    extensions: {
      existing_id: {
        type: 'string',
        format: 'uuid',
        description: 'The ID of the order, refund or grant that has this `external_id`.',
        example: '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10',
      },
    },
  },
  invalid_transition: {
    detail: 'the order is completed: only a pending or expired order can be cancelled',
    instance: `${ORDER}/cancel`,
    errors: [{ pointer: '/redeem', detail: 'the order was completed with 20.00' }],
    errorsAreOptional: true,
    extensions: {
      current_status: { ...statuses, description: 'The status of the order.', example: 'completed' },
      allowed: {
        type: 'array',
        items: statuses,
        description: 'The statuses that `operations` can set. Only time sets `expired`.',
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
  redemption_lapsed: {
    detail:
      'the order held 20.00, which was released when the order expired: send redeem "20.00" if the customer was charged less, or "0.00" if not',
    instance: `${ORDER}/complete`,
    extensions: {
      lapsed: money('What the order held until it expired, in BRL.', '20.00'),
      maximum: money('The maximum that can be redeemed now, in BRL.', '75.00'),
    },
  },
  redemption_no_longer_available: {
    detail:
      'at most 5.00 can be redeemed on this order now: if the customer was charged less, first decide who pays the difference',
    errors: [{ pointer: '/redeem', detail: 'must be at most 5.00' }],
    instance: `${ORDER}/complete`,
    extensions: {
      maximum: money('The maximum that can be redeemed now, in BRL.', '5.00'),
      limited_by: { ...limitedBy, example: 'balance' },
    },
  },
  webhook_url_taken: {
    detail:
      'the webhook endpoint 0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10 has this url: if you do not have its secret, rotate it',
    instance: '/webhook-endpoints',
    extensions: {
      existing_id: {
        type: 'string',
        format: 'uuid',
        description: 'The webhook endpoint that has this URL.',
        example: '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10',
      },
    },
  },
  events_expired: {
    detail:
      'the oldest event that is kept has the sequence 1200: read the orders that you need, then continue after 1199',
    instance: '/events',
    extensions: {
      oldest: { type: 'integer', minimum: 1, description: 'The oldest `sequence` that is kept.', example: 1200 },
    },
  },
  precondition_failed: { detail: 'the order is at version 3: If-Match does not name "3"', instance: ORDER },
  payload_too_large: { detail: 'a request body is limited to 262144 bytes' },
  unsupported_media_type: { detail: 'content-type must be application/json in UTF-8; received: text/plain' },
  payments_exceed_total: {
    detail:
      'the payment methods add up to 150.00, and 20.00 is redeemed: together this exceeds the total of 150.00; send what the customer paid, and as redeem what was deducted',
    instance: `${ORDER}/complete`,
    errors: [{ pointer: '/payment_methods', detail: 'must add up to at most 130.00 if 20.00 is redeemed' }],
    extensions: {
      total: money('The total of the order, in BRL.', '150.00'),
      redeemed: money('The cashback that the completion redeems, in BRL; otherwise "0.00".', '20.00'),
      payments: money('The sum of the payment methods, in BRL.', '150.00'),
    },
  },
  redemption_exceeds_maximum: {
    detail: 'at most 75.00 can be redeemed on this order now',
    instance: `${ORDER}/redemption`,
    errors: [{ pointer: '/amount', detail: 'must be at most 75.00' }],
    errorsAreOptional: true,
    extensions: { maximum: money('The maximum that can be redeemed now, in BRL.', '75.00'), limited_by: limitedBy },
  },
  refund_exceeds_total: {
    detail: 'the eligible part of a refund of 50.00 must be from 30.00 to 50.00',
    instance: `${ORDER}/refunds`,
    errors: [{ pointer: '/eligible_amount', detail: 'must be from 30.00 to 50.00' }],
    extensions: {
      minimum: money('The minimum of the member that `errors` names, in BRL.', '30.00'),
      maximum: money('The maximum of the member that `errors` names, in BRL.', '50.00'),
    },
  },
  grant_exceeds_maximum: {
    detail: 'at most 1000.00 can be granted at once',
    instance: '/grants',
    errors: [{ pointer: '/amount', detail: 'must be at most 1000.00' }],
    extensions: { maximum: money('The most that can be granted at once, in BRL.', '1000.00') },
  },
  webhook_url_refused: {
    detail: 'the url must begin with https://',
    instance: '/webhook-endpoints',
    errors: [{ pointer: '/url', detail: 'must begin with https://' }],
  },
  too_many_webhook_endpoints: {
    detail: 'a merchant has at most 20 webhook endpoints: delete one that is not used',
    instance: '/webhook-endpoints',
    extensions: { maximum: { type: 'integer', description: 'The maximum number of endpoints.', example: 20 } },
  },
  too_many_requests: { detail: 'try again in 1 second' },
  headers_too_large: { instance: '/' },
  internal_error: {},
  unavailable: { detail: 'try again in a moment' },
};
