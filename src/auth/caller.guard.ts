import { createHmac, type KeyObject } from 'node:crypto';
import { applyDecorators, type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';
import { Strategy } from 'passport-jwt';
import { Problem } from '../common/problem.js';
import { type AppRequest, bearerTokenOf } from '../http/app-request.js';
import { IS_PUBLIC } from '../http/decorators.js';
import { Config } from '../config/config.js';
import { signingKeys } from '../config/signing-secrets.js';
import type { Caller, Permission } from '../common/caller.js';
import { TokenSetsService } from './token-sets.service.js';
import { ACCESS_PREFIX, REFRESH_PREFIX } from './tokens.js';

const CHALLENGE = 'Bearer realm="cashback"';

/**
 * Guards every route that is not marked `@Public()`, again after a body that was not there the first time. It swaps the
 * opaque access token for its JWT, which passport-jwt then verifies. A JWT that a caller sends is refused. (RFC 6750)
 */
@Injectable()
export class AccessTokenGuard extends AuthGuard('jwt') {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokenSets: TokenSetsService,
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
    const live = await this.tokenSets.swap(token);
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

  validate({ sub, merchant_id: merchantId, sid, exp }: Record<string, unknown>): Caller | false {
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

const PERMISSIONS = 'permissions';

/**
 * Says which permission an operation, or each operation of a controller, needs: one of these, or none if there are
 * none. It must be on every operation that needs a token.
 */
export const Requires = (...permissions: Permission[]): MethodDecorator & ClassDecorator =>
  applyDecorators(
    SetMetadata(PERMISSIONS, permissions),
    // OpenAPI 3.1 allows the names of roles here.
    ...(permissions.length === 0 ? [ApiBearerAuth()] : permissions.map((name) => ApiSecurity('bearer', [name]))),
  );

/** Refuses callers without a permission that the operation requires. Runs after the guard that reads theirs. */
@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const { user, permissions: own = [] } = context.switchToHttp().getRequest<AppRequest>();
    if (user === undefined) return true;
    const targets = [context.getHandler(), context.getClass()];
    const required = this.reflector.getAllAndOverride<Permission[] | undefined>(PERMISSIONS, targets);
    if (required === undefined) throw new Error(`${context.getHandler().name} does not say which permission it needs`);
    const [permission] = required;
    if (permission === undefined || required.some((one) => own.includes(one))) return true;
    // RFC 6750, section 3.1
    const challenge = `Bearer realm="cashback", error="insufficient_scope", scope="${permission}"`;
    throw new Problem('forbidden', {
      permission,
      detail: `this needs the permission ${required.map((name) => `"${name}"`).join(' or ')}, which the API user does not have`,
      headers: { 'www-authenticate': challenge },
    });
  }
}
