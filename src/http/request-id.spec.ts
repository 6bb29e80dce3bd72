import { describe, expect, it } from '@jest/globals';
import { requestIdOf } from './request-id.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const idFor = (offered?: string | string[]): string => requestIdOf({ headers: { 'x-request-id': offered } });

describe('the request ID', () => {
  it.each(['a', 'A-1_2.z', 'x'.repeat(128)])('is the one that the caller sent, %s', (offered) => {
    expect(idFor(offered)).toBe(offered);
  });

  it.each([undefined, '', 'x'.repeat(129), 'a b', 'a\n', 'a,b', 'ação', '{"a":1}', ['a', 'b']])(
    'is a new one if the caller sent %j',
    (offered) => {
      expect(idFor(offered)).toMatch(UUID);
    },
  );

  it('stays the same for the whole request', () => {
    const request = { headers: {} };
    expect(requestIdOf(request)).toBe(requestIdOf(request));
    expect(requestIdOf({ headers: {} })).not.toBe(requestIdOf(request));
  });
});
