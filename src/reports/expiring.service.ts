import { Injectable } from '@nestjs/common';
import { dayOf, firstOfNextMonth } from '../common/calendar-days.js';
import { Clock } from '../common/clock.js';
import { amountsOf, exactCents } from '../common/money.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { ExpiringReportDto } from './dto/report.dto.js';
import { queryNamed } from '../database/named-query.js';
import { ofUnspent } from './unspent.js';

const CREDITS = ofUnspent('c.expires_at AS at, SUM(c.remaining_cents) AS expiring, SUM(c.held_cents) AS held');

interface ExpiringRow {
  at: Date;
  expiring: string;
  held: string;
}

/** Reports what expires in the coming months if nobody spends it. */
@Injectable()
export class ExpiringService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Reports the current month and the following ones in the merchant's time zone. An amount counts in the month in
   * which the ledger will have its expiry: what has expired and is still held or not yet written counts in the current
   * month.
   */
  async report(merchantId: string, { months: count }: { months: number }): Promise<ExpiringReportDto> {
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    const months: string[] = [];
    for (let day = dayOf(this.clock.now(merchantId), timeZone); months.length < count; day = firstOfNextMonth(day))
      months.push(day.slice(0, 7));
    const cents = months.map(() => ({ expiring: 0, held: 0 }));
    const found = await this.unitOfWork.snapshot((manager) =>
      queryNamed<ExpiringRow>(manager, CREDITS, { merchantId }),
    );
    for (const { at, expiring, held } of found) {
      const month = dayOf(at, timeZone).slice(0, 7);
      const sums = cents[month < months[0]! ? 0 : months.indexOf(month)];
      if (sums === undefined) continue;
      sums.expiring = exactCents(sums.expiring + exactCents(expiring));
      sums.held = exactCents(sums.held + exactCents(held));
    }
    return { data: months.map((month, at) => ({ month, ...amountsOf(cents[at]!) })) };
  }
}
