import { Injectable } from '@nestjs/common';
import { Entry } from '../cashback/entry.entity.js';
import { type OrderDto } from '../orders/order.dto.js';
import { Order } from '../orders/order.entity.js';
import { OrdersService } from '../orders/orders.service.js';
import { type RefundDto, toRefundDto } from '../orders/refund.dto.js';
import { Refund } from '../orders/refund.entity.js';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { notFound } from '../platform/values/problem.js';
import { toJson } from './output.js';

/** An order's ID, or the merchant and its own ID of the order. */
export type OrderName = { id: string } | { merchantId: string; externalId: string };

type Rows = Record<string, unknown>[];

@Injectable()
export class RecordsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrdersService,
  ) {}

  /**
   * Returns an order as the API shows it, with its merchant, the policy that it keeps, its latest refunds and its
   * latest ledger entries.
   *
   * @param take the maximum number of each.
   * @throws Problem not_found.
   */
  async order(
    name: OrderName,
    take: number,
  ): Promise<OrderDto & { merchant_id: string; policy: object; refunds: RefundDto[]; entries: Rows }> {
    const stored = await this.unitOfWork.statement((manager) =>
      manager.findOne(Order, { where: name, ...('id' in name && { comment: ALL_MERCHANTS }) }),
    );
    if (stored === null) throw notFound('id' in name ? 'no order has this ID' : 'no order has this external_id');
    const { id: orderId, merchantId, policy } = stored;
    const where = { orderId, merchantId };
    const { refunds, entries } = await this.unitOfWork.snapshot(async (manager) => {
      const found = await manager.find(Refund, { where, order: { createdAt: 'DESC', id: 'DESC' }, take });
      return {
        refunds: found.map((refund) => toRefundDto(refund, stored.externalId)),
        entries: await manager.find(Entry, { where, order: { seq: 'DESC' }, take }),
      };
    });
    return {
      ...(await this.orders.get(merchantId, orderId)),
      merchant_id: merchantId,
      policy: toJson(policy),
      refunds,
      entries: entries.map(toJson),
    };
  }
}
