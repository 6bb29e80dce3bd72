import type { EntityManager } from 'typeorm';
import type { Recorder } from '../../../src/common/domain-event.js';
import { Order } from '../../../src/orders/order.entity.js';
import { type LoadedOrder, OrderStore } from '../../../src/orders/order.store.js';
import { Barrier } from './barrier.js';

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
