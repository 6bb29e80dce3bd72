import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createSecretKey, type KeyObject } from 'node:crypto';
import { digest, looksIssued, looksLikeRefreshToken, randomPair, successorOf, tokenKeys } from './sessions.service.js';

const SECRET = 'a-signing-secret-of-the-tests-alone-0123456789';
const UUID_V4 = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}';
const ACCESS = new RegExp(`^cbat_${UUID_V4}$`);
const REFRESH = new RegExp(`^cbrt_${UUID_V4}$`);

const keyOf = (secret: string): KeyObject => tokenKeys({ JWT_SECRET: secret, JWT_SECRET_PREVIOUS: '' })[0];
const key = keyOf(SECRET);
const otherKey = keyOf(`${SECRET}!`);

describe('token pairs', () => {
  it('both tokens of a pair consist of a prefix and a UUID', () => {
    const pair = randomPair(key);
    expect(pair.accessToken).toMatch(ACCESS);
    expect(pair.refreshToken).toMatch(REFRESH);
  });

  it('token pairs never repeat, and the two tokens of a pair share no part', () => {
    const uuids = Array.from({ length: 500 }, () => randomPair(key)).flatMap(({ accessToken, refreshToken }) => [
      accessToken.slice(5),
      refreshToken.slice(5),
    ]);
    expect(new Set(uuids).size).toBe(1000);
  });
});

describe('looksIssued', () => {
  it('looksIssued accepts an access token when one of the keys issued it', () => {
    for (const { accessToken } of [randomPair(key), successorOf('cbrt_x', key)]) {
      expect(looksIssued(accessToken, [key])).toBe(true);
      expect(looksIssued(accessToken, [otherKey, key])).toBe(true);
      expect(looksIssued(accessToken, [otherKey])).toBe(false);
    }
  });

  it('looksIssued rejects access tokens that are made up or changed', () => {
    fc.assert(
      fc.property(fc.uuid({ version: 4 }), fc.string(), (uuid, text) => {
        expect(looksIssued(`cbat_${uuid}`, [key])).toBe(false);
        expect(looksIssued(text, [key])).toBe(false);
      }),
    );
    const { accessToken, refreshToken } = randomPair(key);
    for (const changed of [refreshToken, accessToken.slice(5), accessToken.toUpperCase(), `${accessToken} `])
      expect(looksIssued(changed, [key])).toBe(false);
    expect(looksLikeRefreshToken(refreshToken)).toBe(true);
    expect(looksLikeRefreshToken(accessToken)).toBe(false);
  });
});

describe('successorOf', () => {
  it('successorOf returns a valid pair and always the same one', () => {
    fc.assert(
      fc.property(fc.string(), (refreshToken) => {
        const pair = successorOf(refreshToken, key);
        expect(pair.accessToken).toMatch(ACCESS);
        expect(pair.refreshToken).toMatch(REFRESH);
        expect(pair.accessToken.slice(5)).not.toBe(pair.refreshToken.slice(5));
        expect(successorOf(refreshToken, keyOf(SECRET))).toEqual(pair);
      }),
    );
  });

  it('successorOf returns different pairs for different refresh tokens', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (one, other) => {
        fc.pre(one !== other);
        expect(successorOf(one, key).accessToken).not.toBe(successorOf(other, key).accessToken);
        expect(successorOf(one, key).refreshToken).not.toBe(successorOf(other, key).refreshToken);
      }),
    );
  });

  it('successorOf depends on the secret of the server', () => {
    const { refreshToken } = randomPair(key);
    expect(successorOf(refreshToken, keyOf(`${SECRET}!`))).not.toEqual(successorOf(refreshToken, key));
  });

  it('successorOf uses a derived key and not the signing secret itself', () => {
    expect(key.symmetricKeySize).toBe(32);
    expect(key.equals(createSecretKey(Buffer.from(SECRET).subarray(0, 32)))).toBe(false);
  });
});

it('digest returns the SHA-256 of a token', () => {
  expect(digest('abc').toString('hex')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
