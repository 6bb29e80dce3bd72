import { type EntityManager, In } from 'typeorm';
import { Credit } from '../cashback/credit.entity.js';
import { Grant } from '../cashback/grant.entity.js';
import { Wallet } from '../cashback/wallet.entity.js';
import { Order } from '../orders/order.entity.js';
import type { EventDataDto, EventDto } from './dto/event.dto.js';
import type { FeedEntry } from './event.entity.js';

/**
 * Builds the responses for events of one merchant, in a constant number of statements. Call it in a snapshot. It adds
 * what is not stored in events, because an erasure removes it: documents, metadata and reasons.
 */
export async function toEventDtos(
  manager: EntityManager,
  merchantId: string,
  events: readonly FeedEntry[],
): Promise<EventDto[]> {
  if (events.length === 0) return [];
  const subjects = { merchantId, id: In(events.map(({ subjectId }) => subjectId)) };
  const ids = events.flatMap(({ data }) => data.grant?.id ?? []);
  const orders = await manager.find(Order, { select: { id: true, document: true, metadata: true }, where: subjects });
  const wallets = await manager.find(Wallet, { select: { id: true, document: true }, where: subjects });
  const hasGrants = ids.length > 0;
  const reasons = { select: { id: true, reason: true }, where: { merchantId, id: In(ids) } } as const;
  const credits = hasGrants ? await manager.find(Credit, reasons) : [];
  const grants = hasGrants ? await manager.findBy(Grant, { merchantId, creditId: In(ids) }) : [];
  return events.map(({ id, type, sequence, occurredAt: timestamp, subjectId, data: stored }) => {
    const { order, grant } = stored;
    const { id: walletId, ...sums } = stored.wallet;
    const changed = orders.find((row) => row.id === subjectId);
    const { document } = changed ?? wallets.find((row) => row.id === subjectId) ?? {};
    const reason = credits.find((row) => row.id === grant?.id)?.reason;
    const metadata = changed?.metadata ?? grants.find(({ creditId }) => creditId === grant?.id)?.metadata ?? {};
    const data = {
      ...stored,
      ...(order && { order: { ...order, metadata } }),
      ...(grant && { grant: { ...grant, reason, metadata } }),
      wallet: { id: walletId, document, ...sums },
    };
    return { id: `evt_${id}`, type, sequence, timestamp, data: data as EventDataDto };
  });
}
