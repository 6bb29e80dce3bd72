import { type EntityManager, In } from 'typeorm';
import { type IndexRange, type List, list, type PageRequest, periodOf } from '../platform/database/lists.js';
import { type Asked, type ListOf } from '../platform/database/reads.js';
import { notFound } from '../platform/values/problem.js';
import { Order } from './order.entity.js';
import { type ListRefundsDto, type RefundDto, toRefundDto } from './refund.dto.js';
import { readVoidable } from './refund-voids.js';
import { Refund } from './refund.entity.js';

/** The merchant's refunds, newest first. */
export const REFUNDS: ListOf<ListRefundsDto, RefundDto> = (asked) => {
  const { user_id: by, created_from, created_to } = asked.query;
  const ofUser: IndexRange = { index: 'ix_refunds_user', prefix: [['created_by = ?', by]] };
  const range = by === undefined ? { index: 'ix_refunds_merchant_created', prefix: [] } : ofUser;
  return { ...refundsIn(asked, 'refunds', range), period: periodOf(created_from, created_to) };
};

/** The refunds of an order, newest first. @throws Problem not_found, also for an order of another merchant. */
export const REFUNDS_OF_ORDER: ListOf<PageRequest & { orderId: string }, RefundDto> = async (asked) => {
  const { orderId } = asked.query;
  await externalIdOf(asked.manager, asked.merchantId, orderId);
  return refundsIn(asked, `refunds ${orderId}`, {
    index: 'ix_refunds_order_created',
    prefix: [['order_id = ?', orderId]],
  });
};

const refundsIn = (asked: Asked, name: string, range: IndexRange): List<RefundDto> =>
  list({
    name,
    entity: Refund,
    instant: 'created_at',
    order: 'DESC',
    ranges: [range],
    present: async (refunds) => {
      const ids = refunds.map(({ orderId }) => orderId);
      const externalIds = await externalIdsOf(asked.manager, asked.merchantId, ids);
      const voidable = await readVoidable(asked, refunds);
      return refunds.map((refund) => toRefundDto(refund, externalIds.get(refund.orderId)!, voidable.has(refund.id)));
    },
  });

/** @throws Problem not_found, also for an order of another merchant. */
export async function externalIdOf(manager: EntityManager, merchantId: string, id: string): Promise<string> {
  const externalId = (await externalIdsOf(manager, merchantId, [id])).get(id);
  if (externalId === undefined) throw notFound('no order has this ID');
  return externalId;
}

async function externalIdsOf(manager: EntityManager, merchantId: string, ids: string[]): Promise<Map<string, string>> {
  const orders = await manager.find(Order, {
    select: { id: true, externalId: true },
    where: { merchantId, id: In(ids) },
  });
  return new Map(orders.map(({ id, externalId }) => [id, externalId]));
}
