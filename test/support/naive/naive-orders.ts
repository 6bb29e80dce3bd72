import { DataSource } from 'typeorm';
import { BalancesService } from '../../../src/cashback/balances.service.js';
import { Clock } from '../../../src/common/clock.js';
import { UnitOfWork } from '../../../src/database/unit-of-work.js';
import { MerchantsService } from '../../../src/merchants/merchants.service.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import type { CreateOrderDto } from '../../../src/orders/dto/create-order.dto.js';
import { Order } from '../../../src/orders/order.entity.js';
import { OrdersService } from '../../../src/orders/orders.service.js';
import { Meeting } from './meeting.js';

/** Looks first whether the order is there, and believes what it saw: read, then write. */
export class NaiveOrders extends OrdersService {
  static readonly wants = [UnitOfWork, BalancesService, MerchantsService, Metrics, Clock, DataSource];
  readonly #meeting = new Meeting(10);
  readonly #dataSource: DataSource;

  constructor(unitOfWork: UnitOfWork, balances: BalancesService, merchants: MerchantsService, metrics: Metrics, clock: Clock, dataSource: DataSource) {
    super(unitOfWork, balances, merchants, metrics, clock);
    this.#dataSource = dataSource;
  }

  override async create(merchantId: string, request: CreateOrderDto): ReturnType<OrdersService['create']> {
    const isKnown = await this.#dataSource.manager.existsBy(Order, { merchantId, externalId: request.external_id });
    await this.#meeting.arrive();
    return { ...(await super.create(merchantId, request)), replayed: isKnown };
  }
}
