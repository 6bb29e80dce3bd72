import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-jwt';
import { Config } from '../config/config.js';
import type { Caller } from '../http/caller.js';
import type { PhantomToken } from './token-sets.service.js';

export const JWT_ISSUER = 'cashback-order-service';
export const JWT_AUDIENCE = 'cashback-orders';
export const JWT_ALGORITHM = 'HS256';

/** The secret as a key object: out of a string, jsonwebtoken would make one anew for every token. */
export function signingKey(config: Config): KeyObject {
  return createSecretKey(Buffer.from(config.JWT_SECRET));
}

const swapped = new WeakMap<Request, PhantomToken>();

/** Lays down for the strategy what a request's access token was swapped for. Nothing that came from outside is ever laid down here. */
export function attachPhantomToken(request: Request, phantom: PhantomToken): void {
  swapped.set(request, phantom);
}

/** Verifies the JWT behind an access token: signature, algorithm, issuer, audience and expiry. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(Strategy) {
  constructor(config: Config) {
    super({
      jwtFromRequest: (request: Request) => swapped.get(request)?.jwt ?? null,
      secretOrKey: signingKey(config) as unknown as Buffer,
      // jsonwebtoken would take HS512 under the same secret.
      algorithms: [JWT_ALGORITHM],
      issuer: JWT_ISSUER,
      audience: JWT_AUDIENCE,
      passReqToCallback: true,
    });
  }

  validate(request: Request, payload: Record<string, unknown>): Caller | false {
    const { sub, merchant_id: merchantId, jti, exp } = payload;
    const policy = swapped.get(request)?.policy;
    // jsonwebtoken would also take a token that never expires.
    if (
      typeof sub !== 'string' ||
      typeof merchantId !== 'string' ||
      typeof jti !== 'string' ||
      typeof exp !== 'number' ||
      !policy
    )
      return false;
    return { apiUserId: sub, merchantId, tokenSetId: jti, policy };
  }
}
