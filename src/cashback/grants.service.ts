import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { Clock } from '../common/clock.js';
import type { NewFeedEvent, Recorder } from '../common/domain-event.js';
import { sumCents } from '../common/money.js';
import { externalIdConflict, notFound } from '../common/problem.js';
import { anyOf, byMerchant } from '../database/by-merchant.js';
import { violatedUniqueKey } from '../database/errors.js';
import { chunks, columnNames, insertion, type Row, toEntity } from '../database/rows.js';
import { AGAIN, type Outcome, outcomeOf, type Shared, type SharedRequest } from '../database/shared.js';
import { SharedStatements, type SharedUseCases } from '../database/shared-statements.js';
import type { Connection, Transaction } from '../database/transaction.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { Credit } from './credit.entity.js';
import { Grant } from './grant.entity.js';
import {
  type GrantContent,
  refuseAboveMaximum,
  requestedContent,
  storedContent,
  type StoredGrant,
  validityOfGrant,
} from './grant-content.js';
import { Replays } from './replay.js';
import { grantEvent } from './wallet-events.js';
import type { WalletAggregate } from './wallet-aggregate.js';
import { type OnLocked, unlessRefused, WalletStore } from './wallet.store.js';
import { ownerKey, Wallet, type WalletOwner } from './wallet.entity.js';

/** What identifies a grant of a merchant. */
export type GrantKey = Pick<Grant, 'creditId'> | Pick<Grant, 'externalId'>;

/** A grant in its current state, and the time zone of the merchant's days. */
export interface GrantState extends StoredGrant {
  timeZone: string;
  /** What remains of it, with what refunds returned of it, and the part of that which is held. */
  remainingCents: number;
  heldCents: number;
}

/** A grant to make. */
export interface NewGrant {
  merchantId: string;
  policy: Policy;
  content: GrantContent;
}

interface VoidedGrant {
  merchantId: string;
  key: GrantKey;
  timeZone: string;
}

/** Grants cashback that was not earned by an order, and takes grants back. Use cases share transactions. */
@Injectable()
export class GrantsService {
  readonly #grants: Shared<NewGrant, Credit>;
  readonly #voids: Shared<VoidedGrant, GrantState>;

