import { type EntityManager, In } from 'typeorm';
import { entitiesOf, list, type PageRequest, periodOf } from '../platform/database/lists.js';
import { type ListOf } from '../platform/database/reads.js';
import { type CreditDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { type CustomerEntryDto, type ListLedgerDto } from './entry.dto.js';
import { Entry } from './entry.entity.js';
import { lastOfChanges, toChanges } from './changes.js';
import { readNames } from './external-names.js';
import { type EntryDto, type EntryLine, nameable, toCreditDto, toEntryDto } from './wallet.dto.js';
import { walletOf, withCustomers } from './wallet.entity.js';

/** The ledger entries of all customers, newest first. */
export const LEDGER_ENTRIES: ListOf<ListLedgerDto, CustomerEntryDto> = (asked) => {
  const { manager, merchantId, query } = asked;
  const { kind, store } = query;
  const isAsked = (entry: Entry): boolean =>
    (kind?.includes(entry.kind) ?? true) && (store === undefined || entry.store === store);
  return list({
    name: 'ledger',
    entity: Entry,
    isSmall: true,
    instant: 'created_at',
    group: 'wallet_id',
    number: 'seq',
    order: 'DESC',
    ranges: [{ index: 'ix_cashback_entries_created', prefix: [] }],
    period: periodOf(query.created_from, query.created_to),
    ...((kind !== undefined || store !== undefined) && {
      select: (found) => {
        const entries = entitiesOf(manager, Entry, found);
        return found.filter((_, at) => isAsked(entries[at]!));
      },
    }),
    present: async (entries) => withCustomers(asked, entries, await toEntryDtos(manager, merchantId, entries)),
  });
};

type EntriesRequest = PageRequest & { walletId: string; by?: 'change' };

/** The statement of a wallet, newest first. @throws Problem not_found, also for a wallet of another merchant. */
export const ENTRIES: ListOf<EntriesRequest, EntryDto> = async (asked) => {
  const { manager, merchantId, query } = asked;
  const { id } = await walletOf(manager, { id: query.walletId, merchantId });
  const byChange = query.by === 'change';
  return list({
    name: `${byChange ? 'changes' : 'entries'} ${id}`,
    entity: Entry,
    isSmall: true,
    number: 'seq',
    order: 'DESC',
    ranges: [{ index: 'PRIMARY', prefix: [['wallet_id = ?', id]] }],
    ...(byChange && { select: (found) => lastOfChanges(asked, id, found) }),
    present: async (entries) => {
      const lines = byChange ? await toChanges(asked, id, entries) : entries;
      return toEntryDtos(manager, merchantId, lines);
    },
  });
};

/** Builds the responses for ledger entries of a merchant. */
export async function toEntryDtos(
  manager: EntityManager,
  merchantId: string,
  entries: readonly EntryLine[],
): Promise<EntryDto[]> {
  const ids = entries.flatMap(({ creditId }) => creditId ?? []);
  const credits = await manager.findBy(Credit, { merchantId, id: In([...new Set(ids)]) });
  const names = await readNames(manager, merchantId, [...entries, ...credits.map(nameable)]);
  const byId = new Map(credits.map((credit) => [credit.id, credit]));
  return entries.map((entry) => toEntryDto(entry, byId.get(entry.creditId ?? ''), names));
}

type CreditsRequest = PageRequest & { walletId: string; status?: 'open' | 'all' };

/** The credits of a wallet, earliest expiry first. @throws Problem not_found, also for one of another merchant. */
export const CREDITS_OF_WALLET: ListOf<CreditsRequest, CreditDto> = async (asked) => {
  const { manager, merchantId, query, timeZone, now } = asked;
  const { id } = await walletOf(manager, { id: query.walletId, merchantId });
  const isOpen = query.status !== 'all';
  return list({
    name: `${isOpen ? 'credits' : 'all credits'} ${id}`,
    entity: Credit,
    isSmall: true,
    instant: 'expires_at',
    number: 'seq',
    order: 'ASC',
    ranges: (isOpen ? [1] : [0, 1]).map((one) => ({
      index: 'ix_cashback_credits_expiry',
      prefix: [
        ['wallet_id = ?', id],
        ['is_open = ?', one],
      ],
    })),
    ...(isOpen && { period: { from: now.getTime() + 1, to: Infinity } }),
    present: async (credits) => {
      const names = await readNames(manager, merchantId, credits.map(nameable));
      return credits.map((credit) => toCreditDto(credit, names, timeZone));
    },
  });
};
