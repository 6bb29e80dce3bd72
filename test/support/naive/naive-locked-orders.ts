import type { EntityManager } from 'typeorm';
import { notFound } from '../../../src/common/problem.js';
import { LockedOrders } from '../../../src/orders/locked-orders.js';
import { Order } from '../../../src/orders/order.entity.js';
import { Barrier } from './barrier.js';

/** An unsafe variant that reads an order without locking it. */
export class NaiveLockedOrders extends LockedOrders {
  readonly #barrier = new Barrier(10);

  override async findForUpdate(manager: EntityManager, merchantId: string, id: string): Promise<Order> {
    const order = await manager.findOneBy(Order, { id, merchantId });
    await this.#barrier.arrive();
    if (order === null) throw notFound('no order has this ID');
    return order;
  }
}
