import { Injectable } from '@nestjs/common';
import pLimit, { type LimitFunction } from 'p-limit';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';

/** Maximum number of waiting list requests per merchant. */
const WAITING_PER_MERCHANT = 20;

/**
 * Keeps slow lists from taking all database connections: lists use at most half of the pool, and those of one merchant
 * at most a quarter. Further ones wait for their turn.
 */
@Injectable()
export class PoolShares {
  readonly #all: LimitFunction;
  readonly #perMerchant: number;
  readonly #merchants = new Map<string, LimitFunction>();

  constructor({ DATABASE_POOL_SIZE: poolSize }: Config) {
    this.#all = pLimit(Math.max(1, Math.floor(poolSize / 2)));
    this.#perMerchant = Math.max(1, Math.floor(poolSize / 4));
  }

  /**
   * Runs a read-heavy use case when it is the merchant's turn.
   *
   * @param isAnswered whether the client no longer waits for the result; the use case then does not start.
   * @throws Problem unavailable if too many lists of this merchant are waiting.
   */
  async list<T>(merchantId: string, isAnswered: () => boolean, useCase: () => Promise<T>): Promise<T> {
    const ofMerchant = this.#merchants.get(merchantId) ?? pLimit(this.#perMerchant);
    if (ofMerchant.pendingCount >= WAITING_PER_MERCHANT)
      throw unavailable(new Error('too many lists of one merchant are waiting'));
    this.#merchants.set(merchantId, ofMerchant);
    const unlessAnswered = (): Promise<T> => {
      if (isAnswered()) throw unavailable(new Error('the caller no longer waits'));
      return useCase();
    };
    try {
      // The merchant's limit comes first, so that no merchant takes more than its share of the common queue.
      return await ofMerchant(() => this.#all(unlessAnswered));
    } finally {
      if (ofMerchant.activeCount + ofMerchant.pendingCount === 0) this.#merchants.delete(merchantId);
    }
  }
}
