import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { Clock } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { sumCents } from '../common/money.js';
import { externalIdConflict, notFound } from '../common/problem.js';
import { violatedUniqueKey } from '../database/errors.js';
import { chunks, insertRows } from '../database/rows.js';
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
import { WalletStore } from './wallet.store.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

/** What identifies a grant of a merchant. */
export type GrantKey = Pick<Grant, 'creditId'> | Pick<Grant, 'externalId'>;

/** A grant in its current state, and the time zone of the merchant's days. */
export interface GrantState extends StoredGrant {
  timeZone: string;
  /** What remains of it, with what refunds returned of it, and the part of that which is held. */
  remainingCents: number;
  heldCents: number;
}

/** Grants cashback that was not earned by an order, and takes grants back. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly wallets: WalletStore,
    private readonly clock: Clock,
    private readonly replays: Replays,
  ) {}

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
      const [credit] = await this.unitOfWork.transaction((manager, record) =>
        this.grantTo(manager, record, { merchantId, policy, document: content.document }, [content]),
      );
      return { credit: credit!, replayed: false };
    } catch (error) {
      const meanwhile = violatedUniqueKey(error) === 'uq_cashback_grants_external_id' ? await find() : undefined;
      if (meanwhile === undefined) throw error;
      return { credit: meanwhile, replayed: true };
    }
  }

  /**
   * Grants cashback to one customer in a transaction. Callers with several customers begin with the lowest document, so
   * that no two of them wait for each other's wallets.
   *
   * @throws Problem validation_failed if it would expire before it could be spent.
   */
  async grantTo(
    manager: EntityManager,
    record: Recorder,
    { policy, ...owner }: WalletOwner & { policy: Policy },
    contents: readonly GrantContent[],
  ): Promise<Credit[]> {
    const wallet = await this.wallets.lock(manager, owner);
    const credits = contents.map((content) =>
      wallet.grant(content.amountCents, validityOfGrant(content, policy, wallet.now), content.reason ?? null),
    );
    await this.wallets.save(manager, record, [wallet]);
    const grants = contents.map((content, at) => this.#newGrant(credits[at]!, content));
    await insertRows(manager, Grant, grants);
    credits.forEach((credit, at) => {
      const { externalId } = grants[at]!;
      record(grantEvent('cashback.granted', wallet, credit, { externalId, timeZone: policy.timeZone }));
    });
    return credits;
  }

  /** Returns a grant in its current state. @throws Problem not_found, also for a grant of another merchant. */
  async get(merchantId: string, id: string): Promise<GrantState> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.unitOfWork.snapshot(async (manager) => {
      const { grant, credit, all } = await find(manager, merchantId, { creditId: id });
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
    return this.unitOfWork.transaction(async (manager, record) => {
      const { credit: unlocked } = await find(manager, merchantId, key);
      const wallet = (await this.wallets.lockById(manager, merchantId, unlocked.walletId))!;
      const { grant, credit, all } = await find(manager, merchantId, key);
      const credits = wallet.load(all);
      const amountCents = wallet.void(credits);
      await this.wallets.save(manager, record, [wallet]);
      if (amountCents > 0 || grant.voidedAt === null) {
        grant.voidedCents = (grant.voidedCents ?? 0) + amountCents;
        grant.voidedAt ??= wallet.now;
        const { voidedCents, voidedAt, externalId } = grant;
        await manager.update(Grant, { creditId: credit.id, merchantId }, { voidedCents, voidedAt });
        record(grantEvent('cashback.voided', wallet, credit, { externalId, timeZone }, amountCents));
      }
      return { grant, credit, document: wallet.row.document, timeZone, ...sumsOf(credits) };
    });
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

/**
 * Finds a grant, its credit, and all credits with what remains of it.
 *
 * @throws Problem not_found.
 */
async function find(
  manager: EntityManager,
  merchantId: string,
  key: GrantKey,
): Promise<{ grant: Grant; credit: Credit; all: Credit[] }> {
  const grant = await manager.findOneBy(Grant, { ...key, merchantId });
  if (grant === null) throw notFound('creditId' in key ? 'no grant has this ID' : 'no grant has this external_id');
  const { creditId: id } = grant;
  const all = await manager.findBy(Credit, [
    { id, merchantId },
    { fromCreditId: id, merchantId },
  ]);
  const credit = all.find((one) => one.id === id);
  if (credit === undefined) throw new Error(`grant ${id} has no credit`);
  return { grant, credit, all };
}

const sumsOf = (credits: readonly Credit[]): Pick<GrantState, 'remainingCents' | 'heldCents'> => ({
  remainingCents: sumCents(credits.map(({ remainingCents }) => remainingCents)),
  heldCents: sumCents(credits.map(({ heldCents }) => heldCents)),
});
