import { type Permission } from './caller.js';
import { AMOUNT_PATTERN } from './money.js';

/** What a client does about a problem. If the problem is retryable, it first sends the same request again. */
export const NEXT_ACTIONS = [
  'fix_request',
  'retry',
  'log_in',
  'refresh_token',
  'read_existing',
  'read_order',
  'contact_support',
] as const;
type NextAction = (typeof NEXT_ACTIONS)[number];

/** What limits a redeemable maximum (`limited_by`); null if only the total does. */
export const LIMITED_BY = ['balance', 'order_share', 'minimum_total', 'redeem_minimum', 'frozen'] as const;
export type LimitedBy = (typeof LIMITED_BY)[number] | null;

/** What limits the cashback that an order earns; null if only its rates do. */
export const EARN_LIMITED_BY = ['minimum_total', 'maximum'] as const;
export type EarnLimitedBy = (typeof EARN_LIMITED_BY)[number] | null;

/** What keeps a refund from being undone, and what can be done instead. The first that is true is named. */
export const OBSTACLES = {
  later_change:
    'the order has changed since the refund: undo later refunds first; a later correction of the customer stays',
  repaid_debt: 'the refund returned cashback that repaid a debt: correct the rest with a debit or a grant',
  debt: 'the customer has repaid a part of the debt that the refund left: correct the rest with a grant',
  returned_cashback:
    'the cashback that the refund returned is spent, held or expired: debit what is left of it instead',
  taken_cashback:
    'cashback that the refund took back has expired meanwhile, or its order got another customer: grant it instead',
} as const;
export type Obstacle = keyof typeof OBSTACLES;

/** The operations on an order that its status allows or refuses (`operations`). */
export const ORDER_OPERATIONS = ['hold', 'renew', 'amend', 'complete', 'cancel', 'refund', 'change_customer'] as const;
export type OrderOperation = (typeof ORDER_OPERATIONS)[number];

/** An error in one member, identified by its JSON Pointer in the body (RFC 6901) or the name of the query parameter. */
export interface Fault {
  pointer?: string;
  parameter?: string;
  detail: string;
}

/** An order that holds cashback which another one earned. */
export type HoldingOrder = Record<'id' | 'external_id', string>;

/** The number of errors that a response lists. */
export const MAX_FAULTS = 100;

/** The schema of an extension member (RFC 9457, section 3.2). The type of its example is the type of the member. */
interface Member<Value> {
  example: Value;
  [keyword: string]: unknown;
}

interface Explanation<Members> {
  retryable?: boolean;
  /** The members that only this problem has. */
  members?: { [Name in keyof Members]: Member<Members[Name]> };
  /** What the problem says of itself. What depends on more than its members is given where it is thrown. */
  detail?(members: Members): string;
  /** A request that can get this problem, and its `detail` if it is given where it is thrown. */
  example?: { instance?: string; detail?: string };
}

interface Entry<Members = Record<string, unknown>> extends Explanation<Members> {
  status: number;
  title: string;
  next_action: NextAction;
  retryable: boolean;
}

function problem<Members = unknown>(
  status: number,
  title: string,
  next_action: NextAction,
  explanation: Explanation<Members> = {},
): Entry<Members> {
  return { status, title, next_action, retryable: false, ...explanation };
}

const ID = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';
const ORDER = `/orders/${ID}`;

const TEXT = { type: 'string' };

const amount = (description: string, example: string): Member<string> => {
  return { type: 'string', pattern: AMOUNT_PATTERN.source, description, example };
};
const existing = (description: string): Member<string> => {
  return { type: 'string', format: 'uuid', description, example: ID };
};
const maximum = (example: string): Member<string> => amount('The maximum that can be redeemed now, in BRL.', example);
const limitedBy = (example: LimitedBy): Member<LimitedBy> => {
  const description = 'What limits the maximum; null if only the total does.';
  return { anyOf: [{ $ref: '#/components/schemas/LimitedBy' }, { type: 'null' }], description, example };
};
const obstacle = (example: Obstacle): Member<Obstacle> => {
  return { type: 'string', enum: Object.keys(OBSTACLES), description: 'What is in the way.', example };
};
const statuses = { $ref: '#/components/schemas/OrderStatus' };
/** All errors of the request's members. */
const errors = (example: Fault): Member<Fault[]> => ({ example: [example] });
/** As `errors`, which are only there if members are not valid. */
const optionalErrors: Member<Fault[] | undefined> = { example: undefined };

