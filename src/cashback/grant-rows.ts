import { type EntityManager, In } from 'typeorm';
import { insertRows } from '../database/rows.js';
import type { GrantContent, StoredGrant } from './grant-content.js';
import { Grant } from './grant.entity.js';
import { creditsById } from './wallet-rows.js';
import { Wallet } from './wallet.entity.js';

/** Reads the grants of a merchant that have these external IDs, by external ID. Call it in a snapshot. */
export async function grantsByExternalId(
  manager: EntityManager,
  merchantId: string,
  externalIds: readonly string[],
): Promise<Map<string, StoredGrant>> {
  if (externalIds.length === 0) return new Map();
  const grants = await manager.findBy(Grant, { merchantId, externalId: In(externalIds) });
  if (grants.length === 0) return new Map();
  const creditIds = grants.map(({ creditId }) => creditId);
  const credits = await creditsById(manager, merchantId, creditIds);
  const creditOf = new Map(credits.map((credit) => [credit.id, credit]));
  const walletIds = [...new Set(credits.map(({ walletId }) => walletId))];
  const wallets = await manager.findBy(Wallet, { merchantId, id: In(walletIds) });
  const documentOf = new Map(wallets.map(({ id, document }) => [id, document]));
  const stored = grants.map((grant): [string, StoredGrant] => {
    const credit = creditOf.get(grant.creditId);
    const document = documentOf.get(credit?.walletId ?? '');
    if (credit === undefined || document === undefined) throw new Error(`grant ${grant.creditId} has no wallet`);
    return [grant.externalId, { grant, credit, document }];
  });
  return new Map(stored);
}

/** Inserts the rows of grants that have an external ID. */
export async function insertGrants(
  manager: EntityManager,
  merchantId: string,
  grants: readonly { creditId: string; content: GrantContent }[],
): Promise<void> {
  const rows = grants.flatMap(({ creditId, content }) => {
    const { externalId, availableAt, expiresAt, availableOn, expiresOn } = content;
    if (externalId === undefined) return [];
    const row: Grant = {
      creditId,
      merchantId,
      externalId,
      requestedAvailableAt: availableAt ?? null,
      requestedExpiresAt: expiresAt ?? null,
      requestedAvailableOn: availableOn ?? null,
      requestedExpiresOn: expiresOn ?? null,
      voidedCents: null,
      voidedAt: null,
    };
    return [row];
  });
  if (rows.length > 0) await insertRows(manager, Grant, rows);
}
