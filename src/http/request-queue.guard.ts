import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { networkOf } from '../common/network.js';
import { IS_PUBLIC } from './caller.js';
import { takesBody } from './handler-arguments.js';
import { KnownCallers } from './known-callers.js';
import { refuseUnreadableBody } from './request-body.js';
import { RequestQueues } from './request-queues.js';
import { Turn } from './turn.js';

const SKIPS_QUEUE = 'skipsQueue';

/** For cheap routes that must respond under any load. */
export const SkipsQueue = (): MethodDecorator & ClassDecorator => SetMetadata(SKIPS_QUEUE, true);

const LOCKS = 'locks';

/** For routes whose transactions lock rows that other requests of the merchant may lock. */
export const Locks = (): MethodDecorator => SetMetadata(LOCKS, true);

/**
 * The first guard. It refuses requests with unreadable bodies, and makes the others wait for their turn. Callers with a
 * known token wait by merchant; all others by route and network until their token is found, and then by merchant.
 */
@Injectable()
export class RequestQueueGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly queues: RequestQueues,
    private readonly known: KnownCallers,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const isMarked = (key: string): boolean =>
      this.reflector.getAllAndOverride<boolean>(key, [context.getHandler(), context.getClass()]) ?? false;
    const request = context.switchToHttp().getRequest<Request>();
    const isPublic = isMarked(IS_PUBLIC);
    if (takesBody(context)) refuseUnreadableBody(request);
    if (isMarked(SKIPS_QUEUE) || (!isPublic && request.headers.authorization === undefined)) return true;
    const merchant = isPublic ? undefined : this.known.merchantOf(request);
    const caller = merchant ?? `${context.getHandler().name} ${networkOf(request.ip)}`;
    const guarded = isMarked(LOCKS) ? this.queues.locking : this.queues.guarded;
    const own = isPublic ? this.queues.open : guarded;
    const now = isPublic || merchant !== undefined ? own : this.queues.strangers;
    await Turn.start([now, own], caller, request, context.switchToHttp().getResponse<Response>());
    return true;
  }
}
