import { type EntityManager, In } from 'typeorm';
import { readUserNames, type WhoIs } from '../auth/user-names.service.js';
import { Credit } from '../cashback/credit.entity.js';
import { Grant } from '../cashback/grant.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { Order } from '../orders/order.entity.js';
import { authorsOf } from '../orders/order.mapper.js';
import { Refund } from '../orders/refund.entity.js';
import type { EventDataDto, EventDto } from './dto/event.dto.js';
import type { FeedEvent } from './event.entity.js';

/**
 * Builds the responses for events of one merchant, in a constant number of statements. Call it in a snapshot. It adds
 * what is not stored in events: what an erasure removes, such as documents, metadata and reasons, and names of users.
 */
export async function toEventDtos(
  manager: EntityManager,
  merchantId: string,
  events: readonly FeedEvent[],
): Promise<EventDto[]> {
  if (events.length === 0) return [];
  const added = await readAdded(manager, merchantId, events);
  const authors = [...events.map(({ madeBy }) => madeBy), ...[...added.orders.values()].flatMap(authorsOf)];
  const whoIs = await readUserNames(manager, authors);
  return events.map((event) => ({
    id: `evt_${event.id}`,
    type: event.type,
    sequence: event.sequence,
    timestamp: event.occurredAt,
    by: whoIs(event.madeBy),
    data: dataOf(event, added, whoIs),
  }));
}

/** The rows that events name, by their IDs. */
interface Added {
  orders: Map<string, Order>;
  refunds: Map<string, Refund>;
  wallets: Map<string, Wallet>;
  credits: Map<string, Credit>;
  grants: Map<string, Grant>;
}

async function readAdded(manager: EntityManager, merchantId: string, events: readonly FeedEvent[]): Promise<Added> {
  const dataOfAll = events.map(({ data }) => data);
  const where = (ids: readonly string[]) => ({ merchantId, id: In(ids) });
  const orderIds = dataOfAll.flatMap((data) => ('order' in data ? data.order.id : []));
  const refundIds = dataOfAll.flatMap((data) => ('refund' in data ? data.refund.id : []));
  const walletIds = dataOfAll.map(({ wallet }) => wallet.id);
  const creditIds = dataOfAll.flatMap((data) => ('grant' in data ? data.grant.id : []));
  const orders = orderIds.length === 0 ? [] : await manager.find(Order, { select: ORDER, where: where(orderIds) });
  const refunds = refundIds.length === 0 ? [] : await manager.findBy(Refund, where(refundIds));
  const wallets = await manager.find(Wallet, { select: { id: true, document: true }, where: where(walletIds) });
  const credits = creditIds.length === 0 ? [] : await manager.findBy(Credit, where(creditIds));
  const grants = creditIds.length === 0 ? [] : await manager.findBy(Grant, { merchantId, creditId: In(creditIds) });
  return {
    orders: new Map(orders.map((order) => [order.id, order])),
    refunds: new Map(refunds.map((refund) => [refund.id, refund])),
    wallets: new Map(wallets.map((wallet) => [wallet.id, wallet])),
    credits: new Map(credits.map((credit) => [credit.id, credit])),
    grants: new Map(grants.map((grant) => [grant.creditId, grant])),
  };
}

const ORDER = {
  id: true,
  metadata: true,
  createdBy: true,
  completedBy: true,
  cancelledBy: true,
  cancelReason: true,
} as const;

function dataOf({ data, madeBy }: FeedEvent, added: Added, whoIs: WhoIs): EventDataDto {
  const { id: walletId, ...sums } = data.wallet;
  const wallet = { id: walletId, document: added.wallets.get(walletId)!.document, ...sums };
  if ('grant' in data) {
    const { id } = data.grant;
    const { metadata } = added.grants.get(id)!;
    return {
      ...data,
      grant: { ...data.grant, reason: added.credits.get(id)!.reason, metadata: metadata ?? {} },
      wallet,
    };
  }
  if (!('order' in data)) return { ...data, wallet };
  const { metadata, createdBy, completedBy, cancelledBy, cancelReason } = added.orders.get(data.order.id)!;
  const { completed_at, cancelled_at } = data.order;
  const order = {
    ...data.order,
    metadata: metadata ?? {},
    created_by: whoIs(createdBy)!,
    completed_by: completed_at && whoIs(completedBy),
    cancelled_by: cancelled_at && whoIs(cancelledBy),
    cancel_reason: cancelled_at && cancelReason,
  };
  if (!('refund' in data)) return { ...data, order, wallet };
  const { reason, metadata: kept } = added.refunds.get(data.refund.id)!;
  return {
    ...data,
    order,
    refund: { ...data.refund, reason, metadata: kept ?? {}, created_by: whoIs(madeBy)! },
    wallet,
  };
}
