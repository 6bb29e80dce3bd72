import { describe, expect, it } from '@jest/globals';
import { requestIdOf } from './request-id.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const idFor = (offered?: string | string[]): string => requestIdOf({ headers: { 'x-request-id': offered } });

describe('requestIdOf', () => {
  it.each(['a', 'A-1_2.z', 'x'.repeat(128)])('requestIdOf returns the ID %s of the caller', (offered) => {
    expect(idFor(offered)).toBe(offered);
  });

  it.each([undefined, '', 'x'.repeat(129), 'a b', 'a\n', 'a,b', 'ação', '{"a":1}', ['a', 'b']])(
    'requestIdOf returns a new ID instead of %j',
    (offered) => {
      expect(idFor(offered)).toMatch(UUID);
    },
  );

  it('requestIdOf returns the same ID when it is called again', () => {
    const request = { headers: {} };
    expect(requestIdOf(request)).toBe(requestIdOf(request));
    expect(requestIdOf({ headers: {} })).not.toBe(requestIdOf(request));
  });
});
