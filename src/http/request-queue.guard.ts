import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { networkOf } from '../common/network.js';
import { IS_PUBLIC } from './caller.js';
import { KnownCallers } from './known-callers.js';
import { refuseUnreadableBody } from './request-body.js';
import { RequestQueues } from './request-queues.js';
import { Turn } from './turn.js';

const SKIPS_QUEUE = 'skipsQueue';

/** For routes that must answer under any load, and that cost next to nothing. */
export const SkipsQueue = (): MethodDecorator & ClassDecorator => SetMetadata(SKIPS_QUEUE, true);

/**
 * The first guard: it refuses what a request's head alone gives a reason to refuse, and lets the others work in turn.
 * Callers with a known token have a queue per merchant; all others have one per route and network.
 */
@Injectable()
export class RequestQueueGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly queues: RequestQueues,
    private readonly known: KnownCallers,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const about = (key: string): boolean =>
      this.reflector.getAllAndOverride<boolean>(key, [context.getHandler(), context.getClass()]) ?? false;
    const request = context.switchToHttp().getRequest<Request>();
    const isPublic = about(IS_PUBLIC);
    refuseUnreadableBody(request);
    if (about(SKIPS_QUEUE) || (!isPublic && request.headers.authorization === undefined)) return true;
    const merchant = isPublic ? undefined : this.known.merchantOf(request);
    const caller = merchant ?? `${context.getHandler().name} ${networkOf(request.ip)}`;
    const queue = isPublic ? this.queues.open : this.queues.guarded;
    await Turn.start(queue, caller, request, context.switchToHttp().getResponse<Response>());
    return true;
  }
}
