import { type EntityManager, In } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Debit } from '../cashback/debit.entity.js';
import { Grant } from '../cashback/grant.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { OrderDto, toItemDto } from '../orders/order.dto.js';
import { Order } from '../orders/order.entity.js';
import { RefundDto } from '../orders/refund.dto.js';
import { Refund } from '../orders/refund.entity.js';
import { firstMebibyte } from '../platform/database/lists.js';
import { byOf } from '../platform/http/by.dto.js';
import type { WalletData } from '../platform/values/domain-event.js';
import type { EventData, EventDto, EventWalletDto } from './event.dto.js';
import type { FeedEvent } from './event.entity.js';

/**
 * Builds the responses for events of one merchant, in a constant number of statements: for the first of them, if the
 * orders are large. Call it in a snapshot. It adds what is not stored in events: what an erasure removes, such as
 * documents, metadata and reasons, the current items, and names of users.
 */
export async function toEventDtos(
  manager: EntityManager,
  merchantId: string,
  found: readonly FeedEvent[],
): Promise<EventDto[]> {
  if (found.length === 0) return [];
  const events = await firstOf(manager, merchantId, found);
  const added = await readAdded(manager, merchantId, events);
  return events.map((event) => ({
    id: `evt_${event.id}`,
    type: event.type,
    sequence: event.sequence,
    timestamp: event.occurredAt,
    by: byOf(event.madeBy),
    data: dataOf(event, added),
  }));
}

const orderIdsOf = (events: readonly FeedEvent[]): string[] => [
  ...new Set(events.flatMap(({ data }) => ('order' in data ? data.order.id : []))),
];

const SIZES =
  'SELECT id, LENGTH(items) + COALESCE(LENGTH(metadata), 0) AS bytes FROM orders WHERE merchant_id = ? AND id IN (?)';

/** Returns the first events, at least one, whose orders do not exceed the memory that a request may take. */
async function firstOf(
  manager: EntityManager,
  merchantId: string,
  events: readonly FeedEvent[],
): Promise<readonly FeedEvent[]> {
  const ids = orderIdsOf(events);
  if (ids.length === 0) return events;
  const rows = await manager.query<{ id: string; bytes: string | number }[]>(SIZES, [merchantId, ids]);
  const sizes = new Map(rows.map(({ id, bytes }) => [id, Number(bytes)]));
  return firstMebibyte(events, ({ subjectId }) => sizes.get(subjectId) ?? 0);
}

/** The rows that events name, by their IDs. */
interface Added {
  orders: Map<string, Order>;
  refunds: Map<string, Refund>;
  wallets: Map<string, Wallet>;
  credits: Map<string, Credit>;
  grants: Map<string, Grant>;
  debits: Map<string, Debit>;
}

async function readAdded(manager: EntityManager, merchantId: string, events: readonly FeedEvent[]): Promise<Added> {
  const dataOfAll = events.map(({ data }) => data);
  const where = (ids: readonly string[]) => ({ merchantId, id: In(ids) });
  const orderIds = orderIdsOf(events);
  const refundIds = dataOfAll.flatMap((data) => ('refund' in data ? data.refund.id : []));
  const walletIds = dataOfAll.flatMap((data) => [
    ...(data.wallet === undefined ? [] : [data.wallet.id]),
    ...('previous_wallet' in data ? [data.previous_wallet.id] : []),
  ]);
  const creditIds = dataOfAll.flatMap((data) => ('grant' in data ? data.grant.id : []));
  const debitIds = dataOfAll.flatMap((data) => ('debit' in data ? data.debit.id : []));
  const orders = orderIds.length === 0 ? [] : await manager.find(Order, { select: ORDER, where: where(orderIds) });
  const refunds = refundIds.length === 0 ? [] : await manager.findBy(Refund, where(refundIds));
  const wallets = await manager.find(Wallet, { select: { id: true, document: true }, where: where(walletIds) });
  const credits = creditIds.length === 0 ? [] : await manager.findBy(Credit, where(creditIds));
  const grants = creditIds.length === 0 ? [] : await manager.findBy(Grant, { merchantId, creditId: In(creditIds) });
  const debits = debitIds.length === 0 ? [] : await manager.findBy(Debit, where(debitIds));
  return {
    debits: new Map(debits.map((debit) => [debit.id, debit])),
    orders: new Map(orders.map((order) => [order.id, order])),
    refunds: new Map(refunds.map((refund) => [refund.id, refund])),
    wallets: new Map(wallets.map((wallet) => [wallet.id, wallet])),
    credits: new Map(credits.map((credit) => [credit.id, credit])),
    grants: new Map(grants.map((grant) => [grant.creditId, grant])),
  };
}

