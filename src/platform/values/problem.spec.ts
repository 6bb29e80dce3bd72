import { describe, expect, it } from '@jest/globals';
import { type Fault, Problem, PROBLEMS, validationFailed } from './problem.js';

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
    const statuses = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status] as const);
    expect(Object.fromEntries(statuses)).toMatchObject(PUBLISHED);
  });

  it('a problem is retryable for 408, 429, 500, and 503 only', () => {
    const retryable = Object.entries(PROBLEMS).filter(([, problem]) => problem.retryable);
    expect(retryable.map(([code]) => code)).toEqual([
      'request_timeout',
      'too_many_requests',
      'internal_error',
      'unavailable',
    ]);
  });

  it('retryable problems have the next action retry, or contact_support for a server error, which only a missing permission shares', () => {
    const actions = Object.values(PROBLEMS).map(
      ({ status, retryable, next_action }) => `${retryable} ${next_action} ${status}`,
    );
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

  it('a problem body contains its members and those of RFC 9457 but not the cause', () => {
    const problem = new Problem('grant_exceeds_maximum', {
      maximum: '75.00',
      limited_by: 'grant',
      errors: [{ pointer: '/amount', detail: 'must be at most 75.00' }],
      cause: new Error('secret'),
    });
    expect(problem.toBody('/grants', 'id-1')).toEqual({
      type: 'urn:problem:cashback:grant_exceeds_maximum',
      title: 'The grant exceeds the maximum',
      status: 422,
      detail: 'at most 75.00 can be granted at once',
      instance: '/grants',
      code: 'grant_exceeds_maximum',
      request_id: 'id-1',
      retryable: false,
      next_action: 'fix_request',
      maximum: '75.00',
      limited_by: 'grant',
      errors: [{ pointer: '/amount', detail: 'must be at most 75.00' }],
    });
  });

  it('the compiler refuses a problem without one of its members, or with a member that it does not have', () => {
    const problems = [
      // @ts-expect-error events_expired has a member `oldest`
      new Problem('events_expired', { detail: 'too late' }),
      // @ts-expect-error `oldest` is a number
      new Problem('events_expired', { oldest: '1200' }),
      // @ts-expect-error events_expired has no errors
      new Problem('events_expired', { oldest: 1200, errors: [] }),
      // @ts-expect-error not_found has no members
      new Problem('not_found', { oldest: 1200 }),
    ];
    expect(problems.map(({ code }) => code)).toEqual([...Array<string>(3).fill('events_expired'), 'not_found']);
  });

  it('the explanation is the one that is given, otherwise that of the problem, otherwise the title', () => {
    expect(new Problem('missing_token', { detail: 'log in first' }).message).toBe('log in first');
    expect(new Problem('events_expired', { oldest: 8 }).message).toContain('the sequence 8: read the orders');
    expect(new Problem('internal_error').message).toBe('Internal server error');
  });

  it('the detail of a validation problem contains the number of errors', () => {
    const fault = { pointer: '/total', detail: 'wrong' };
    expect(validationFailed([fault]).message).toBe('1 member is not valid');
    expect(validationFailed([fault, fault]).message).toBe('2 members are not valid');
    expect(validationFailed(Array<Fault>(100).fill(fault)).message).toBe('100 members are not valid');
  });

  it('a problem lists at most 100 errors', () => {
    const problem = validationFailed(Array<Fault>(101).fill({ pointer: '/total', detail: 'wrong' }));
    expect(problem.message).toBe('more than 100 members are not valid');
    expect(problem.toBody('/orders', 'id-1').errors).toHaveLength(100);
  });
});
