import { type EntityManager, type FindOptionsSelect, type FindOptionsWhere, In, type ObjectLiteral } from 'typeorm';
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
  async function read<T extends ObjectLiteral>(
    target: new () => T,
    id: keyof T,
    ids: string[],
    ...members: (keyof T)[]
  ) {
    if (ids.length === 0) return new Map<string, T>();
    const select = Object.fromEntries([id, ...members].map((member) => [member, true])) as FindOptionsSelect<T>;
    // A generic type cannot say that each of these entities has a merchant.
    const where = { merchantId, [id]: In([...new Set(ids)]) } as unknown as FindOptionsWhere<T>;
    const rows = await manager.find(target, { select, where });
    return new Map(rows.map((row) => [row[id] as string, row]));
  }
  const isOrder = ({ data }: FeedEntry): boolean => data.order !== undefined;
  const subjects = (some: readonly FeedEntry[]): string[] => some.map(({ subjectId }) => subjectId);
  const grantIds = events.flatMap(({ data }) => data.grant?.id ?? []);
  const orders = await read(Order, 'id', subjects(events.filter(isOrder)), 'document', 'metadata');
  const wallets = await read(Wallet, 'id', subjects(events.filter((event) => !isOrder(event))), 'document');
  const grants = await read(Grant, 'creditId', grantIds, 'metadata');
  const credits = await read(Credit, 'id', grantIds, 'reason');
  return events.map(({ id, type, sequence, occurredAt: timestamp, subjectId, data: stored }) => {
    const { order, grant } = stored;
    const { id: walletId, ...sums } = stored.wallet;
    const { document } = orders.get(subjectId) ?? wallets.get(subjectId) ?? {};
    const data = {
      ...stored,
      ...(order && { order: { ...order, metadata: orders.get(subjectId)?.metadata ?? {} } }),
      ...(grant && {
        grant: { ...grant, reason: credits.get(grant.id)?.reason, metadata: grants.get(grant.id)?.metadata ?? {} },
      }),
      wallet: { id: walletId, document, ...sums },
    };
    return { id: `evt_${id}`, type, sequence, timestamp, data: data as EventDataDto };
  });
}