/** Returns the error of a member that another request with the same `external_id` had with another value. */
export const differing = (pointer: string): Fault => ({ pointer, detail: 'differs from the earlier request' });

/** All problems. A client decides by their codes, which are stable; docs/errors.md lists them. */
export const PROBLEMS = {
  malformed_request: problem(400, 'The request is not valid HTTP', 'fix_request', {
    example: { instance: ORDER, detail: 'If-Match must be * or quoted versions such as "3"' },
  }),
  malformed_json: problem(400, 'The request body is not valid JSON', 'fix_request', {
    example: { detail: 'Unexpected end of JSON input' },
  }),
  validation_failed: problem(400, 'The request is not valid', 'fix_request', {
    members: { errors: errors({ pointer: '/items/0/price', detail: 'must have a point as decimal separator' }) },
    detail({ errors: { length } }) {
      const count = length > MAX_FAULTS ? `more than ${MAX_FAULTS}` : length;
      return `${count} member${length === 1 ? ' is' : 's are'} not valid`;
    },
  }),
  missing_token: problem(401, 'An access token is required', 'log_in', {
    detail: () => 'send the access token in the header: Authorization: Bearer <access_token>',
  }),
  invalid_token: problem(401, 'The access token is not valid', 'refresh_token', {
    detail: () => 'the access token (cbat_…) is unknown, expired or revoked: refresh it or log in again',
  }),
  invalid_credentials: problem(401, 'The email or password is wrong', 'fix_request', {
    detail: () => 'email or password is wrong',
    example: { instance: '/auth/login' },
  }),
  invalid_refresh_token: problem(401, 'The refresh token is not valid', 'log_in', {
    detail: () => 'the refresh token (cbrt_…) is unknown, expired, used or revoked: log in again',
    example: { instance: '/auth/refresh' },
  }),
  forbidden: problem(403, 'The API user does not have the permission for this', 'contact_support', {
    members: {
      permission: {
        $ref: '#/components/schemas/Permission',
        description: 'The permission that the API user lacks.',
        example: 'grants',
      },
    },
    detail: ({ permission }) => `this needs the permission "${permission}", which the API user does not have`,
    example: { instance: '/grants' },
  }),
  route_not_found: problem(404, 'The path does not exist', 'fix_request', {
    example: { instance: '/v1/orders', detail: 'no operation has this path; did you mean "/orders"?' },
  }),
  not_found: problem(404, 'The resource does not exist', 'fix_request', {
    example: { instance: ORDER, detail: 'no order has this ID' },
  }),
  method_not_allowed: problem(405, 'The resource does not support this method', 'fix_request', {
    example: { detail: 'allowed: GET, HEAD, POST' },
  }),
  request_timeout: problem(408, 'The request did not arrive in time', 'retry', { retryable: true }),
  external_id_conflict: problem(409, 'The external_id was already used with different content', 'read_existing', {
    members: {
      existing_id: existing('The ID of the order, refund or grant that has this `external_id`.'),
      errors: errors(differing('/total')),
    },
    example: { detail: `order ${ID} has this external_id and differs in 1 member` },
  }),
  invalid_transition: problem(409, 'The order does not allow this operation in its current state', 'read_order', {
    members: {
      current_status: { ...statuses, description: 'The status of the order.', example: 'completed' },
      allowed: {
        type: 'array',
        items: statuses,
        description: 'The statuses that `operations` can set. Only time sets `expired`.',
        example: ['partially_refunded', 'refunded'],
      },
      operations: {
        type: 'array',
        items: { $ref: '#/components/schemas/OrderOperation' },
        description: 'What can be done with the order now.',
        example: ['refund'] as OrderOperation[],
      },
      errors: optionalErrors,
    },
    example: {
      instance: `${ORDER}/cancel`,
      detail: 'the order is completed: only a pending or expired order can be cancelled',
    },
  }),
  cashback_held: problem(409, 'Other orders hold the cashback that the order earned', 'read_existing', {
    members: {
      held_by: {
        type: 'array',
        maxItems: 10,
        items: { type: 'object', required: ['id', 'external_id'], properties: { id: TEXT, external_id: TEXT } },
        description: 'The first 10 orders that hold it.',
        example: [{ id: '0199c1f2-4d66-7b6f-8c63-7b3b1b4a7a21', external_id: 'PED-1002' }] as HoldingOrder[],
      },
    },
    detail: ({ held_by }) =>
      `orders hold cashback that this order earned: complete or cancel ${held_by.map(({ external_id: id }) => id).join(', ')}, or release what they hold`,
    example: { instance: `${ORDER}/customer` },
  }),
  wallet_frozen: problem(409, 'The wallet of the customer is frozen', 'fix_request', {
    detail: () => 'the wallet of the customer is frozen, so the order keeps its customer: unfreeze it first',
    example: { instance: `${ORDER}/customer` },
  }),
  campaign_status_conflict: problem(409, 'The campaign does not allow this in its current status', 'fix_request', {
    members: {
      campaign_status: {
        $ref: '#/components/schemas/CampaignStatus',
        description: 'The status of the campaign.',
        example: 'running',
      },
    },
    example: { instance: `/campaigns/${ID}`, detail: 'the campaign is running: end it instead' },
  }),
  refund_not_voidable: problem(409, 'The refund cannot be undone any more', 'fix_request', {
    members: {
      obstacle: obstacle('returned_cashback'),
    },
    detail: ({ obstacle }) => OBSTACLES[obstacle],
    example: { instance: `${ORDER}/refunds/${ID}/void` },
  }),
  redemption_lapsed: problem(409, 'The cashback that the order held was released', 'fix_request', {
    members: {
      lapsed: amount('What the order held until it expired, in BRL.', '20.00'),
      maximum: maximum('75.00'),
    },
    detail: ({ lapsed }) =>
      `the order held ${lapsed}, which was released when the order expired: send redeem "${lapsed}" if the customer was charged less, or "0.00" if not`,
    example: { instance: `${ORDER}/complete` },
  }),
  redemption_no_longer_available: problem(409, 'The cashback is no longer available', 'fix_request', {
    members: {
      maximum: maximum('5.00'),
      limited_by: limitedBy('balance'),
      errors: errors({ pointer: '/redeem', detail: 'must be at most 5.00' }),
    },
    detail: ({ maximum }) =>
      `at most ${maximum} can be redeemed on this order now: if the customer was charged less, first decide who pays the difference`,
    example: { instance: `${ORDER}/complete` },
  }),
  webhook_url_taken: problem(409, 'Another webhook endpoint has this URL', 'read_existing', {
    members: { existing_id: existing('The webhook endpoint that has this URL.') },
    detail: ({ existing_id }) =>
      `the webhook endpoint ${existing_id} has this url: if you do not have its secret, rotate it`,
    example: { instance: '/webhook-endpoints' },
  }),
  email_taken: problem<{ existing_id: string | null }>(409, 'Another API user has this email', 'read_existing', {
    members: {
      existing_id: {
        type: ['string', 'null'],
        format: 'uuid',
        description: 'The API user that has this email; null if it belongs to another merchant.',
        example: ID,
      },
    },
    detail: ({ existing_id }) =>
      existing_id === null
        ? 'an API user of another merchant has this email'
        : `the API user ${existing_id} has this email: if you do not have its password, make another one`,
    example: { instance: '/users' },
  }),
  own_user: problem(409, 'An API user cannot change itself', 'fix_request', {
    detail: () =>
      'another API user with the permission "users" can change this one; POST /auth/password changes a password',
    example: { instance: `/users/${ID}` },
  }),
  clock_backwards: problem<{ now: string; errors: Fault[] }>(409, 'A clock only moves forward', 'fix_request', {
    members: {
      now: { type: 'string', format: 'date-time', description: 'The clock.', example: '2026-12-03T03:00:00.000Z' },
      errors: errors({ pointer: '/now', detail: 'must not be before the clock' }),
    },
    detail: ({ now }) => `the clock is at ${now}`,
    example: { instance: '/sandbox/clock' },
  }),
  events_expired: problem(410, 'Events after this sequence are no longer kept', 'fix_request', {
    members: {
      oldest: { type: 'integer', minimum: 1, description: 'The oldest `sequence` that is kept.', example: 1200 },
    },
    detail: ({ oldest }) =>
      `the oldest event that is kept has the sequence ${oldest}: read the orders that you need, then continue after ${oldest - 1}`,
    example: { instance: '/events' },
  }),
  precondition_failed: problem(412, 'The order has changed since the version in If-Match', 'read_order', {
    example: {
      instance: ORDER,
      detail: 'the order is at version 3: If-Match does not name "3" (a weak tag never matches)',
    },
  }),
  policy_changed: problem(412, 'The rules have changed since the version in If-Match', 'fix_request', {
    example: { instance: '/policy', detail: 'the rules are at version 3: If-Match does not name "3"' },
  }),
  payload_too_large: problem(413, 'The request body is too large', 'fix_request', {
    example: { detail: 'a request body is limited to 262144 bytes' },
  }),
  unsupported_media_type: problem(415, 'The request body must be JSON', 'fix_request', {
    example: { detail: 'content-type must be application/json in UTF-8; received: text/plain' },
  }),
  payments_exceed_total: problem(422, 'The payment methods and the redeemed cashback exceed the total', 'fix_request', {
    members: {
      total: amount('The total of the order, in BRL.', '150.00'),
      redeemed: amount('The cashback that the completion redeems, in BRL; otherwise "0.00".', '20.00'),
      payments: amount('The sum of the payment methods, in BRL.', '150.00'),
      errors: errors({ pointer: '/payment_methods', detail: 'must add up to at most 130.00 if 20.00 is redeemed' }),
    },
    detail: ({ total, redeemed, payments }) =>
      redeemed === '0.00'
        ? `the payment methods add up to ${payments}, which exceeds the total of ${total}`
        : `the payment methods add up to ${payments}, and ${redeemed} is redeemed: together this exceeds the total of ${total}; send what the customer paid, and as redeem what was deducted`,
    example: { instance: `${ORDER}/complete` },
  }),
  redemption_exceeds_maximum: problem(422, 'The redemption exceeds the maximum', 'fix_request', {
    members: { maximum: maximum('75.00'), limited_by: limitedBy('order_share'), errors: optionalErrors },
    detail: ({ maximum }) => `at most ${maximum} can be redeemed on this order now`,
    example: { instance: `${ORDER}/redemption` },
  }),
  redemption_below_minimum: problem(422, 'The redemption is less than the minimum', 'fix_request', {
    members: {
      minimum: amount('The least that can be redeemed at once, in BRL.', '5.00'),
      errors: errors({ pointer: '/amount', detail: 'must be "0.00" or at least 5.00' }),
    },
    detail: ({ minimum }) => `at least ${minimum} must be redeemed at once, or nothing`,
    example: { instance: `${ORDER}/redemption` },
  }),
  earn_amount_exceeds_maximum: problem(422, 'The earn_amount exceeds the maximum', 'fix_request', {
    members: {
      maximum: amount('The most that the order can ask to earn, in BRL.', '15.00'),
      errors: errors({ pointer: '/earn_amount', detail: 'must be at most 15.00' }),
    },
    detail: ({ maximum }) =>
      `earn_amount is at most ${maximum}: the share earn_rate_maximum of the policy, of the eligible total`,
    example: { instance: '/orders' },
  }),
  wrong_password: problem(422, 'The current password is wrong', 'fix_request', {
    members: { errors: errors({ pointer: '/current_password', detail: 'must be the current password' }) },
    detail: () => 'current_password is not the password of this API user',
    example: { instance: '/auth/password' },
  }),
  grant_exceeds_maximum: problem(422, 'The grant exceeds the maximum', 'fix_request', {
    members: {
      maximum: amount('The most that can be granted now, in BRL.', '1000.00'),
      limited_by: {
        type: 'string',
        enum: ['grant', 'day'],
        description: 'What limits it: the maximum of one grant, or of all grants of this day.',
        example: 'grant',
      },
      errors: errors({ pointer: '/amount', detail: 'must be at most 1000.00' }),
    },
    detail: ({ maximum, limited_by }) =>
      `at most ${maximum} can be granted ${limited_by === 'grant' ? 'at once' : 'on this day any more'}`,
    example: { instance: '/grants' },
  }),
  debit_exceeds_balance: problem(422, 'The debit exceeds what the customer has', 'fix_request', {
    members: {
      maximum: amount('The most that can be debited now, in BRL: what is available and pending.', '30.00'),
      errors: errors({ pointer: '/amount', detail: 'must be at most 30.00' }),
    },
    detail: ({ maximum }) => `at most ${maximum} can be debited now; what orders hold cannot`,
    example: { instance: '/debits' },
  }),
  refund_exceeds_total: problem(422, 'The refund exceeds what is left of the order', 'fix_request', {
    members: {
      minimum: amount('The minimum of what `errors` names, in BRL; of the `amount`, if those are items.', '30.00'),
      maximum: amount('The maximum of what `errors` names, in BRL; of the `amount`, if those are items.', '50.00'),
      errors: errors({ pointer: '/eligible_amount', detail: 'must be from 30.00 to 50.00' }),
    },
    example: {
      instance: `${ORDER}/refunds`,
      detail: 'the eligible part of a refund of 50.00 must be from 30.00 to 50.00',
    },
  }),
  sold_too_long_ago: problem(422, 'The sale was too long ago', 'fix_request', {
    members: {
      earliest: {
        type: 'string',
        format: 'date-time',
        description: 'The earliest `sold_at` that is accepted now.',
        example: '2026-11-26T14:00:00.000Z',
      },
      errors: errors({ pointer: '/sold_at', detail: 'must be 2026-11-26T14:00:00.000Z or later' }),
    },
    detail: ({ earliest }) =>
      `sold_at must be ${earliest} or later: the rule late_sale_days of the policy, which the operator sets`,
    example: { instance: '/orders' },
  }),
  webhook_url_refused: problem(422, 'Events are not sent to this URL', 'fix_request', {
    members: { errors: errors({ pointer: '/url', detail: 'must begin with https://' }) },
    detail: ({ errors }) => `the url ${errors[0]?.detail}`,
    example: { instance: '/webhook-endpoints' },
  }),
  too_many_webhook_endpoints: problem(422, 'There are too many webhook endpoints', 'fix_request', {
    members: { maximum: { type: 'integer', description: 'The maximum number of endpoints.', example: 20 } },
    detail: ({ maximum }) => `a merchant has at most ${maximum} webhook endpoints: delete one that is not used`,
    example: { instance: '/webhook-endpoints' },
  }),
  too_many_orders: problem(422, 'The period has too many orders', 'fix_request', {
    members: { maximum: { type: 'integer', description: 'The maximum number of orders.', example: 300_000 } },
    detail: ({ maximum }) =>
      `the report reads at most ${maximum} orders: ask for fewer days, or see GET /reports/sales for their sums`,
    example: { instance: '/reports/customers?from=2026-11-01&to=2026-12-01' },
  }),
  report_too_large: problem(422, 'The report is too large for a request', 'fix_request', {
    detail: () =>
      'reading takes longer than a request may: ask for fewer days; the command line (npm run admin -- reports) has no such limit',
    example: { instance: '/reports/frequent?from=2026-11-01&to=2026-12-01' },
  }),
  too_many_requests: problem(429, 'Too many requests', 'retry', {
    retryable: true,
    example: { detail: 'try again in 1 second' },
  }),
  headers_too_large: problem(431, 'The request headers are too large', 'fix_request', { example: { instance: '/' } }),
  internal_error: problem(500, 'Internal server error', 'contact_support', { retryable: true }),
  unavailable: problem(503, 'The service is temporarily unavailable', 'retry', {
    retryable: true,
    detail: () => 'try again in a moment',
  }),
};

