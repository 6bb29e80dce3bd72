import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { unavailable } from '../common/problem.js';
import type { Caller } from '../common/caller.js';
import { takesBody } from './handler-arguments.js';
import type { HttpServer } from './http-server.js';
import { KnownCallers } from './known-callers.js';
import { hasBody, readJsonBody } from './request-body.js';
import { deadlineOf } from './request-deadline.js';
import { Turn } from './turn.js';
import { refuseUnexpectedQuery } from './unknown-query.js';

/**
 * The last guard. It checks the query and reads the body if the handler takes one, so that no body is read without a
 * valid token. (An interceptor could do the same, but one for all routes makes Nest pass every result through RxJS,
 * which takes 5 % of the CPU time of an order.)
 */
@Injectable()
export class RequestBodyGuard implements CanActivate {
  constructor(
    private readonly known: KnownCallers,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request & { user?: Caller }>();
    const response = context.switchToHttp().getResponse<Response>();
    this.known.remember(request);
    if (request.user !== undefined) await Turn.of(request)?.belongTo(request.user.merchantId, response);
    refuseUnexpectedQuery(context);
    const body = takesBody(context) && hasBody(request) ? await this.#read(request, response) : undefined;
    // The client disconnected, or the deadline has already sent a response.
    if (response.closed) throw unavailable(undefined);
    request.body = body;
    return true;
  }

  /** While the client is still sending the body, the deadline is paused and the turn is free for another request. */
  async #read(request: Request, response: Response): Promise<unknown> {
    const hasArrived = request.complete;
    if (!hasArrived) {
      deadlineOf(request)?.pause();
      Turn.of(request)?.leave();
    }
    const { memory } = this.adapterHost.httpAdapter as unknown as HttpServer;
    const body = await memory.counted(request, response, () => readJsonBody(request));
    if (!hasArrived) {
      deadlineOf(request)?.resume();
      await Turn.of(request)?.resume(response);
    }
    return body;
  }
}
