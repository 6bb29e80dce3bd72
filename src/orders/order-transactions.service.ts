import { Injectable } from '@nestjs/common';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { type Needs, WalletStore } from '../cashback/wallet.store.js';
import { notFound } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { Order } from './order.entity.js';
import { OrderStore } from './order.store.js';
import { Refund } from './refund.entity.js';

/** What happens to an order in a transaction. */
export interface OrderUseCase<T> {
  /** The refund that may exist already. */
  refundExternalId?: string;
  /** What it needs of the wallet, besides what the order holds. */
  needs?: (order: Order, wallet: WalletAggregate) => Needs;
  /** @param refund the refund that exists already. */
  perform: (order: Order, wallet: WalletAggregate, refund: Refund | null) => T;
}

/** An order and its wallet after a use case, and its result. */
interface Performed<T> {
  order: Order;
  wallet: WalletAggregate;
  result: T;
}

/** Runs use cases of orders: each loads an order with its wallet, changes both, and saves them. */
@Injectable()
export class OrderTransactionsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderStore,
    private readonly wallets: WalletStore,
  ) {}

  /** An order that is due expires first. @throws Problem not_found, also for an order of another merchant. */
  run<T>(merchantId: string, orderId: string, useCase: OrderUseCase<T>): Promise<Performed<T>> {
    const { refundExternalId: externalId, needs, perform } = useCase;
    return this.unitOfWork.transaction(async (manager, record) => {
      const loaded = await this.orders.load(manager, merchantId, orderId);
      if (loaded === undefined) throw notFound('no order has this ID');
      const { order, wallet } = loaded;
      order.expireIfDue(wallet);
      const refund =
        externalId === undefined ? null : await manager.findOneBy(Refund, { orderId, merchantId, externalId });
      if (needs && refund === null) await this.wallets.load(manager, wallet, orderId, needs(order, wallet));
      const result = perform(order, wallet, refund);
      await this.orders.save(manager, record, [loaded]);
      return { order, wallet, result };
    });
  }
}
