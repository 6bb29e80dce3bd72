import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { availableOf } from '../cashback/balances.service.js';
import { Credit } from '../cashback/credit.entity.js';
import { toDebitDto } from '../cashback/debit.dto.js';
import { Debit } from '../cashback/debit.entity.js';
import { Entry } from '../cashback/entry.entity.js';
import { readNames } from '../cashback/external-names.js';
import { toGrantDto } from '../cashback/grant.dto.js';
import { readGrantStates } from '../cashback/grants.service.js';
import { summarize } from '../cashback/wallet-sums.js';
import { nameable, toCreditDto, toWalletDto, unknownCustomer } from '../cashback/wallet.dto.js';
import { Wallet, type WalletOwner } from '../cashback/wallet.entity.js';
import { toEntryDtos } from '../cashback/wallet.list.js';
import { type EventDto } from '../events/event.dto.js';
import { FeedEvent } from '../events/event.entity.js';
import { toEventDtos } from '../events/event.mapper.js';
import { WebhookEndpointsService } from '../events/webhook-endpoints.service.js';
import { type Erasure, ErasureService } from '../orders/erasure.service.js';
import { toOrderDto } from '../orders/order.dto.js';
import { Order } from '../orders/order.entity.js';
import { toRefundDto } from '../orders/refund.dto.js';
import { readVoidable } from '../orders/refund-voids.js';
import { Refund } from '../orders/refund.entity.js';
import { type Asked, Reads } from '../platform/database/reads.js';
import { chunks } from '../platform/database/rows.js';
import { notFound } from '../platform/values/problem.js';
import { type CustomerExportDto } from './privacy.dto.js';

/** What a customer can ask a merchant for: all stored data, as the customer can read it, and its erasure. */
@Injectable()
export class PrivacyService {
  constructor(
    private readonly reads: Reads,
    private readonly erasures: ErasureService,
    private readonly endpoints: WebhookEndpointsService,
  ) {}

  /** Erases a customer, also from what webhook endpoints answered last. */
  async erase(merchantId: string, document: string): Promise<Erasure> {
    const erased = await this.erasures.erase(merchantId, document);
    await this.endpoints.forgetAttempts(merchantId);
    return erased;
  }

  /**
   * Returns all that is stored about a customer of a merchant, from one consistent snapshot.
   *
   * @throws Problem not_found, also after the customer was erased.
   */
  export(merchantId: string, document: string): Promise<CustomerExportDto> {
    return this.reads.read(merchantId, { merchantId, document }, async (asked) => {
      const { manager, query: owner, timeZone, now } = asked;
      const wallet = await summarize(manager, owner, now);
      const orders = await manager.find(Order, { where: owner, order: { createdAt: 'ASC', id: 'ASC' } });
      if (wallet === null && orders.length === 0) throw notFound('no customer has this document');
      const subjects = [...orders.map(({ id }) => id), ...(wallet === null ? [] : [wallet.id])];
      return {
        document,
        exported_at: now,
        wallet: wallet === null ? unknownCustomer(document) : toWalletDto(wallet, timeZone),
        ...(await ordersOf(asked, orders)),
        ...(await cashbackOf(asked)),
        events: await eventsOf(manager, merchantId, subjects, wallet?.id),
      };
    });
  }
}

async function ordersOf(
  asked: Asked<WalletOwner>,
  orders: readonly Order[],
): Promise<Pick<CustomerExportDto, 'orders' | 'refunds'>> {
  const { manager, merchantId, query: owner, now } = asked;
  const ids = orders.map(({ id }) => id);
  const refunds = await inBatches(ids, (some) => manager.findBy(Refund, { merchantId, orderId: In(some) }));
  const available = (await availableOf(manager, [owner], now))(owner);
  const voidable = new Set(await inBatches(refunds, async (some) => [...(await readVoidable(asked, some))]));
  const externalIds = new Map(orders.map(({ id, externalId }) => [id, externalId]));
  return {
    orders: orders.map((order) => toOrderDto(order, available, now)),
    refunds: inOrder(refunds).map((refund) =>
      toRefundDto(refund, externalIds.get(refund.orderId)!, voidable.has(refund.id)),
    ),
  };
}

async function cashbackOf({
  manager,
  merchantId,
  query: owner,
  timeZone,
  now,
}: Asked<WalletOwner>): Promise<Pick<CustomerExportDto, 'credits' | 'grants' | 'debits' | 'entries'>> {
  const wallet = await manager.findOneBy(Wallet, owner);
  if (wallet === null) return { credits: [], grants: [], debits: [], entries: [] };
  const where = { walletId: wallet.id, merchantId };
  const credits = await manager.find(Credit, { where });
  const entries = await manager.find(Entry, { where, order: { seq: 'ASC' } });
  const debits = await manager.find(Debit, { where, order: { id: 'ASC' } });
  const names = await readNames(manager, merchantId, credits.map(nameable));
  const keys = [...names.grants.keys()].map((creditId) => ({ merchantId, creditId }));
  const grants = await inBatches(keys, (some) => readGrantStates(manager, some, timeZone, now));
  return {
    credits: inOrder(credits).map((credit) => toCreditDto(credit, names, timeZone)),
    grants: grants.map(toGrantDto).sort((a, b) => +a.created_at - +b.created_at),
    debits: debits.map((debit) => toDebitDto(debit, wallet.document)),
    entries: await inBatches(entries, (some) => toEntryDtos(manager, merchantId, some)),
  };
}

/** Leaves out what an order whose customer was corrected says of the wallet of another customer. */
async function eventsOf(
  manager: EntityManager,
  merchantId: string,
  subjects: readonly string[],
  walletId: string | undefined,
): Promise<EventDto[]> {
  const all = await inBatches(subjects, (some) => manager.findBy(FeedEvent, { merchantId, subjectId: In(some) }));
  const isOwn = ({ data }: FeedEvent): boolean => data.wallet === undefined || data.wallet.id === walletId;
  const found = all.filter((event) => isOwn(event) && event.type !== 'order.customer_changed');
  const events: EventDto[] = [];
  found.sort((a, b) => a.sequence - b.sequence);
  // A list of events can be cut where the orders are large.
  while (events.length < found.length)
    events.push(...(await toEventDtos(manager, merchantId, found.slice(events.length, events.length + 100))));
  return events;
}

const inOrder = <T extends { createdAt: Date; id: string }>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => +a.createdAt - +b.createdAt || (a.id < b.id ? -1 : 1));

async function inBatches<Key, T>(keys: readonly Key[], find: (keys: Key[]) => Promise<T[]>): Promise<T[]> {
  const found: T[] = [];
  for (const some of chunks(keys)) found.push(...(await find(some)));
  return found;
}
