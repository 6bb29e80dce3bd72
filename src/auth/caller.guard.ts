import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { createHmac, type KeyObject } from 'node:crypto';
import { Strategy } from 'passport-jwt';
import { Config, signingKeys } from '../platform/config/config.js';
import { type AppRequest, bearerTokenOf } from '../platform/http/app-request.js';
import { IS_PUBLIC, REQUIRED } from '../platform/http/decorators.js';
import { type Permission } from '../platform/values/caller.js';
import { forbidden, Problem } from '../platform/values/problem.js';
import { ACCESS_PREFIX, REFRESH_PREFIX, SessionsService } from './sessions.service.js';

const CHALLENGE = 'Bearer realm="cashback"';

/**
 * Guards every route that is not marked `@Public()`, again after a body that was not there the first time. It swaps the
 * opaque access token for its JWT, which passport-jwt then verifies. A JWT that a caller sends is refused. (RFC 6750)
 */
@Injectable()
export class AccessTokenGuard extends AuthGuard('jwt') {
  constructor(
    private readonly reflector: Reflector,
    private readonly sessions: SessionsService,
  ) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.reflector.getAllAndOverride<boolean>(IS_PUBLIC, [context.getHandler(), context.getClass()])) return true;
    const request = context.switchToHttp().getRequest<AppRequest>();
    if (request.wasComplete === true) return true;
    const { authorization = '' } = request.headers;
    const token = bearerTokenOf(request) ?? authorization;
    if (token === authorization && !token.startsWith(ACCESS_PREFIX)) throw refused('missing_token', token);
    const live = await this.sessions.swap(token);
    if (live === undefined) throw refused('invalid_token', token);
    request.wasComplete = request.complete;
    request.phantomToken = live.jwt;
    request.permissions = live.permissions;
    return (await super.canActivate(context)) as boolean;
  }

  override handleRequest<TUser>(error: unknown, user: TUser | false): TUser {
    if (error instanceof Error) throw error;
    if (!user) throw refused('invalid_token');
    return user;
  }
}

/** Another login does not help a program that sends something else than an access token. */
function refused(code: 'missing_token' | 'invalid_token', sent = ''): Problem {
  const error = code === 'invalid_token' ? `, error="${code}", error_description="unknown, expired or revoked"` : '';
  const headers = { 'www-authenticate': CHALLENGE + error };
  if (sent === '' || sent.startsWith(ACCESS_PREFIX)) return new Problem(code, { headers });
  const what = sent.startsWith(REFRESH_PREFIX) ? 'a refresh token' : 'not an access token (cbat_…)';
  const detail = `that is ${what}: send the header Authorization: Bearer <access_token>`;
  return new Problem(code, { detail, next_action: 'fix_request', headers });
}

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

  validate({ sub, merchant_id: merchantId, sid, exp }: Record<string, unknown>): AppRequest['user'] | false {
    // jsonwebtoken also accepts a token without an expiry.
    if (typeof sub !== 'string' || typeof merchantId !== 'string' || typeof sid !== 'string' || typeof exp !== 'number')
      return false;
    return { apiUserId: sub, merchantId, sessionId: sid };
  }
}

/** If none of the keys signed the JWT, passport-jwt refuses it with the first one. */
function keyThatSigned(jwt: string, keys: [KeyObject, ...KeyObject[]]): KeyObject {
  if (keys.length === 1) return keys[0];
  const end = jwt.lastIndexOf('.');
  const signatureOf = (key: KeyObject): string =>
    createHmac('sha256', key).update(jwt.slice(0, end)).digest('base64url');
  return keys.find((key) => signatureOf(key) === jwt.slice(end + 1)) ?? keys[0];
}

/** Refuses callers without a permission that the operation requires. Runs after the guard that reads theirs. */
@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const { user, permissions: own = [] } = context.switchToHttp().getRequest<AppRequest>();
    if (user === undefined) return true;
    const targets = [context.getHandler(), context.getClass()];
    const required = this.reflector.getAllAndOverride<Permission[] | undefined>(REQUIRED, targets);
    if (required === undefined) throw new Error(`${context.getHandler().name} does not say which permission it needs`);
    const [permission, ...others] = required;
    if (permission === undefined || required.some((one) => own.includes(one))) return true;
    throw forbidden([permission, ...others]);
  }
}