export type ProblemCode = keyof typeof PROBLEMS;

/** The entry of a code, whatever its members are. */
export const entryOf = (code: ProblemCode): Entry => PROBLEMS[code];

interface Occurrence {
  /** Replaces the sentence of the entry; without either, the title is sent. */
  detail?: string;
  /** Replaces that of the entry. */
  next_action?: NextAction;
  headers?: Record<string, string>;
  cause?: unknown;
}

type Fields<Code extends ProblemCode> = Occurrence &
  ((typeof PROBLEMS)[Code] extends Entry<infer Members> ? Members : never);
/** A code with its members. They can be left out if the problem has none. */
type Arguments = {
  [Code in ProblemCode]: Occurrence extends Fields<Code>
    ? [code: Code, fields?: Fields<Code>]
    : [code: Code, fields: Fields<Code>];
}[ProblemCode];

/** The only class of domain error. `ProblemFilter` turns it into an `application/problem+json` response (RFC 9457). */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly headers: Record<string, string>;
  readonly errors: Fault[] | undefined;
  readonly #arguments: Arguments;
  readonly #members: object;

  constructor(...given: Arguments) {
    const [code, fields = {}] = given;
    const { detail, headers = {}, cause, ...members } = fields as Occurrence & { errors?: Fault[] };
    const entry = entryOf(code);
    super(detail ?? entry.detail?.(members) ?? entry.title, { cause });
    this.name = 'Problem';
    this.code = code;
    this.status = entry.status;
    this.title = entry.title;
    this.headers = headers;
    this.errors = members.errors;
    this.#arguments = given;
    this.#members = members;
  }

  /** The same problem of an object that is a member of the request, such as `/complete`. */
  within(pointer: string): Problem {
    const [code, fields = {}] = this.#arguments;
    const errors = this.errors?.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` }));
    return new Problem(...([code, { ...fields, ...(errors && { errors }) }] as Arguments));
  }

  toBody(instance: string, requestId: string): Record<string, unknown> {
    const { retryable, next_action } = entryOf(this.code);
    return {
      type: `urn:problem:cashback:${this.code}`,
      title: this.title,
      status: this.status,
      detail: this.message,
      instance,
      code: this.code,
      request_id: requestId,
      retryable,
      next_action,
      ...this.#members,
      ...(this.errors && { errors: this.errors.slice(0, MAX_FAULTS) }),
    };
  }
}

export const validationFailed = (errors: Fault[]): Problem => new Problem('validation_failed', { errors });

/** Returns a 409 that names what has the `external_id` already, such as `order`, and each member that differs. */
export function externalIdConflict(what: string, existing_id: string, errors: Fault[]): Problem {
  return new Problem('external_id_conflict', {
    detail: `${what} ${existing_id} has this external_id and differs in ${errors.length} member${errors.length === 1 ? '' : 's'}`,
    existing_id,
    errors,
  });
}

/** Returns a 403 for a caller that has none of some permissions. */
export const forbidden = (required: readonly [Permission, ...Permission[]]): Problem =>
  new Problem('forbidden', {
    permission: required[0],
    detail: `this needs the permission ${required.map((name) => `"${name}"`).join(' or ')}, which the API user does not have`,
    // RFC 6750, section 3.1
    headers: {
      'www-authenticate': `Bearer realm="cashback", error="insufficient_scope", scope="${required[0]}"`,
    },
  });

/** @param detail what does not exist, such as `no order has this external_id`. Another merchant's does not either. */
export const notFound = (detail: string): Problem => new Problem('not_found', { detail });

/**
 * Returns a 503: the database is unreachable, too many requests are waiting, or the service is shutting down. The same
 * request may succeed after a second.
 *
 * @param cause is logged; undefined for refusals that are expected under load.
 */
export const unavailable = (cause: unknown, detail?: string): Problem =>
  new Problem('unavailable', { ...(detail && { detail }), headers: { 'retry-after': '1' }, cause });
