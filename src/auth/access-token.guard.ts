import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { Problem } from '../common/problem.js';
import { type AppRequest, bearerTokenOf } from '../http/app-request.js';
import { IS_PUBLIC } from '../http/decorators.js';
import { TokenSetsService } from './token-sets.service.js';

const CHALLENGE = 'Bearer realm="cashback"';

/**
 * Guards every route that is not marked `@Public()`. It swaps the opaque access token for its JWT, which
 * passport-jwt then verifies. A JWT that a caller sends is refused as an unknown token. (RFC 6750)
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
    const token = bearerTokenOf(request);
    if (token === undefined) throw new Problem('missing_token', { headers: { 'www-authenticate': CHALLENGE } });
    const live = await this.tokenSets.swap(token);
    if (live === undefined) throw invalidToken();
    request.phantomToken = live.jwt;
    request.permissions = live.permissions;
    return (await super.canActivate(context)) as boolean;
  }

  /** Maps passport's result to the caller or a problem. */
  override handleRequest<TUser>(error: unknown, user: TUser | false): TUser {
    if (error instanceof Error) throw error;
    if (!user) throw invalidToken();
    return user;
  }
}

function invalidToken(): Problem {
  return new Problem('invalid_token', {
    headers: {
      'www-authenticate': `${CHALLENGE}, error="invalid_token", error_description="unknown, expired or revoked"`,
    },
  });
}
