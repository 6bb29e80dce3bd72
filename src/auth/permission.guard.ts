import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type OptionalPermission } from '../common/permissions.js';
import { Problem } from '../common/problem.js';
import type { AppRequest } from '../http/app-request.js';

const PERMISSION = 'permission';

/** Marks a route that only API users with a permission can use. */
export const Requires = (permission: OptionalPermission): MethodDecorator => SetMetadata(PERMISSION, permission);

/** Refuses callers without the permission that the route requires. Runs after the guard that reads it. */
@Injectable()
export class PermissionGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const permission = this.reflector.get<OptionalPermission | undefined>(PERMISSION, context.getHandler());
    if (permission === undefined) return true;
    const { permissions } = context.switchToHttp().getRequest<AppRequest>();
    if (permissions?.includes(permission) === true) return true;
    // RFC 6750, section 3.1
    const challenge = `Bearer realm="cashback", error="insufficient_scope", scope="${permission}"`;
    throw new Problem('forbidden', { permission, headers: { 'www-authenticate': challenge } });
  }
}
