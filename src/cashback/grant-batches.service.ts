import { Injectable } from '@nestjs/common';
import { Clock } from '../common/clock.js';
import { Problem } from '../common/problem.js';
import { lockConflict, violatedUniqueKey } from '../database/errors.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { type GrantContent, validityOfGrant } from './grant-content.js';
import { grantsByExternalId, GrantsService } from './grants.service.js';

/** Content with an external ID, by which a repeated grant is recognized. */
export type NamedGrant = GrantContent & { externalId: string };

/** What happened to a grant: it is new, it existed before, or it was refused. */
export type GrantOutcome = 'granted' | 'existing' | Problem;

/** Grants cashback to many customers with few transactions. */
@Injectable()
export class GrantBatchesService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly grants: GrantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Grants a batch in one transaction. It holds the locks of all its wallets until the commit, so keep it small. If the
   * transaction fails, each grant has a transaction of its own.
   *
   * @returns the outcome of each grant, in the same order.
   * @throws Problem not_found for an unknown merchant.
   */
  async grantAll(merchantId: string, batch: readonly NamedGrant[]): Promise<GrantOutcome[]> {
    const policy = await this.merchants.policyOf(merchantId);
    const ids = batch.map(({ externalId }) => externalId);
    const existing = await this.unitOfWork.snapshot((manager) => grantsByExternalId(manager, merchantId, ids));
    const outcomes = new Map<NamedGrant, GrantOutcome>();
    for (const grant of batch) {
      const stored = existing.get(grant.externalId);
      const outcome = outcomeOf(() => {
        if (stored !== undefined) this.grants.refuseDifferences(grant, stored);
        else validityOfGrant(grant, policy, this.clock.now(merchantId));
        return stored === undefined ? 'granted' : 'existing';
      });
      outcomes.set(grant, await outcome);
    }
    const wanted = batch.filter((grant) => outcomes.get(grant) === 'granted');
    const together = firstOfEach(wanted);
    const done = new Set(await this.#grantTogether(merchantId, policy, together));
    for (const grant of wanted.filter((grant) => !done.has(grant))) {
      const alone = outcomeOf(async () => {
        const { replayed } = await this.grants.grant(merchantId, grant);
        return replayed ? 'existing' : 'granted';
      });
      outcomes.set(grant, await alone);
    }
    return batch.map((grant) => outcomes.get(grant)!);
  }

  /** @returns those that were granted: none if another transaction was in the way. */
  async #grantTogether(merchantId: string, policy: Policy, grants: readonly NamedGrant[]): Promise<NamedGrant[]> {
    if (grants.length === 0) return [];
    try {
      const outcomes = await this.unitOfWork.joined((transaction, record) =>
        this.grants.grantAll(
          transaction,
          record,
          grants.map((content) => ({ merchantId, policy, content })),
        ),
      );
      const granted: NamedGrant[] = [];
      const withoutWallet: NamedGrant[] = [];
      const creations: Promise<unknown>[] = [];
      outcomes.forEach((outcome, at) => {
        if (outcome === 'locked' || 'error' in outcome) return;
        ('value' in outcome ? granted : withoutWallet).push(grants[at]!);
        if ('again' in outcome) creations.push(outcome.again());
      });
      await Promise.all(creations);
      return [...granted, ...(await this.#grantTogether(merchantId, policy, withoutWallet))];
    } catch (error) {
      if (lockConflict(error) !== undefined || violatedUniqueKey(error) !== undefined) return [];
      throw error;
    }
  }
}

/** Returns the outcome, or the problem that is thrown. */
async function outcomeOf(attempt: () => GrantOutcome | Promise<GrantOutcome>): Promise<GrantOutcome> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** Of grants with the same external ID, only the first one. The others are compared with it after the commit. */
function firstOfEach(grants: readonly NamedGrant[]): NamedGrant[] {
  const ids = new Set<string>();
  return grants.filter(({ externalId }) => !ids.has(externalId) && ids.add(externalId));
}
