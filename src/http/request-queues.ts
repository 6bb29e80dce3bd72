import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import { RequestQueue } from './request-queue.js';

/**
 * While the database works on one request, others can be parsed, validated or answered. And requests can share a
 * statement only if they run at the same time. More would share more, but those that run take no turns: another
 * merchant's request waits behind all of them.
 */
const REQUESTS_PER_CONNECTION = 5;

/** The queues of the process. They are separate so that a burst of logins does not delay orders. */
@Injectable()
export class RequestQueues {
  /**
   * Routes that need a token, until it is known whose it is: tokens that this process has not seen, from however many
   * networks, take no merchant's turns.
   */
  readonly strangers: RequestQueue;
  /** Routes that need a token. */
  readonly guarded: RequestQueue;
  /**
   * Routes that wait for locks, each with a connection meanwhile. Merchants share the connections, so that a few cannot
   * take all of them with their slow or contended wallets.
   */
  readonly locking: RequestQueue;
  /** Login and refresh. Logins also wait in a bcrypt queue, where they need no database connection. */
  readonly open: RequestQueue;

  constructor({ DATABASE_POOL_SIZE, BCRYPT_CONCURRENCY, BCRYPT_QUEUE }: Config) {
    this.strangers = new RequestQueue(DATABASE_POOL_SIZE * REQUESTS_PER_CONNECTION);
    this.guarded = new RequestQueue(DATABASE_POOL_SIZE * REQUESTS_PER_CONNECTION);
    this.locking = new RequestQueue(DATABASE_POOL_SIZE, true);
    this.open = new RequestQueue(DATABASE_POOL_SIZE + BCRYPT_CONCURRENCY + BCRYPT_QUEUE);
  }

  /** The number of running and of waiting requests. */
  get load(): { running: number; waiting: number } {
    const loads = [this.strangers, this.guarded, this.locking, this.open].map(({ load }) => load);
    return {
      running: loads.reduce((sum, { running }) => sum + running, 0),
      waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    };
  }
}
