import { describe, expect, it } from '@jest/globals';
import { Problem, problemCodes, validationFailed } from './problem.js';

/** The published codes. The status of a code never changes. */
const PUBLISHED = {
  malformed_json: 400,
  validation_failed: 400,
  missing_token: 401,
  invalid_token: 401,
  invalid_credentials: 401,
  invalid_refresh_token: 401,
  route_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  external_id_conflict: 409,
  invalid_transition: 409,
  redemption_lapsed: 409,
  redemption_no_longer_available: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  payments_exceed_total: 422,
  redemption_exceeds_maximum: 422,
  refund_exceeds_total: 422,
  too_many_requests: 429,
  internal_error: 500,
  unavailable: 503,
};

describe('problems', () => {
  it('each problem code has its published status', () => {
    expect(Object.fromEntries(problemCodes().map(({ code, status }) => [code, status]))).toMatchObject(PUBLISHED);
  });

  it('a problem is retryable for 408, 429, 500, and 503 only', () => {
    const retryable = problemCodes().filter(({ code }) => new Problem(code).retryable);
    expect(retryable.map(({ code }) => code)).toEqual([
      'request_timeout',
      'too_many_requests',
      'internal_error',
      'unavailable',
    ]);
  });

  it('retryable problems have the next action retry, or contact_support for a server error, which only a missing permission shares', () => {
    const actions = problemCodes().map(({ status, retryable, next_action }) => `${retryable} ${next_action} ${status}`);
    expect(new Set(actions.filter((action) => /true|retry|support/.test(action)))).toEqual(
      new Set([
        'true retry 408',
        'true retry 429',
        'true retry 503',
        'true contact_support 500',
        'false contact_support 403',
      ]),
    );
  });

  it('a problem body contains the extensions and the members of RFC 9457 but not the cause', () => {
    const problem = new Problem('redemption_exceeds_maximum', {
      detail: 'at most 75.00',
      extensions: { maximum: '75.00' },
      cause: new Error('secret'),
    });
    expect(problem.toBody('/orders/1/redemption', 'id-1')).toEqual({
      type: 'urn:problem:cashback:redemption_exceeds_maximum',
      title: 'The redemption exceeds the maximum',
      status: 422,
      detail: 'at most 75.00',
      instance: '/orders/1/redemption',
      code: 'redemption_exceeds_maximum',
      request_id: 'id-1',
      retryable: false,
      next_action: 'fix_request',
      maximum: '75.00',
    });
  });

  it('the detail of a validation problem contains the number of errors', () => {
    const fault = { pointer: '/total', detail: 'wrong' };
    expect(validationFailed([fault]).message).toBe('1 member is not valid');
    expect(validationFailed([fault, fault]).message).toBe('2 members are not valid');
    expect(validationFailed(Array(100).fill(fault)).message).toBe('100 members are not valid');
  });

  it('a problem lists at most 100 errors', () => {
    const problem = validationFailed(Array(101).fill({ pointer: '/total', detail: 'wrong' }));
    expect(problem.message).toBe('more than 100 members are not valid');
    expect(problem.toBody('/orders', 'id-1').errors).toHaveLength(100);
  });
});
