import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Lane } from '../common/lane.js';
import { networkOf } from '../common/network.js';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
import type { AppRequest } from './app-request.js';
import { readJsonBody } from './body.js';
import { refuseUnexpectedQuery, takesBody } from './query.js';

const COST = 'cost';

/** Marks a cheap route that must respond under any load, such as a health check. */
export const Unlimited = (): MethodDecorator & ClassDecorator => SetMetadata(COST, 'none');

/** Marks a list, or a change that locks rows: each has a database connection of its own for a while. */
export const Heavy = (): MethodDecorator => SetMetadata(COST, 'heavy');

/**
 * While the database works on one request, others can be parsed, validated and answered; and requests can share a
 * statement only if they run at the same time.
 */
const REQUESTS_PER_CONNECTION = 5;
/** Heavy requests leave the other connections to light ones. */
const HEAVY_SHARE = 0.8;

/** Each caller leaves as much as it takes, so that a few whose requests take long do not keep others waiting. */
const leavesHalf = (own: number, free: number): boolean => own < free;

/**
 * Admits a request, after the guards: reads its body, so that no body is read without a valid token. Then bounds how
 * many requests run at once, in all and for each merchant (or network, if the route needs no token). A body that
 * arrives slowly takes no place.
 */
@Injectable()
export class Admission implements NestInterceptor {
  readonly #light: Lane;
  readonly #heavy: Lane;
  readonly #public: Lane;

  constructor(
    private readonly reflector: Reflector,
    { DATABASE_POOL_SIZE: pool }: Config,
  ) {
    this.#light = new Lane(pool * REQUESTS_PER_CONNECTION);
    this.#heavy = new Lane(Math.max(1, Math.floor(pool * HEAVY_SHARE)), leavesHalf);
    this.#public = new Lane(pool * REQUESTS_PER_CONNECTION, leavesHalf);
  }

  /** The number of running and of waiting requests. */
  get load(): { running: number; waiting: number } {
    const loads = [this.#light, this.#heavy, this.#public].map((lane) => lane.load);
    return {
      running: loads.reduce((sum, { running }) => sum + running, 0),
      waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return from(this.#admit(context, () => lastValueFrom(next.handle() as Observable<unknown>)));
  }

  async #admit(context: ExecutionContext, handle: () => Promise<unknown>): Promise<unknown> {
    const request = context.switchToHttp().getRequest<AppRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    refuseUnexpectedQuery(context);
    if (takesBody(context)) await readJsonBody(request, response);
    const cost = this.reflector.getAllAndOverride<string>(COST, [context.getHandler(), context.getClass()]);
    if (cost === 'none') return handle();
    const unlessAnswered = (): Promise<unknown> => {
      // The deadline answered while the request waited.
      if (response.headersSent) throw unavailable(undefined);
      return handle();
    };
    if (request.user === undefined) return this.#public.run(networkOf(request.ip), unlessAnswered);
    return (cost === 'heavy' ? this.#heavy : this.#light).run(request.user.merchantId, unlessAnswered);
  }
}
