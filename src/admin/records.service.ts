import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { readUserNames } from '../auth/user-names.service.js';
import { Credit } from '../cashback/credit.entity.js';
import { Entry } from '../cashback/entry.entity.js';
import { Grant } from '../cashback/grant.entity.js';
import { Hold } from '../cashback/hold.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { Clock } from '../common/clock.js';
import { notFound } from '../common/problem.js';
import { ALL_MERCHANTS } from '../database/by-merchant.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { FeedEvent } from '../events/event.entity.js';
import type { OrderDto } from '../orders/dto/order.dto.js';
import type { RefundDto } from '../orders/dto/refund.dto.js';
import { Order } from '../orders/order.entity.js';
import { toRefundDto } from '../orders/order.mapper.js';
import { OrdersService } from '../orders/orders.service.js';
import { Refund } from '../orders/refund.entity.js';
import { toJson } from './rows.js';

/** The number of IDs per statement. */
const IDS_PER_STATEMENT = 1000;

/** An order's ID, or the merchant and its own ID of the order. */
export type OrderName = { id: string } | { merchantId: string; externalId: string };

type Rows = Record<string, unknown>[];

@Injectable()
export class RecordsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrdersService,
    private readonly clock: Clock,
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
      const whoIs = await readUserNames(
        manager,
        found.map(({ createdBy }) => createdBy),
      );
      return {
        refunds: found.map((refund) => toRefundDto(refund, whoIs)),
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

  /**
   * Returns every stored row of a customer of a merchant, from one consistent snapshot.
   *
   * @throws Problem not_found, also after the customer was erased.
   */
  async customer(merchantId: string, document: string): Promise<Record<string, unknown>> {
    const exportedAt = this.clock.now(merchantId);
    return this.unitOfWork.snapshot(async (manager) => {
      const wallet = await manager.findOneBy(Wallet, { merchantId, document });
      const orders = await manager.find(Order, {
        where: { merchantId, document },
        order: { createdAt: 'ASC', id: 'ASC' },
      });
      if (wallet === null && orders.length === 0) throw notFound('no customer has this document');
      const orderIds = orders.map(({ id }) => id);
      const refunds = await inBatches(orderIds, (ids) => manager.findBy(Refund, { merchantId, orderId: In(ids) }));
      const subjects = wallet === null ? orderIds : [wallet.id, ...orderIds];
      const events = await inBatches(subjects, (ids) =>
        manager.find(FeedEvent, { where: { merchantId, subjectId: In(ids) }, order: { sequence: 'ASC' } }),
      );
      return {
        document,
        merchant_id: merchantId,
        exported_at: exportedAt,
        wallet: wallet && toJson(wallet),
        ...(await cashbackOf(manager, merchantId, wallet?.id)),
        orders: orders.map(toJson),
        refunds: refunds.map(toJson),
        events: events.map(toJson),
      };
    });
  }
}

async function cashbackOf(
  manager: EntityManager,
  merchantId: string,
  walletId: string | undefined,
): Promise<Record<'credits' | 'grants' | 'holds' | 'entries', Rows>> {
  if (walletId === undefined) return { credits: [], grants: [], holds: [], entries: [] };
  const where = { walletId, merchantId };
  const credits = await manager.find(Credit, { where, order: { createdAt: 'ASC', id: 'ASC' } });
  const granted = credits.filter(({ orderId }) => orderId === null).map(({ id }) => id);
  const grants = await inBatches(granted, (ids) => manager.findBy(Grant, { merchantId, creditId: In(ids) }));
  const holds = await inBatches(
    credits.map(({ id }) => id),
    (ids) => manager.findBy(Hold, { merchantId, creditId: In(ids) }),
  );
  const entries = await manager.find(Entry, { where, order: { seq: 'ASC' } });
  return {
    credits: credits.map(toJson),
    grants: grants.map(toJson),
    holds: holds.map(toJson),
    entries: entries.map(toJson),
  };
}

async function inBatches<T>(ids: readonly string[], find: (ids: string[]) => Promise<T[]>): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_STATEMENT)
    found.push(...(await find(ids.slice(at, at + IDS_PER_STATEMENT))));
  return found;
}
