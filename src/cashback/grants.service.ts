import { Injectable } from '@nestjs/common';
import { after, DAY_MS } from '../common/clock.js';
import { validationFailed } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Credit } from './credit.entity.js';
import { WalletsService } from './wallets.service.js';

/** Cashback that the operator gives out of goodwill. */
@Injectable()
export class GrantsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly wallets: WalletsService,
  ) {}

  /**
   * @param options from when it can be spent (now, if not said) and until when (the policy's validity).
   * @throws Problem not_found for an unknown merchant; validation_failed if it would expire before it could be spent.
   */
  async grant(
    merchantId: string,
    document: string,
    amountCents: number,
    options: { availableAt?: Date; expiresAt?: Date; reason?: string },
  ): Promise<Credit> {
    const { policy } = await this.merchants.get(merchantId);
    return this.unitOfWork.transaction(async (manager) => {
      const wallet = await this.wallets.lock(manager, { merchantId, document });
      const { now } = wallet;
      const availableAt = options.availableAt ?? now;
      const expiresAt = options.expiresAt ?? after(availableAt, policy.validityDays * DAY_MS);
      if (expiresAt <= availableAt || expiresAt <= now) {
        throw validationFailed([
          { pointer: '/expires_at', detail: 'must be later than now and than the instant from which it can be spent' },
        ]);
      }
      const credit = wallet.addCredit({ reason: options.reason ?? null }, amountCents, availableAt, expiresAt);
      await this.wallets.save(manager, wallet);
      return credit;
    });
  }
}
