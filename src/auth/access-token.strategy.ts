import { createHmac, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-jwt';
import { Config } from '../config/config.js';
import { signingKeys } from '../config/signing-secrets.js';
import type { Caller } from '../common/caller.js';
import type { AppRequest } from '../http/app-request.js';

export const JWT_ISSUER = 'cashback-order-service';
export const JWT_AUDIENCE = 'cashback-orders';
export const JWT_ALGORITHM = 'HS256';

/** Verifies the JWT behind an access token: signature, algorithm, issuer, audience and expiry. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(Strategy) {
  constructor(config: Config) {
    const keys = signingKeys(config);
    super({
      jwtFromRequest: (request: AppRequest) => request.phantomToken ?? null,
      secretOrKeyProvider: (_request, jwt: string, done) => done(null, keyThatSigned(jwt, keys) as unknown as Buffer),
      // Otherwise jsonwebtoken also accepts HS512 with the same secret.
      algorithms: [JWT_ALGORITHM],
      issuer: JWT_ISSUER,
      audience: JWT_AUDIENCE,
    });
  }

  validate({ sub, merchant_id: merchantId, sid, exp }: Record<string, unknown>): Caller | false {
    // jsonwebtoken also accepts a token without an expiry.
    if (typeof sub !== 'string' || typeof merchantId !== 'string' || typeof sid !== 'string' || typeof exp !== 'number')
      return false;
    return { apiUserId: sub, merchantId, sessionId: sid };
  }
}

/** Returns the key that signed a JWT. If none did, returns the first key, and passport-jwt then refuses the JWT. */
function keyThatSigned(jwt: string, keys: [KeyObject, ...KeyObject[]]): KeyObject {
  if (keys.length === 1) return keys[0];
  const end = jwt.lastIndexOf('.');
  const signatureOf = (key: KeyObject): string =>
    createHmac('sha256', key).update(jwt.slice(0, end)).digest('base64url');
  return keys.find((key) => signatureOf(key) === jwt.slice(end + 1)) ?? keys[0];
}
