import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Config } from '../config/config.js';
import { networkOf } from '../config/network.js';
import { DatabaseServer } from '../database/database-server.js';
import { FairQueue, leavesHalf, queueForConnections } from '../values/fair-queue.js';
import { unavailable } from '../values/problem.js';
import { type AppRequest } from './app-request.js';
import { SAFE_METHODS } from './guards.js';

const COST = 'cost';
type Cost = 'unlimited' | 'heavy' | 'change';
type CostOf = Cost | ((body: unknown) => Cost | undefined);

/** Marks a cheap route that must respond under any load, such as a health check. */
export const Unlimited = (): MethodDecorator & ClassDecorator => SetMetadata<string, CostOf>(COST, 'unlimited');

/**
 * Marks a change that locks rows. It shares a transaction with others, but may have to wait for a lock.
 *
 * @param member without which it does not, if there is one.
 */
export const LocksRows = (member?: string): MethodDecorator =>
  SetMetadata<string, CostOf>(COST, (body) => (member === undefined || has(body, member) ? 'change' : undefined));

/** The body is not validated yet. */
const has = (body: unknown, member: string): boolean =>
  typeof body === 'object' && body !== null && Object.hasOwn(body, member);

/** Marks a list or another use case that has a database connection of its own for a while. */
export const Heavy = (): MethodDecorator & ClassDecorator => SetMetadata<string, CostOf>(COST, 'heavy');

/**
 * While the database works on one request, others can be parsed, validated and answered; and requests can share a
 * statement only if they run at the same time.
 */
const REQUESTS_PER_CONNECTION = 5;
/** Changes share transactions. A merchant has half of the places, so that many of its changes go together. */
const CHANGES_PER_CONNECTION = 10;

/**
 * Bounds how many requests run at once, after they have arrived as a whole. Merchants (or networks, if the route needs
 * no token) take turns.
 */
@Injectable()
export class Admission implements NestInterceptor {
  readonly #queues: Record<'light' | 'heavy' | 'change' | 'public', FairQueue>;

  constructor(
    private readonly reflector: Reflector,
    private readonly server: DatabaseServer,
    { DATABASE_POOL_SIZE: pool }: Config,
  ) {
    this.#queues = {
      light: new FairQueue(pool * REQUESTS_PER_CONNECTION),
      heavy: queueForConnections(pool),
      change: new FairQueue(pool * CHANGES_PER_CONNECTION, leavesHalf),
      public: new FairQueue(pool * REQUESTS_PER_CONNECTION, leavesHalf),
    };
  }

  get load(): { running: number; waiting: number } {
    const loads = Object.values(this.#queues).map((queue) => queue.load);
    return {
      running: loads.reduce((sum, { running }) => sum + running, 0),
      waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    return from(this.#admit(context, next));
  }

  async #admit(context: ExecutionContext, next: CallHandler<unknown>): Promise<unknown> {
    const request = context.switchToHttp().getRequest<AppRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    if (!SAFE_METHODS.includes(request.method)) this.server.refuseWrongClock();
    const handle = async (): Promise<unknown> => {
      refuseIfAnswered(response);
      const result = await lastValueFrom(next.handle());
      refuseIfAnswered(response);
      return result;
    };
    const declared = this.reflector.getAllAndOverride<CostOf | undefined>(COST, [
      context.getHandler(),
      context.getClass(),
    ]);
    const cost = typeof declared === 'function' ? declared(request.body) : declared;
    if (cost === 'unlimited') return handle();
    if (request.user === undefined) return this.#queues.public.run(networkOf(request.ip), handle);
    return this.#queues[cost ?? 'light'].run(request.user.merchantId, handle);
  }
}

/** The deadline may have answered while the request waited or ran. */
function refuseIfAnswered(response: Response): void {
  if (response.headersSent) throw unavailable(undefined);
}
