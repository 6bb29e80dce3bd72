import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { digest, randomPair, successorKey, successorOf } from './tokens.js';

const SECRET = 'a-signing-secret-of-the-tests-alone-0123456789';
const UUID_V4 = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';
const ACCESS = new RegExp(`^cbat_${UUID_V4}$`);
const REFRESH = new RegExp(`^cbrt_${UUID_V4}$`);

describe('a token pair', () => {
  it('is a prefix and a UUID each', () => {
    const pair = randomPair();
    expect(pair.accessToken).toMatch(ACCESS);
    expect(pair.refreshToken).toMatch(REFRESH);
  });

  it('never repeats, and its tokens share nothing', () => {
    const uuids = Array.from({ length: 500 }, randomPair).flatMap(({ accessToken, refreshToken }) => [
      accessToken.slice(5),
      refreshToken.slice(5),
    ]);
    expect(new Set(uuids).size).toBe(1000);
  });
});

describe('the successor of a refresh token', () => {
  const key = successorKey(SECRET);

  it('is a pair like any other, and always the same one', () => {
    fc.assert(
      fc.property(fc.string(), (refreshToken) => {
        const pair = successorOf(refreshToken, key);
        expect(pair.accessToken).toMatch(ACCESS);
        expect(pair.refreshToken).toMatch(REFRESH);
        expect(pair.accessToken.slice(5)).not.toBe(pair.refreshToken.slice(5));
        expect(successorOf(refreshToken, successorKey(SECRET))).toEqual(pair);
      }),
    );
  });

  it('is another one for another token', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (one, other) => {
        fc.pre(one !== other);
        expect(successorOf(one, key).accessToken).not.toBe(successorOf(other, key).accessToken);
        expect(successorOf(one, key).refreshToken).not.toBe(successorOf(other, key).refreshToken);
      }),
    );
  });

  it('cannot be told without the server’s secret', () => {
    const { refreshToken } = randomPair();
    expect(successorOf(refreshToken, successorKey(`${SECRET}!`))).not.toEqual(successorOf(refreshToken, key));
  });

  it('is derived under a key that is not the signing secret itself', () => {
    expect(key).toHaveLength(32);
    expect(key.equals(Buffer.from(SECRET).subarray(0, 32))).toBe(false);
  });
});

it('keeps the SHA-256 of a token', () => {
  expect(digest('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
