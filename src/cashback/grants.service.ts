import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { isStorable } from '../common/instants.js';
import { type Fault, Problem, validationFailed } from '../common/problem.js';
import { violatedUniqueKey } from '../database/errors.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { Credit } from './credit.entity.js';
import { Grant } from './grant.entity.js';
import { expiryOf } from './validity.js';
import { Wallet } from './wallet.entity.js';
import { WalletsService } from './wallets.service.js';

export interface GrantOptions {
  /** The idempotency key, unique per merchant. */
  externalId?: string;
  /** When it becomes available. Default: now. */
  availableAt?: Date;
  /** When it expires. Default: after the validity in the merchant's policy. */
  expiresAt?: Date;
  reason?: string;
}

/** Grants cashback that was not earned by an order. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly wallets: WalletsService,
  ) {}

  /**
   * Grants cashback, or returns the grant that already has this external ID. The unique key decides.
   *
   * @returns the credit in its current state, and whether it existed before.
   * @throws Problem not_found for an unknown merchant; validation_failed if it would expire before it could be spent;
   *   external_id_conflict if the grant with this external ID has different content.
   */
  async grant(
    merchantId: string,
    document: string,
    amountCents: number,
    options: GrantOptions,
  ): Promise<{ credit: Credit; replayed: boolean }> {
    const find = (): Promise<Credit | undefined> => this.#findSame(merchantId, document, amountCents, options);
    const existing = await find();
    if (existing !== undefined) return { credit: existing, replayed: true };
    try {
      return { credit: await this.#grant(merchantId, document, amountCents, options), replayed: false };
    } catch (error) {
      const meanwhile = violatedUniqueKey(error) === 'uq_cashback_grants_external_id' ? await find() : undefined;
      if (meanwhile === undefined) throw error;
      return { credit: meanwhile, replayed: true };
    }
  }

  async #grant(merchantId: string, document: string, amountCents: number, options: GrantOptions): Promise<Credit> {
    const { policy } = await this.merchants.get(merchantId);
    return this.unitOfWork.transaction(async (manager, record) => {
      const wallet = await this.wallets.lock(manager, { merchantId, document });
      const { now } = wallet;
      const availableAt = options.availableAt ?? now;
      const expiresAt = options.expiresAt ?? expiryOf(policy, availableAt);
      refuseDates(availableAt, expiresAt, now);
      const credit = wallet.addCredit({ reason: options.reason ?? null }, amountCents, availableAt, expiresAt);
      await this.wallets.save(manager, wallet);
      await insertGrant(manager, merchantId, credit.id, options);
      record({ type: 'cashback.granted', merchantId, creditId: credit.id, amountCents });
      return credit;
    });
  }

  async #findSame(
    merchantId: string,
    document: string,
    amountCents: number,
    options: GrantOptions,
  ): Promise<Credit | undefined> {
    const { externalId } = options;
    if (externalId === undefined) return undefined;
    return this.unitOfWork.snapshot(async (manager) => {
      const grant = await manager.findOneBy(Grant, { merchantId, externalId });
      if (grant === null) return undefined;
      const credit = await manager.findOneByOrFail(Credit, { id: grant.creditId });
      const wallet = await manager.findOneByOrFail(Wallet, { id: credit.walletId });
      // An erased customer has neither a document nor a reason to compare.
      const isErased = !/^\d{11}$/.test(wallet.document);
      const pairs: [string, unknown, unknown][] = [
        ['/document', isErased ? document : wallet.document, document],
        ['/amount', credit.amountCents, amountCents],
        ['/available_at', grant.requestedAvailableAt?.getTime(), options.availableAt?.getTime()],
        ['/expires_at', grant.requestedExpiresAt?.getTime(), options.expiresAt?.getTime()],
        ['/reason', isErased ? options.reason : (credit.reason ?? undefined), options.reason],
      ];
      refuseDifferences(pairs);
      return credit;
    });
  }
}

/** @throws Problem validation_failed. */
function refuseDates(availableAt: Date, expiresAt: Date, now: Date): void {
  const errors: Fault[] = [];
  const outside = 'must be an instant in the years 1970 to 9998';
  if (!isStorable(availableAt)) errors.push({ pointer: '/available_at', detail: outside });
  if (!isStorable(expiresAt)) errors.push({ pointer: '/expires_at', detail: outside });
  else if (expiresAt <= availableAt || expiresAt <= now) {
    errors.push({
      pointer: '/expires_at',
      detail: 'must be later than now and later than the instant at which the cashback becomes available',
    });
  }
  if (errors.length > 0) throw validationFailed(errors);
}

async function insertGrant(
  manager: EntityManager,
  merchantId: string,
  creditId: string,
  { externalId, availableAt, expiresAt }: GrantOptions,
): Promise<void> {
  if (externalId === undefined) return;
  const requested = { requestedAvailableAt: availableAt ?? null, requestedExpiresAt: expiresAt ?? null };
  await manager.insert(Grant, { creditId, merchantId, externalId, ...requested });
}

/** @throws Problem external_id_conflict, which points to each member that differs. */
function refuseDifferences(pairs: [pointer: string, existing: unknown, requested: unknown][]): void {
  const errors: Fault[] = pairs
    .filter(([, existing, requested]) => existing !== requested)
    .map(([pointer]) => ({ pointer, detail: 'differs from the grant with this external_id' }));
  if (errors.length > 0)
    throw new Problem('external_id_conflict', {
      detail: 'a grant with this external_id has different content',
      errors,
    });
}
