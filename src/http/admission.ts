import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { Caller } from '../common/caller.js';
import { networkOf } from '../common/network.js';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
import { Gate } from './gate.js';
import { takesBody } from './handler-arguments.js';
import { readJsonBody } from './request-body.js';
import { refuseUnexpectedQuery } from './unknown-query.js';

const COST = 'cost';
/** For cheap routes that must respond under any load. */
export const SkipsQueue = (): MethodDecorator & ClassDecorator => SetMetadata(COST, 'free');
/** For lists, and for transactions that lock rows: each has a database connection of its own for a while. */
export const Heavy = (): MethodDecorator => SetMetadata(COST, 'heavy');

/** The requests of the process, and within them those of each merchant (or network, without a token). */
class Lane {
  readonly #callers = new Map<string, Gate>();
  constructor(
    readonly all: Gate,
    private readonly perCaller: number,
  ) {}

  /** The caller's own limit comes first, so that the common queue holds no more of one caller than may run. */
  async run<T>(caller: string, response: Response, work: () => Promise<T>): Promise<T> {
    const own = this.#callers.get(caller) ?? new Gate(this.perCaller, 500);
    this.#callers.set(caller, own);
    await own.enter(response);
    try {
      await this.all.enter(response);
      try {
        return await work();
      } finally {
        this.all.leave();
      }
    } finally {
      own.leave();
      if (own.running === 0) this.#callers.delete(caller);
    }
  }
}

/** Limits concurrency per process and per merchant, after authentication. Then it reads the body. */
@Injectable()
export class Admission implements NestInterceptor {
  readonly #lanes: Record<'light' | 'heavy', Lane>;

  constructor(
    private readonly reflector: Reflector,
    { DATABASE_POOL_SIZE: pool }: Config,
  ) {
    this.#lanes = {
      light: new Lane(new Gate(5 * pool, 2000), 4 * pool),
      heavy: new Lane(new Gate(Math.max(1, pool - 2), 500), Math.max(1, Math.floor(pool / 3))),
    };
  }

  get load(): { running: number; waiting: number } {
    const { light, heavy } = this.#lanes;
    return { running: light.all.running + heavy.all.running, waiting: light.all.waiting + heavy.all.waiting };
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<Request & { user?: Caller }>();
    const response = context.switchToHttp().getResponse<Response>();
    const cost = this.reflector.getAllAndOverride<string>(COST, [context.getHandler(), context.getClass()]);
    const work = async (): Promise<unknown> => {
      refuseUnexpectedQuery(context);
      if (takesBody(context)) await readJsonBody(request, response);
      if (response.closed || response.writableEnded) throw unavailable(undefined);
      return lastValueFrom(next.handle());
    };
    if (cost === 'free') return from(work());
    const caller = request.user?.merchantId ?? networkOf(request.ip);
    return from(this.#lanes[cost === 'heavy' ? 'heavy' : 'light'].run(caller, response, work));
  }
}
