import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { defer, lastValueFrom, type Observable } from 'rxjs';
import { PoolShares } from '../database/pool-shares.js';
import type { Caller } from '../common/caller.js';
import { isAnsweredOf } from './is-answered.js';
import { Turn } from './turn.js';

/** Limits the concurrent list requests per merchant, so that slow lists of one merchant do not delay the others. */
@Injectable()
export class FairList implements NestInterceptor {
  constructor(private readonly shares: PoolShares) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request & { user: Caller }>();
    const response = context.switchToHttp().getResponse<Response>();
    const isAnswered = isAnsweredOf(response);
    const turn = Turn.of(request);
    const read = async (): Promise<unknown> => {
      await turn?.resume(response);
      return lastValueFrom(next.handle());
    };
    return defer(() => {
      // A list that waits for its merchant's share must not block the requests of other merchants.
      turn?.leave();
      return this.shares.list(request.user.merchantId, isAnswered, read);
    });
  }
}
