import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { RequestQueue } from './request-queue.js';

/** While the database works for one request, another is parsed, validated or answered. */
const REQUESTS_PER_CONNECTION = 2;

/** The queues of the process: a storm of logins does not take the turns of orders. */
@Injectable()
export class RequestQueues {
  /** Routes that need a token. */
  readonly guarded: RequestQueue;
  /** Login and refresh. Logins wait for bcrypt in a queue of their own, without the database. */
  readonly open: RequestQueue;

  constructor({ DATABASE_POOL_SIZE, BCRYPT_CONCURRENCY, BCRYPT_QUEUE }: Config) {
    this.guarded = new RequestQueue(DATABASE_POOL_SIZE * REQUESTS_PER_CONNECTION);
    this.open = new RequestQueue(DATABASE_POOL_SIZE + BCRYPT_CONCURRENCY + BCRYPT_QUEUE);
  }

  /** The number of requests that run and that wait. */
  get load(): { running: number; waiting: number } {
    const [guarded, open] = [this.guarded.load, this.open.load];
    return { running: guarded.running + open.running, waiting: guarded.waiting + open.waiting };
  }
}
