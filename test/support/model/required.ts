import { seen } from './expected.js';

const CHANGE =
  'of another merchant, 200, validation_failed, malformed_request, invalid_transition, precondition_failed';

/** The outcomes of each operation. */
const OUTCOMES: Record<string, string> = {
  'POST /orders':
    '201, 201 replayed, validation_failed, external_id_conflict, payments_exceed_total, earn_amount_exceeds_maximum',
  'PUT /orders/{id}': `${CHANGE}, payments_exceed_total, earn_amount_exceeds_maximum, redemption_exceeds_maximum`,
  'PUT /orders/{id}/customer': `${CHANGE}, cashback_held`,
  'PUT /orders/{id}/redemption': `${CHANGE}, redemption_below_minimum, redemption_exceeds_maximum`,
  'POST /orders/{id}/complete':
    'of another merchant, 200, malformed_request, invalid_transition, precondition_failed, redemption_lapsed, ' +
    'redemption_no_longer_available, redemption_below_minimum, redemption_exceeds_maximum, payments_exceed_total',
  'POST /orders/{id}/cancel': CHANGE,
  'POST /orders/{id}/refunds':
    'of another merchant, 201, 201 replayed, validation_failed, external_id_conflict, invalid_transition, refund_exceeds_total',
  'POST /orders/{id}/refunds/quote':
    'of another merchant, 200, validation_failed, invalid_transition, refund_exceeds_total',
  'POST /grants': '201, 201 replayed, validation_failed, external_id_conflict, grant_exceeds_maximum',
  'POST /grants/{id}/void': 'of another merchant, 200, validation_failed',
  'POST /quotes':
    '200, validation_failed, payments_exceed_total, earn_amount_exceeds_maximum, redemption_below_minimum, ' +
    'redemption_exceeds_maximum',
  'POST /wallets/search': '200',
  'POST /orders/search': '200',
  'GET /orders': '200',
  'GET /orders/{id}': '200, of another merchant',
  'GET /orders/by-external-id/': '200, of another merchant',
  'GET /orders/{id}/refunds': '200, of another merchant',
  'GET /orders/{id}/refunds/{id}': '200',
  'GET /grants/{id}': '200, of another merchant',
  'GET /wallets/{id}': '200, of another merchant',
  'GET /wallets/{id}/credits': '200, of another merchant',
  'GET /wallets/{id}/entries': '200, of another merchant',
  'GET /policy': '200',
};

/** States that need several operations, and that thousands of sequences reach several times. */
const STATES = [
  'If-Match allows a change',
  'the policy changes while an order is open',
  'a hold is repeated after its own expires_at',
  'an expired order is renewed',
  'an expired order is renewed with a hold',
  'an amendment keeps a hold',
  'an amendment lowers a hold',
  'an amendment changes the store',
  'an amendment changes the customer',
  'an order is cancelled with a reason',
  'all that was earned moves',
  'a part moves',
  'nothing moves',
  'a refunded order gets another customer',
  'what moves repays a debt',
  'a refund takes nothing back for cashback that did not move',
  'a refund takes back the least that it can',
  'a refund takes back all that is left',
  'a user has granted enough for a day',
  'a lapsed hold is redeemed at completion',
  'a lapsed hold is not redeemed at completion',
  'a credit expires unspent',
  'a credit expires except for what is held',
  'what is released of an expired credit expires',
  'what was held of an expired credit is redeemed',
  'a refund makes a new credit',
  'a refund makes a new credit from a returned amount',
  'a refund returns to the same credit',
  'a refund leaves a debt',
  'a refund leaves a debt beside what is held',
  'a refund claims what is held',
  'a refund claims what is held and has expired',
  'what is claimed is taken back after a release',
  'what is claimed is redeemed',
  'a debt is repaid by: grant',
  'a debt is repaid by: earn',
  'a debt is repaid by: release',
  'a debt is repaid by: return',
  'a refund takes nothing back for cashback that expired',
  'a refund counts where the order was made',
  'a refund is made in another store',
  'a refund has the lowest eligible_amount',
  'a refund has the highest eligible_amount',
  'a refund of an amount follows one of items',
  'a refund of items follows one of an amount',
  'the last items come back',
  'refunds of amounts left less than items cost',
  'a grant is voided partly',
  'a grant is voided while a part is held',
  'a grant is voided again after an amount returned',
  'a void takes what a refund returned as a new credit',
];

/** Returns what a run of the default length reaches, and this one did not. */
export function missing(): string[] {
  const outcomes = Object.entries(OUTCOMES).flatMap(([operation, all]) =>
    all.split(', ').map((outcome) => `${operation} ${outcome}`),
  );
  return [...outcomes, ...STATES].filter((what) => !seen.has(what));
}