const ORDER = {
  id: true,
  document: true,
  items: true,
  metadata: true,
  createdBy: true,
  completedBy: true,
  cancelledBy: true,
  cancelReason: true,
  customerChangedBy: true,
  customerChangeReason: true,
} as const;

function dataOf({ data, madeBy }: FeedEvent, added: Added): EventData {
  if (data.wallet === undefined) return { order: withAdded(data.order, added) };
  // Events of earlier releases do not say whether a wallet is frozen, or a refund was undone.
  const walletOf = ({ id, frozen, ...sums }: Partial<WalletData>) => {
    return { id: id!, document: added.wallets.get(id!)!.document, ...sums, frozen: frozen ?? false } as EventWalletDto;
  };
  const wallet = walletOf(data.wallet);
  if ('grant' in data) {
    const { id } = data.grant;
    const { metadata } = added.grants.get(id)!;
    const grant = { ...data.grant, reason: added.credits.get(id)!.reason, metadata: metadata ?? {} };
    return { ...data, grant, wallet };
  }
  if ('debit' in data) {
    const { reason, metadata } = added.debits.get(data.debit.id)!;
    return { ...data, debit: { ...data.debit, reason, metadata: metadata ?? {} }, wallet };
  }
  if (!('order' in data)) return { ...data, wallet };
  const order = withAdded(data.order, added);
  if ('previous_wallet' in data) return { ...data, order, wallet, previous_wallet: walletOf(data.previous_wallet) };
  if (!('refund' in data)) return { ...data, order, wallet };
  const { returned, reason, metadata, createdBy, voidReason } = added.refunds.get(data.refund.id)!;
  const { items, rest } = returned ?? { items: [], rest: false };
  const { voided_at = null } = data.refund as { voided_at?: Date | null };
  const isVoided = voided_at !== null;
  const voided = { voided_at, voided_by: isVoided ? byOf(madeBy) : null, void_reason: isVoided ? voidReason : null };
  const told = { items, rest, reason, metadata: metadata ?? {}, created_by: byOf(createdBy), ...voided };
  const { voidable: _, ...refund }: RefundDto = Object.assign(new RefundDto(), data.refund, told);
  return { ...data, order, refund, wallet };
}

type Dated = Pick<OrderDto, 'id' | 'completed_at' | 'cancelled_at' | 'customer_changed_at'>;

function withAdded<Stored extends Dated>(stored: Stored, { orders }: Added) {
  const { completed_at, cancelled_at, customer_changed_at } = stored;
  const order = orders.get(stored.id)!;
  const { document, items, metadata, createdBy } = order;
  // A new DTO has its members in the documented order.
  return Object.assign(new OrderDto() as object, stored, {
    document,
    items: items.map(toItemDto),
    metadata: metadata ?? {},
    created_by: byOf(createdBy),
    completed_by: completed_at && byOf(order.completedBy),
    cancelled_by: cancelled_at && byOf(order.cancelledBy),
    cancel_reason: cancelled_at && order.cancelReason,
    customer_changed_by: customer_changed_at && byOf(order.customerChangedBy),
    customer_change_reason: customer_changed_at && order.customerChangeReason,
  });
}
