import { Injectable } from '@nestjs/common';
import { expiringByMonth } from '../cashback/expiring.js';
import { Clock } from '../common/clock.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { ExpiringReportDto } from '../wallets/dto/expiring.dto.js';

/** Reports what expires in the coming months if nobody spends it. */
@Injectable()
export class ExpiringService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /** @throws Problem not_found for an unknown merchant. */
  async report(merchantId: string, { months }: { months: number }): Promise<ExpiringReportDto> {
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    const period = { now: this.clock.now(merchantId), timeZone, months };
    return {
      data: await this.unitOfWork.snapshot((manager) => expiringByMonth(manager, { merchantId }, period)),
    };
  }
}