  constructor(
    shared: SharedStatements,
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly wallets: WalletStore,
    private readonly clock: Clock,
    private readonly replays: Replays,
  ) {
    this.#grants = shared.transactions(
      'grants',
      ({ merchantId, content }) => ownerKey({ merchantId, document: content.document }),
      ({ transaction, record, requests, onLocked }) => this.grantAll(transaction, record, keysOf(requests), onLocked),
    );
    this.#voids = shared.transactions(
      'voids',
      ({ key }) => JSON.stringify(key),
      (useCases) => this.#voidAll(useCases),
    );
  }

  /**
   * Grants cashback, or returns the grant that already has this external ID, also if the maximum is lower by now. The
   * unique key decides.
   *
   * @returns the credit, and whether it existed before.
   * @throws Problem not_found for an unknown merchant; validation_failed if it would expire before it could be spent;
   *   external_id_conflict if the grant with this external ID has different content; grant_exceeds_maximum.
   */
  async grant(merchantId: string, content: GrantContent): Promise<{ credit: Credit; replayed: boolean }> {
    const { policy } = await this.merchants.get(merchantId);
    const find = (): Promise<Credit | undefined> => this.#findSame(merchantId, content);
    const existing = await find();
    if (existing !== undefined) return { credit: existing, replayed: true };
    refuseAboveMaximum(content, policy);
    try {
      return { credit: await this.#grants.get({ merchantId, policy, content }), replayed: false };
    } catch (error) {
      const meanwhile = violatedUniqueKey(error) === 'uq_cashback_grants_external_id' ? await find() : undefined;
      if (meanwhile === undefined) throw error;
      return { credit: meanwhile, replayed: true };
    }
  }

  /** Makes grants in a transaction. @returns the outcome of each. */
  async grantAll(
    transaction: Transaction,
    record: Recorder,
    grants: readonly NewGrant[],
    onLocked?: OnLocked,
  ): Promise<Outcome<Credit>[]> {
    const owners = grants.map(({ merchantId, content: { document } }) => ({ merchantId, document }));
    const { wallets, others } = await this.wallets.lockAll(transaction, owners, onLocked);
    const events: NewFeedEvent[] = [];
    const rows: Grant[] = [];
    const outcomes = grants.map(({ policy, content }, at): Outcome<Credit> => {
      const grantTo = (wallet: WalletAggregate): Outcome<Credit> =>
        outcomeOf(() => {
          const validity = validityOfGrant(content, policy, wallet.now);
          return wallet.grant(content.amountCents, validity, content.reason ?? null);
        });
      const owner = ownerKey(owners[at]!);
      const wallet = wallets.get(owner);
      if (wallet === undefined) return unlessRefused(others.get(owner)!, grantTo);
      const outcome = grantTo(wallet);
      if (outcome !== 'locked' && 'value' in outcome) {
        const grant = this.#newGrant(outcome.value, content);
        rows.push(grant);
        events.push(grantEvent('cashback.granted', wallet, outcome.value, { ...grant, timeZone: policy.timeZone }));
      }
      return outcome;
    });
    await this.wallets.save(transaction, record, wallets.values());
    if (rows.length > 0) await transaction.write(insertion(transaction.dataSource, Grant, rows));
    events.forEach(record);
    return outcomes;
  }

  /** Returns a grant in its current state. @throws Problem not_found, also for a grant of another merchant. */
  async get(merchantId: string, creditId: string): Promise<GrantState> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.unitOfWork.snapshot(async (manager) => {
      const [found] = await readGrants(manager, [{ merchantId, creditId }]);
      if (found === undefined) throw notFound('no grant has this ID');
      const { grant, credit, all } = found;
      const { document } = await manager.findOneByOrFail(Wallet, { id: credit.walletId, merchantId });
      const now = this.clock.now(merchantId);
      // What has expired and is not held counts no more, also before it is written off.
      const left = all.map((one) => (one.expiresAt <= now ? { ...one, remainingCents: one.heldCents } : one));
      return { grant, credit, document, timeZone, ...sumsOf(left) };
    });
  }

  /**
   * Voids the unspent, unheld amount of a grant, and of what refunds returned of it. Repeating the call also voids what
   * was released or returned since.
   *
   * @param key the ID of the grant, which is that of its credit, or its external ID.
   * @throws Problem not_found, also for a grant of another merchant.
   */
  async void(merchantId: string, key: GrantKey): Promise<GrantState> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.#voids.get({ merchantId, key, timeZone });
  }

  async #voidAll(useCases: SharedUseCases<VoidedGrant>): Promise<Outcome<GrantState>[]> {
    const { transaction, record, requests, onLocked } = useCases;
    const known = await findOwners(transaction, keysOf(requests));
    const claimed = requests.map((request, at) => {
      const owned = known[at];
      return owned !== undefined && request.claim(ownerKey(owned)) ? owned : undefined;
    });
    const owned = claimed.filter((one) => one !== undefined);
    const [{ wallets, others }, grants] = await Promise.all([
      this.wallets.lockAll(transaction, owned, onLocked),
      readGrants(transaction, owned),
    ]);
    const voided: Grant[] = [];
    const events: NewFeedEvent[] = [];
    const outcomes = requests.map(({ key: { key, timeZone } }, at): Outcome<GrantState> => {
      const owner = known[at];
      if (owner === undefined)
        return { error: notFound('creditId' in key ? 'no grant has this ID' : 'no grant has this external_id') };
      const wallet = claimed[at] && wallets.get(ownerKey(owner));
      // Another one has the wallet, or the customer was erased meanwhile.
      if (wallet === undefined) return others.get(ownerKey(owner)) === 'locked' ? 'locked' : AGAIN;
      const { grant, credit, all } = grants.find(({ credit: { id } }) => id === owner.creditId)!;
      const credits = wallet.load(all);
      const amountCents = wallet.void(credits);
      if (amountCents > 0 || grant.voidedAt === null) {
        grant.voidedCents = (grant.voidedCents ?? 0) + amountCents;
        grant.voidedAt ??= wallet.now;
        voided.push(grant);
        events.push(grantEvent('cashback.voided', wallet, credit, { ...grant, timeZone }, amountCents));
      }
      return { value: { grant, credit, document: wallet.row.document, timeZone, ...sumsOf(credits) } };
    });
    await this.wallets.save(transaction, record, wallets.values());
    if (voided.length > 0)
      await transaction.write(insertion(transaction.dataSource, Grant, voided, ['voided_cents', 'voided_at']));
    events.forEach(record);
    return outcomes;
  }

  /** @throws Problem external_id_conflict, pointing at each member that differs. */
  refuseDifferences(sent: GrantContent, stored: StoredGrant): void {
    const known = { content: storedContent(stored), digest: stored.grant.contentDigest };
    const errors = this.replays.differencesFromStored(requestedContent(sent), known, [
      'document',
      'reason',
      'metadata',
    ]);
    if (errors.length > 0) throw externalIdConflict('grant', stored.credit.id, errors);
  }

  async #findSame(merchantId: string, content: GrantContent): Promise<Credit | undefined> {
    const { externalId } = content;
    if (externalId === undefined) return undefined;
    const found = await this.unitOfWork.snapshot((manager) => grantsByExternalId(manager, merchantId, [externalId]));
    const stored = found.get(externalId);
    if (stored === undefined) return undefined;
    this.refuseDifferences(content, stored);
    return stored.credit;
  }

  #newGrant({ id: creditId, merchantId }: Credit, content: GrantContent): Grant {
    return {
      creditId,
      merchantId,
      apiUserId: content.apiUserId ?? null,
      externalId: content.externalId ?? creditId,
      requestedAvailableAt: content.availableAt ?? null,
      requestedExpiresAt: content.expiresAt ?? null,
      requestedAvailableOn: content.availableOn ?? null,
      requestedExpiresOn: content.expiresOn ?? null,
      metadata: content.metadata ?? null,
      contentDigest: this.replays.digest(requestedContent(content)),
      voidedCents: null,
      voidedAt: null,
    };
  }
}

