import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { WalletAggregate } from '../../../src/cashback/wallet-aggregate.js';
import { WalletStore } from '../../../src/cashback/wallet.store.js';
import type { Recorder } from '../../../src/platform/values/domain-event.js';
import type { Caller } from '../../../src/platform/values/caller.js';
import type { CreateOrderDto } from '../../../src/orders/order-requests.dto.js';
import { Order } from '../../../src/orders/order.entity.js';
import { type LoadedOrder, OrderStore } from '../../../src/orders/order.store.js';
import { OrdersService } from '../../../src/orders/orders.service.js';

/**
 * Makes use cases wait for each other between reading and writing, so that a race that fails sometimes fails every
 * time. A use case that is alone continues after a while, which it may have to do four times in the time of a request.
 */
class Barrier {
  #waiting: (() => void)[] = [];

  constructor(
    private readonly size: number,
    private readonly patienceMs = 500,
  ) {}

  async arrive(): Promise<void> {
    await new Promise<void>((resume) => {
      this.#waiting.push(resume);
      if (this.#waiting.length >= this.size) this.#end();
      else setTimeout(() => this.#waiting.includes(resume) && this.#end(), this.patienceMs);
    });
  }

  #end(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}

/** A manager whose queries lock no rows. */
function withoutLocks(manager: EntityManager): EntityManager {
  const query = (sql: string, values: unknown[]): Promise<unknown> =>
    manager.query(sql.replace('FOR UPDATE', ''), values);
  return Object.create(manager, { query: { value: query } }) as EntityManager;
}

/** An unsafe variant that reads an order without locking it, and overwrites what others have written since. */
export class NaiveOrderStore extends OrderStore {
  readonly #barrier = new Barrier(4);

  override async lock(manager: EntityManager, ...args: Rest<OrderStore['lock']>): Promise<Order[]> {
    // The wallet is locked, so callers wait before that.
    await this.#barrier.arrive();
    return super.lock(withoutLocks(manager), ...args);
  }

  override async save(manager: EntityManager, record: Recorder, loaded: readonly LoadedOrder[]): Promise<void> {
    const current = await Promise.all(
      loaded.map(async (one) => {
        const { id, merchantId } = one.order;
        const sql = 'SELECT version FROM orders WHERE id = ? AND merchant_id = ?';
        const [row] = await manager.query<{ version: number }[]>(sql, [id, merchantId]);
        return { ...one, stored: { ...one.stored, version: row!.version } as Order };
      }),
    );
    await super.save(manager, record, current);
  }
}

/** An unsafe variant that reads whether the order exists and then inserts it. */
@Injectable()
export class NaiveOrders extends OrdersService {
  @Inject(DataSource) private readonly dataSource!: DataSource;
  readonly #barrier = new Barrier(4);

  override async create(caller: Caller, request: CreateOrderDto): ReturnType<OrdersService['create']> {
    const isKnown = await this.dataSource.manager.existsBy(Order, {
      merchantId: caller.merchantId,
      externalId: request.external_id,
    });
    await this.#barrier.arrive();
    return { ...(await super.create(caller, request)), replayed: isKnown };
  }
}

/**
 * An unsafe variant that reads a wallet without locking it and writes it back. It numbers the entries, because
 * otherwise their key alone would reject the second writer.
 */
@Injectable()
export class NaiveWalletStore extends WalletStore {
  readonly #barrier = new Barrier(4);
  #lastSeq = 1_000_000;

  override async lockAll(
    manager: EntityManager,
    ...args: Rest<WalletStore['lockAll']>
  ): ReturnType<WalletStore['lockAll']> {
    const locked = await super.lockAll(withoutLocks(manager), ...args);
    await this.#barrier.arrive();
    return locked;
  }

  override async save(manager: EntityManager, record: Recorder, wallets: Iterable<WalletAggregate>): Promise<void> {
    const all = [...wallets];
    for (const { row, entries } of all) {
      for (const entry of entries) entry.seq = ++this.#lastSeq;
      // Writers wait here instead of deadlocking, because a deadlock would retry them with the correct values.
      const { id, merchantId, balanceCents } = row;
      const sql = 'UPDATE wallets SET balance_cents = ? WHERE id = ? AND merchant_id = ?';
      await manager.query(sql, [balanceCents, id, merchantId]);
    }
    await super.save(manager, record, all);
  }
}

/** The parameters after the first. */
type Rest<Method extends (...args: never[]) => unknown> =
  Parameters<Method> extends [unknown, ...infer Others] ? Others : never;
