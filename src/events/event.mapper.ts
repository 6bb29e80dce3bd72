import { type EntityManager, In } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Grant } from '../cashback/grant.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { Order } from '../orders/order.entity.js';
import type { EventDataDto, EventDto } from './dto/event.dto.js';
import type { FeedEntry } from './event.entity.js';

/** What is not stored in events, because an erasure removes it. */
interface Personal {
  orders: Map<string, Pick<Order, 'document' | 'metadata'>>;
  documents: Map<string, string>;
  grants: Map<string, Pick<Grant, 'metadata'>>;
  reasons: Map<string, string | null>;
}

/** Builds the responses for events of one merchant. Call it in a snapshot. */
export async function toEventDtos(
  manager: EntityManager,
  merchantId: string,
  events: readonly FeedEntry[],
): Promise<EventDto[]> {
  const personal = await readPersonal(manager, merchantId, events);
  return events.map((event) => ({
    id: `evt_${event.id}`,
    type: event.type,
    sequence: event.sequence,
    timestamp: event.occurredAt,
    data: toData(event, personal),
  }));
}

function toData({ subjectId, data }: FeedEntry, { orders, documents, grants, reasons }: Personal): EventDataDto {
  const { order, grant, wallet } = data;
  const stored = orders.get(subjectId);
  const document = stored?.document ?? documents.get(subjectId);
  const { id, ...sums } = wallet;
  return {
    ...data,
    ...(order && { order: { ...order, metadata: stored?.metadata ?? {} } }),
    ...(grant && {
      grant: { ...grant, reason: reasons.get(grant.id) ?? null, metadata: grants.get(grant.id)?.metadata ?? {} },
    }),
    wallet: { id, document, ...sums },
  } as EventDataDto;
}

async function readPersonal(
  manager: EntityManager,
  merchantId: string,
  events: readonly FeedEntry[],
): Promise<Personal> {
  const isOrder = ({ type }: FeedEntry): boolean => type.startsWith('order.');
  const idsOf = (some: readonly FeedEntry[]): string[] => [...new Set(some.map(({ subjectId }) => subjectId))];
  const grantIds = events.flatMap(({ data }) => (data.grant === undefined ? [] : [data.grant.id]));
  const where = (ids: string[]): { merchantId: string; id: ReturnType<typeof In> } => ({ merchantId, id: In(ids) });
  const orderIds = idsOf(events.filter(isOrder));
  const walletIds = idsOf(events.filter((event) => !isOrder(event)));
  const orders =
    orderIds.length === 0
      ? []
      : await manager.find(Order, { select: { id: true, document: true, metadata: true }, where: where(orderIds) });
  const wallets =
    walletIds.length === 0
      ? []
      : await manager.find(Wallet, { select: { id: true, document: true }, where: where(walletIds) });
  const grants = grantIds.length === 0 ? [] : await manager.findBy(Grant, { merchantId, creditId: In(grantIds) });
  const credits =
    grantIds.length === 0
      ? []
      : await manager.find(Credit, { select: { id: true, reason: true }, where: where(grantIds) });
  return {
    orders: new Map(orders.map((order) => [order.id, order])),
    documents: new Map(wallets.map(({ id, document }) => [id, document])),
    grants: new Map(grants.map((grant) => [grant.creditId, grant])),
    reasons: new Map(credits.map(({ id, reason }) => [id, reason])),
  };
}
