import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { networkOf } from '../common/network.js';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
import type { AppRequest } from './app-request.js';
import { readJsonBody } from './body.js';
import { Gate } from './gate.js';
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
/** The logins of one network that run at once. Others wait, so that no network takes all turns with bcrypt. */
const LOGINS_PER_NETWORK = 4;
const MAX_WAITING = 2000;
const MAX_WAITING_PER_CALLER = 500;

/** A limit for the requests of all callers together, and a smaller one for each caller. */
class Lane {
  readonly #all: Gate;
  readonly #callers = new Map<string, Gate>();

  constructor(
    limit: number,
    private readonly perCaller: number,
  ) {
    this.#all = new Gate(limit, MAX_WAITING);
  }

  get load(): { running: number; waiting: number } {
    const { running, waiting } = this.#all.load;
    const ofCallers = [...this.#callers.values()].reduce((sum, { load }) => sum + load.waiting, 0);
    return { running, waiting: waiting + ofCallers };
  }

  /** The caller's own limit comes first, so that no caller has more requests in the common queue than may run. */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const own = this.#callers.get(caller) ?? new Gate(this.perCaller, MAX_WAITING_PER_CALLER);
    this.#callers.set(caller, own);
    try {
      return await own.run(() => this.#all.run(work));
    } finally {
      if (own.load.running === 0) this.#callers.delete(caller);
    }
  }
}

/**
 * Admits a request, after the guards: bounds how many run at once, in all and for each merchant (or network, if the
 * route needs no token). Then reads the body, so that no body is read without a valid token.
 */
@Injectable()
export class Admission implements NestInterceptor {
  readonly #light: Lane;
  /** Leaves connections for light requests, and for other merchants while the rows of one are locked. */
  readonly #heavy: Lane;
  readonly #public: Lane;

  constructor(
    private readonly reflector: Reflector,
    { DATABASE_POOL_SIZE: pool }: Config,
  ) {
    const limit = pool * REQUESTS_PER_CONNECTION;
    this.#light = new Lane(limit, limit - pool);
    this.#heavy = new Lane(Math.max(1, pool - 2), Math.max(1, Math.floor(pool / 3)));
    this.#public = new Lane(limit, LOGINS_PER_NETWORK);
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
    const { user, ip } = context.switchToHttp().getRequest<AppRequest>();
    const handle = (): Promise<unknown> => this.#handle(context, next);
    const cost = this.reflector.getAllAndOverride<string>(COST, [context.getHandler(), context.getClass()]);
    if (cost === 'none') return from(handle());
    if (user === undefined) return from(this.#public.run(networkOf(ip), handle));
    return from((cost === 'heavy' ? this.#heavy : this.#light).run(user.merchantId, handle));
  }

  async #handle(context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const response = context.switchToHttp().getResponse<Response>();
    refuseUnexpectedQuery(context);
    if (takesBody(context)) await readJsonBody(context.switchToHttp().getRequest<AppRequest>(), response);
    // The deadline has answered while the request waited.
    if (response.headersSent) throw unavailable(undefined);
    return lastValueFrom(next.handle());
  }
}
