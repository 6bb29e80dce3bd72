import { type EntityManager } from 'typeorm';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { list, type PageRequest } from '../platform/database/lists.js';
import { type ListOf } from '../platform/database/reads.js';
import { notFound } from '../platform/values/problem.js';
import { type CreditDto } from './credit.dto.js';
import { Credit } from './credit.entity.js';
import { Entry } from './entry.entity.js';
import { readNames } from './external-names.js';
import { type EntryDto, nameable, toCreditDto, toEntryDto } from './wallet.dto.js';
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

/** The open credits of a wallet, earliest expiry first. @throws Problem not_found, also for one of another merchant. */
export const CREDITS_OF_WALLET: ListOf<PageRequest & { walletId: string }, CreditDto> = async (asked) => {
  const { manager, merchantId, query, timeZone, now } = asked;
  const { id } = await walletOf(manager, { id: query.walletId, merchantId });
  return list({
    name: `credits ${id}`,
    entity: Credit,
    isSmall: true,
    instant: 'expires_at',
    number: 'seq',
    order: 'ASC',
    ranges: [{ index: 'ix_cashback_credits_expiry', prefix: [['wallet_id = ?', id], ['is_open = 1']] }],
    period: { from: now.getTime() + 1, to: Infinity },
    present: async (credits) => {
      const names = await readNames(manager, merchantId, credits.map(nameable));
      return credits.map((credit) => toCreditDto(credit, names, timeZone));
    },
  });
};
