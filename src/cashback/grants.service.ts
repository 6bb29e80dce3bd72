import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { notFound } from '../common/problem.js';
import { violatedUniqueKey } from '../database/errors.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { ContentDigests } from './content-digests.js';
import { Credit } from './credit.entity.js';
import { Grant } from './grant.entity.js';
import { digestedContent, refuseDifferences } from './grant-replay.js';
import {
  type GrantContent,
  grantsByExternalId,
  insertGrants,
  refuseAboveMaximum,
  type StoredGrant,
  validityOfGrant,
} from './grants.js';
import type { WalletAggregate } from './wallet-aggregate.js';
import { grantEvent } from './wallet-events.js';
import { Wallet } from './wallet.entity.js';
import { WalletsService } from './wallets.service.js';

/** What identifies a grant of a merchant. */
export type GrantKey = Pick<Grant, 'creditId'> | Pick<Grant, 'externalId'>;

/** A grant in its current state, and the time zone of the merchant's days. */
export interface GrantState extends StoredGrant {
  timeZone: string;
}

/** Grants cashback that was not earned by an order, and takes grants back. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly wallets: WalletsService,
    private readonly clock: Clock,
    private readonly digests: ContentDigests,
  ) {}

  /**
   * Grants cashback, or returns the grant that already has this external ID, also if the maximum is lower by now. The
   * unique key decides.
   *
   * @returns the credit in its current state, and whether it existed before.
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
      if (credit === undefined) throw new Error('nothing was granted');
      return { credit, replayed: false };
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
    { policy, ...owner }: { merchantId: string; policy: Policy; document: string },
    contents: readonly GrantContent[],
  ): Promise<Credit[]> {
    const wallet = await this.wallets.lock(manager, owner);
    const credits = contents.map((content) => {
      const { availableAt, expiresAt } = validityOfGrant(content, policy, wallet.now);
      return wallet.addCredit({ reason: content.reason ?? null }, content.amountCents, availableAt, expiresAt);
    });
    await this.wallets.save(manager, record, wallet);
    const grants = contents.map((content, at) => {
      return { creditId: credits[at]!.id, content, contentDigest: this.digests.of(digestedContent(content)) };
    });
    await insertGrants(manager, owner.merchantId, grants);
    credits.forEach((credit, at) => {
      const externalId = contents[at]!.externalId ?? credit.id;
      record(grantEvent('cashback.granted', wallet, credit, { externalId, timeZone: policy.timeZone }));
    });
    return credits;
  }

  /** Returns a grant in its current state. @throws Problem not_found, also for a grant of another merchant. */
  async get(merchantId: string, id: string): Promise<GrantState> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.unitOfWork.snapshot(async (manager) => {
      const { grant, credit } = await find(manager, merchantId, { creditId: id });
      const { document } = await manager.findOneByOrFail(Wallet, { id: credit.walletId, merchantId });
      const isExpired = credit.expiresAt <= this.clock.now();
      return { grant, credit: { ...credit, ...(isExpired && { remainingCents: 0 }) }, document, timeZone };
    });
  }

  /**
   * Voids the unspent, unheld amount of a grant. Repeating the call also voids amounts released or returned since.
   *
   * @param key the ID of the grant, which is that of its credit, or its external ID.
   * @throws Problem not_found, also for a grant of another merchant.
   */
  async void(merchantId: string, key: GrantKey): Promise<GrantState> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.unitOfWork.transaction(async (manager, record) => {
      const { credit: unlocked } = await find(manager, merchantId, key);
      const wallet = await this.wallets.lockById(manager, merchantId, unlocked.walletId);
      const { grant, credit } = await find(manager, merchantId, key);
      const state = stateIn(wallet, grant, credit);
      const amountCents = wallet.voidCredit(state.credit);
      await this.wallets.save(manager, record, wallet);
      if (amountCents > 0 || grant.voidedAt === null) {
        grant.voidedCents = (grant.voidedCents ?? 0) + amountCents;
        grant.voidedAt ??= wallet.now;
        const { voidedCents, voidedAt } = grant;
        await manager.update(Grant, { creditId: credit.id, merchantId }, { voidedCents, voidedAt });
        const { externalId } = grant;
        record(grantEvent('cashback.voided', wallet, state.credit, { externalId, timeZone }, amountCents));
      }
      return { ...state, timeZone };
    });
  }

  async #findSame(merchantId: string, content: GrantContent): Promise<Credit | undefined> {
    const { externalId } = content;
    if (externalId === undefined) return undefined;
    const found = await this.unitOfWork.snapshot((manager) => grantsByExternalId(manager, merchantId, [externalId]));
    const stored = found.get(externalId);
    if (stored === undefined) return undefined;
    refuseDifferences(this.digests, stored, content);
    return stored.credit;
  }
}

/** @throws Problem not_found. */
async function find(
  manager: EntityManager,
  merchantId: string,
  key: GrantKey,
): Promise<{ grant: Grant; credit: Credit }> {
  const grant = await manager.findOneBy(Grant, { ...key, merchantId });
  if (grant === null) throw notFound('creditId' in key ? 'no grant has this ID' : 'no grant has this external_id');
  return { grant, credit: await manager.findOneByOrFail(Credit, { id: grant.creditId, merchantId }) };
}

/** @returns the grant with the wallet's own credit, which is up to date. */
function stateIn(wallet: WalletAggregate, grant: Grant, found: Credit): StoredGrant {
  const [credit = found] = wallet.load([found]);
  return { grant, credit, document: wallet.wallet.document };
}
