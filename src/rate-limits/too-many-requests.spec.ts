import { describe, expect, it } from '@jest/globals';
import { tooManyRequests } from './too-many-requests.js';

const LOGIN = { name: 'login', quota: 10, windowSeconds: 900 };
const ORDERS = { name: 'orders', quota: 100, windowSeconds: 1 };
const BURST = { name: 'orders-burst', quota: 1000, windowSeconds: 60 };

describe('the problem too_many_requests', () => {
  it('says which limit it was, and when to come again', () => {
    const problem = tooManyRequests([{ policy: LOGIN, msBeforeNext: 811_001 }]);
    expect(problem).toMatchObject({
      code: 'too_many_requests',
      status: 429,
      retryable: true,
      message: 'try again in 812 seconds',
    });
    expect(problem.headers).toEqual({
      'retry-after': '812',
      'ratelimit-policy': '"login";q=10;w=900',
      ratelimit: '"login";r=0;t=812',
    });
  });

  it.each([-1, 0, 1, 999, 1000])('asks for at least a second of patience, at %i ms', (msBeforeNext) => {
    const { headers, message } = tooManyRequests([{ policy: ORDERS, msBeforeNext }]);
    expect(headers).toMatchObject({ 'retry-after': '1', ratelimit: '"orders";r=0;t=1' });
    expect(message).toBe('try again in 1 second');
  });

  it('waits for the first of several limits that opens', () => {
    const limits = [
      { policy: ORDERS, msBeforeNext: 400 },
      { policy: BURST, msBeforeNext: 41_500 },
    ];
    expect(tooManyRequests(limits).headers).toEqual({
      'retry-after': '1',
      'ratelimit-policy': '"orders";q=100;w=1, "orders-burst";q=1000;w=60',
      ratelimit: '"orders";r=0;t=1, "orders-burst";r=0;t=42',
    });
  });
});
