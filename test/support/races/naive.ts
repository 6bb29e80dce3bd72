import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, type EntityTarget, type FindManyOptions, type ObjectLiteral } from 'typeorm';
import type { WalletAggregate } from '../../../src/cashback/wallet-aggregate.js';
import { Wallet } from '../../../src/cashback/wallet.entity.js';
import { WalletStore } from '../../../src/cashback/wallet.store.js';
import type { Recorder } from '../../../src/common/domain-event.js';
import type { CreateOrderDto } from '../../../src/orders/dto/create-order.dto.js';
import { Order } from '../../../src/orders/order.entity.js';
import { type LoadedOrder, OrderStore } from '../../../src/orders/order.store.js';
import { OrdersService } from '../../../src/orders/orders.service.js';

/**
 * Makes use cases wait for each other between reading and writing, so that a race that fails sometimes fails every
 * time. A use case that is alone continues after a while.
 */
class Barrier {
  #waiting: (() => void)[] = [];

  constructor(
    private readonly size: number,
    private readonly patienceMs = 2000,
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

/** An unsafe variant that reads an order without locking it, and overwrites what others have written since. */
export class NaiveOrderStore extends OrderStore {
  readonly #barrier = new Barrier(10);

  override async load(manager: EntityManager, merchantId: string, id: string): Promise<LoadedOrder | undefined> {
    const query = (sql: string, values: unknown[]): Promise<unknown> =>
      manager.query(sql.replace('FOR UPDATE', ''), values);
    const unlocked = Object.create(manager, { query: { value: query } }) as EntityManager;
    // The wallet is locked, so callers wait before that.
    await this.#barrier.arrive();
    return super.load(unlocked, merchantId, id);
  }

  override async save(manager: EntityManager, record: Recorder, loaded: readonly LoadedOrder[]): Promise<void> {
    const current = await Promise.all(
      loaded.map(async (one) => {
        const { id, merchantId } = one.order;
        const { version } = await manager.findOneByOrFail(Order, { id, merchantId });
        return { ...one, stored: { ...one.stored, version } as Order };
      }),
    );
    await super.save(manager, record, current);
  }
}

/** An unsafe variant that reads whether the order exists and then inserts it. */
@Injectable()
export class NaiveOrders extends OrdersService {
  @Inject(DataSource) private readonly dataSource!: DataSource;
  readonly #barrier = new Barrier(10);

  override async create(merchantId: string, request: CreateOrderDto): ReturnType<OrdersService['create']> {
    const isKnown = await this.dataSource.manager.existsBy(Order, {
      merchantId,
      externalId: request.external_id,
    });
    await this.#barrier.arrive();
    return { ...(await super.create(merchantId, request)), replayed: isKnown };
  }
}

/**
 * An unsafe variant that reads a wallet without locking it and writes it back. It numbers the entries, because
 * otherwise their key alone would reject the second writer.
 */
@Injectable()
export class NaiveWalletStore extends WalletStore {
  readonly #barrier = new Barrier(10);
  #lastSeq = 1_000_000;

  override async lockAll(
    manager: EntityManager,
    ...args: Parameters<WalletStore['lockAll']> extends [unknown, ...infer Rest] ? Rest : never
  ): Promise<Map<string, WalletAggregate>> {
    const find = <T extends ObjectLiteral>(target: EntityTarget<T>, { lock: _, ...options }: FindManyOptions<T>) =>
      manager.find(target, options);
    const unlocked = Object.create(manager, { find: { value: find } }) as EntityManager;
    const wallets = await super.lockAll(unlocked, ...args);
    await this.#barrier.arrive();
    return wallets;
  }

  override async save(manager: EntityManager, record: Recorder, wallets: Iterable<WalletAggregate>): Promise<void> {
    const all = [...wallets];
    for (const { row, entries } of all) {
      for (const entry of entries) entry.seq = ++this.#lastSeq;
      // Writers wait here instead of deadlocking, because a deadlock would retry them with the correct values.
      const { id, merchantId, balanceCents } = row;
      await manager.update(Wallet, { id, merchantId }, { balanceCents });
    }
    await super.save(manager, record, all);
  }
}
