import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { notFound } from '../common/problem.js';
import { Order } from './order.entity.js';

/** Locks orders. The order's row is always locked first, before the wallet's. */
@Injectable()
export class OrderLock {
  /** @throws Problem not_found, also for an order of another merchant. */
  async findForUpdate(manager: EntityManager, merchantId: string, id: string): Promise<Order> {
    const order = await manager.findOne(Order, { where: { id, merchantId }, lock: { mode: 'pessimistic_write' } });
    if (order === null) throw notFound();
    return order;
  }
}
