import { describe, expect, it } from '@jest/globals';
import { tooManyRequests } from './rate-limiter.js';

const LOGIN = { name: 'login', limit: 10, windowSeconds: 900 };
const REQUESTS = { name: 'requests', limit: 100, windowSeconds: 1 };
const BURST = { name: 'requests-burst', limit: 1000, windowSeconds: 60 };

describe('the too_many_requests problem', () => {
  it('a too_many_requests problem names the limit and says when to retry', () => {
    const problem = tooManyRequests([{ quota: LOGIN, msLeft: 811_001 }]);
    expect(problem).toMatchObject({
      code: 'too_many_requests',
      status: 429,
      message: 'try again in 812 seconds',
    });
    expect(problem.headers).toEqual({
      'retry-after': '812',
      'ratelimit-policy': '"login";q=10;w=900',
      ratelimit: '"login";r=0;t=812',
    });
  });

  it('Retry-After is never longer than the window, whatever the clock of the store', () => {
    const { headers } = tooManyRequests([{ quota: LOGIN, msLeft: 3_900_000 }]);
    expect(headers).toMatchObject({ 'retry-after': '900', ratelimit: '"login";r=0;t=900' });
  });

  it.each([-1, 0, 1, 999, 1000])('Retry-After is at least one second when %i ms remain', (msLeft) => {
    const { headers, message } = tooManyRequests([{ quota: REQUESTS, msLeft }]);
    expect(headers).toMatchObject({ 'retry-after': '1', ratelimit: '"requests";r=0;t=1' });
    expect(message).toBe('try again in 1 second');
  });

  it('Retry-After is that of the first limit that allows a request again', () => {
    const usedUp = [
      { quota: REQUESTS, msLeft: 400 },
      { quota: BURST, msLeft: 41_500 },
    ];
    expect(tooManyRequests(usedUp).headers).toEqual({
      'retry-after': '1',
      'ratelimit-policy': '"requests";q=100;w=1, "requests-burst";q=1000;w=60',
      ratelimit: '"requests";r=0;t=1, "requests-burst";r=0;t=42',
    });
  });
});
