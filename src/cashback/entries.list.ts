import { type EntityManager } from 'typeorm';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { list, type PageRequest } from '../platform/database/lists.js';
import { type ListOf } from '../platform/database/reads.js';
import { notFound } from '../platform/values/problem.js';
import { Entry } from './entry.entity.js';
import { readNames } from './external-names.js';
import { type EntryDto, toEntryDto } from './wallet.dto.js';
import { Wallet } from './wallet.entity.js';

export const NO_WALLET = 'no wallet has this ID';

/** @throws Problem not_found. */
export async function walletOf(manager: EntityManager, where: { id: string; merchantId?: string }): Promise<Wallet> {
  const wallet = await manager.findOne(Wallet, {
    where,
    ...(where.merchantId === undefined && { comment: ALL_MERCHANTS }),
  });
  if (wallet === null) throw notFound(NO_WALLET);
  return wallet;
}

/** The statement of a wallet, newest first. @throws Problem not_found, also for a wallet of another merchant. */
export const ENTRIES: ListOf<PageRequest & { walletId: string }, EntryDto> = async ({ manager, merchantId, query }) => {
  const { id } = await walletOf(manager, { id: query.walletId, merchantId });
  return list({
    name: `entries ${id}`,
    entity: Entry,
    isSmall: true,
    number: 'seq',
    order: 'DESC',
    ranges: [{ index: 'PRIMARY', prefix: [['wallet_id = ?', id]] }],
    present: async (entries) => {
      const names = await readNames(manager, merchantId, entries);
      return entries.map((entry) => toEntryDto(entry, names));
    },
  });
};
