import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-jwt';
import { Config } from '../config/config.js';
import { signingSecrets } from '../config/signing-secrets.js';
import type { Caller } from '../common/caller.js';

export const JWT_ISSUER = 'cashback-order-service';
export const JWT_AUDIENCE = 'cashback-orders';
export const JWT_ALGORITHM = 'HS256';

/** The secrets as key objects, the one that signs first: given strings, jsonwebtoken would make a key for each token. */
export function signingKeys(config: Config): [KeyObject, ...KeyObject[]] {
  const [first, ...others] = signingSecrets(config);
  return [keyOf(first), ...others.map(keyOf)];
}

const keyOf = (secret: string): KeyObject => createSecretKey(Buffer.from(secret));

const phantoms = new WeakMap<Request, string>();

/** Keeps the JWT that a request's access token was swapped for. Nothing that came from outside is ever kept here. */
export function attachPhantomToken(request: Request, jwt: string): void {
  phantoms.set(request, jwt);
}

/** Verifies the JWT behind an access token: signature, algorithm, issuer, audience and expiry. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(Strategy) {
  constructor(config: Config) {
    const keys = signingKeys(config);
    super({
      jwtFromRequest: (request: Request) => phantoms.get(request) ?? null,
      secretOrKeyProvider: (_request, jwt: string, done) => done(null, keyThatSigned(jwt, keys) as unknown as Buffer),
      // jsonwebtoken would take HS512 with the same secret.
      algorithms: [JWT_ALGORITHM],
      issuer: JWT_ISSUER,
      audience: JWT_AUDIENCE,
    });
  }

  validate({ sub, merchant_id: merchantId, jti, exp }: Record<string, unknown>): Caller | false {
    // jsonwebtoken would also take a token that never expires.
    if (typeof sub !== 'string' || typeof merchantId !== 'string' || typeof jti !== 'string' || typeof exp !== 'number')
      return false;
    return { apiUserId: sub, merchantId, tokenSetId: jti };
  }
}

/** The key that signed a JWT; the first one if none did, and passport-jwt then refuses it. */
function keyThatSigned(jwt: string, keys: [KeyObject, ...KeyObject[]]): KeyObject {
  if (keys.length === 1) return keys[0];
  const end = jwt.lastIndexOf('.');
  const signatureOf = (key: KeyObject): string =>
    createHmac('sha256', key).update(jwt.slice(0, end)).digest('base64url');
  return keys.find((key) => signatureOf(key) === jwt.slice(end + 1)) ?? keys[0];
}