/** Reads the grants of a merchant that have these external IDs, by external ID. Call it in a snapshot. */
export async function grantsByExternalId(
  manager: EntityManager,
  merchantId: string,
  externalIds: readonly string[],
): Promise<Map<string, StoredGrant>> {
  const stored = new Map<string, StoredGrant>();
  for (const ids of chunks(externalIds)) {
    const grants = await manager.findBy(Grant, { merchantId, externalId: In(ids) });
    const credits = await manager.findBy(Credit, { merchantId, id: In(grants.map(({ creditId }) => creditId)) });
    const creditOf = new Map(credits.map((credit) => [credit.id, credit]));
    const wallets = await manager.findBy(Wallet, { merchantId, id: In(credits.map(({ walletId }) => walletId)) });
    const documentOf = new Map(wallets.map(({ id, document }) => [id, document]));
    for (const grant of grants) {
      const credit = creditOf.get(grant.creditId);
      const document = documentOf.get(credit?.walletId ?? '');
      if (credit === undefined || document === undefined) throw new Error(`grant ${grant.creditId} has no wallet`);
      stored.set(grant.externalId, { grant, credit, document });
    }
  }
  return stored;
}

const keysOf = <Key>(requests: readonly SharedRequest<Key>[]): Key[] => requests.map(({ key }) => key);

/** A grant, and whose it is. */
type OwnedGrant = WalletOwner & Pick<Grant, 'creditId'>;

/** Finds grants and their customers. @returns undefined for those that their merchant does not have. */
async function findOwners(
  connection: Connection,
  keys: readonly Pick<VoidedGrant, 'merchantId' | 'key'>[],
): Promise<(OwnedGrant | undefined)[]> {
  const selects = keys.map(
    ({ key }, at) => `
    SELECT ${at} AS at, g.merchant_id AS merchantId, g.credit_id AS creditId, w.document
      FROM cashback_grants g JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
      JOIN wallets w ON w.id = c.wallet_id AND w.merchant_id = g.merchant_id
     WHERE g.merchant_id = ? AND g.${'creditId' in key ? 'credit_id' : 'external_id'} = ?`,
  );
  const rows = await connection.query<(OwnedGrant & { at: number })[]>(
    selects.join(' UNION ALL '),
    keys.flatMap(({ merchantId, key }) => [merchantId, 'creditId' in key ? key.creditId : Buffer.from(key.externalId)]),
  );
  const found = new Map(rows.map(({ at, ...owned }) => [at, owned]));
  return keys.map((_, at) => found.get(at));
}

/** Reads grants that exist, each with its credit and all credits with what remains of it. */
async function readGrants(
  connection: Connection,
  grants: readonly Pick<Grant, 'merchantId' | 'creditId'>[],
): Promise<{ grant: Grant; credit: Credit; all: Credit[] }[]> {
  if (grants.length === 0) return [];
  const groups = byMerchant(grants, ({ creditId }) => creditId).flat();
  const select = (target: typeof Grant | typeof Credit, table: string, id: string): Promise<Row[]> =>
    connection.query(
      `SELECT ${columnNames(connection, target).join(', ')} FROM ${table}
        WHERE ${anyOf(groups.length / 2, `merchant_id = ? AND ${id} IN (?)`)}`,
      groups,
    );
  const [rows, ...credits] = await Promise.all([
    select(Grant, 'cashback_grants', 'credit_id'),
    select(Credit, 'cashback_credits', 'id'),
    select(Credit, 'cashback_credits', 'from_credit_id'),
  ]);
  const all = credits.flat().map((row) => toEntity(connection, Credit, row));
  return rows.map((row) => {
    const grant = toEntity(connection, Grant, row);
    const own = all.filter(({ id, fromCreditId }) => (fromCreditId ?? id) === grant.creditId);
    return { grant, credit: own.find(({ id }) => id === grant.creditId)!, all: own };
  });
}

const sumsOf = (credits: readonly Credit[]): Pick<GrantState, 'remainingCents' | 'heldCents'> => ({
  remainingCents: sumCents(credits.map(({ remainingCents }) => remainingCents)),
  heldCents: sumCents(credits.map(({ heldCents }) => heldCents)),
});
