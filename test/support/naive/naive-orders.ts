import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { CreateOrderDto } from '../../../src/orders/dto/create-order.dto.js';
import { Order } from '../../../src/orders/order.entity.js';
import { OrdersService } from '../../../src/orders/orders.service.js';
import { Barrier } from './barrier.js';

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
