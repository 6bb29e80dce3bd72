import { Injectable } from '@nestjs/common';
import { readUserNames } from '../auth/user-names.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { exactCents, formatMoney } from '../platform/values/money.js';
import { startOfDay } from '../platform/values/time.js';
import { MAX_ROWS, refuseMany, refusePeriod } from './limits.js';
import { type GrantsReportDto } from './report.dto.js';

const MAX_DAYS = 31;

/**
 * The grants of a part of time, which is that of their IDs, by user and reason. The total is the row without both, and
 * comes first: customers do not add up. A wallet is a customer, also an erased one.
 */
const GRANTS = `
  SELECT * FROM (
    SELECT g.created_by, COALESCE(c.reason, '') AS reason, COUNT(*) AS grants, COUNT(DISTINCT c.wallet_id) AS customers,
           SUM(c.amount_cents) AS amount, SUM(COALESCE(g.voided_cents, 0)) AS voided
      FROM cashback_grants g FORCE INDEX (ix_cashback_grants_merchant)
      JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
     WHERE g.merchant_id = ? AND g.credit_id >= ? AND g.credit_id < ?
     GROUP BY g.created_by, COALESCE(c.reason, '') WITH ROLLUP) x
   WHERE created_by IS NULL OR reason IS NOT NULL
   ORDER BY created_by IS NULL DESC, amount DESC, created_by, reason LIMIT ${MAX_ROWS + 2}`;

const NOTHING = { created_by: null, reason: null, grants: '0', customers: '0', amount: '0', voided: '0' };

type Row = Record<'grants' | 'customers' | 'amount' | 'voided', string> &
  Record<'created_by' | 'reason', string | null>;

/** Reports who granted how much, and why. */
@Injectable()
export class GrantsReportService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
  ) {}

  /** @throws Problem validation_failed for an empty period or one that is too long, and for too many rows. */
  async report(merchantId: string, options: { from: string; to: string }): Promise<GrantsReportDto> {
    refusePeriod(options, MAX_DAYS);
    const { timeZone } = (await this.merchants.get(merchantId)).policy;
    const bounds = [options.from, options.to].map((day) => beforeIdsOf(startOfDay(day, timeZone)));
    return this.unitOfWork.snapshot(async (manager) => {
      const [total = NOTHING, ...rows] = await manager.query<Row[]>(GRANTS, [merchantId, ...bounds]);
      refuseMany(rows, 'to');
      const whoIs = await readUserNames(
        manager,
        rows.map(({ created_by: by }) => by),
      );
      const data = rows.map((row) => ({ by: whoIs(row.created_by)!, reason: row.reason || null, ...figuresOf(row) }));
      return { data, total: figuresOf(total) };
    });
  }
}

const figuresOf = ({ grants, customers, amount, voided }: Row): GrantsReportDto['total'] => ({
  grants: Number(grants),
  customers: Number(customers),
  amount: formatMoney(exactCents(amount)),
  voided: formatMoney(exactCents(voided)),
});
