import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-jwt';
import { Config } from '../config/config.js';
import type { Caller } from './caller.js';

export const JWT_ISSUER = 'cashback-order-service';
export const JWT_AUDIENCE = 'cashback-orders';
export const JWT_ALGORITHM = 'HS256';

/** The secret as a key object: out of a string, jsonwebtoken would make one anew for every token. */
export function signingKey(config: Config): KeyObject {
  return createSecretKey(Buffer.from(config.JWT_SECRET));
}

const swapped = new WeakMap<Request, string>();

/** Lays the JWT of a request down for the strategy. Nothing that came from outside is ever laid down here. */
export function presentJwt(request: Request, jwt: string): void {
  swapped.set(request, jwt);
}

/** Verifies the JWT behind an access token: signature, algorithm, issuer, audience and expiry. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(Strategy) {
  constructor(config: Config) {
    super({
      jwtFromRequest: (request: Request) => swapped.get(request) ?? null,
      secretOrKey: signingKey(config) as unknown as Buffer,
      // jsonwebtoken would take HS512 under the same secret.
      algorithms: [JWT_ALGORITHM],
      issuer: JWT_ISSUER,
      audience: JWT_AUDIENCE,
    });
  }

  validate(payload: Record<string, unknown>): Caller | false {
    const { sub, merchant_id: merchantId, jti, exp } = payload;
    // jsonwebtoken would also take a token that never expires.
    if (typeof sub !== 'string' || typeof merchantId !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return false;
    return { apiUserId: sub, merchantId, tokenSetId: jti };
  }
}
