import { Injectable } from '@nestjs/common';
import { ALL_MERCHANTS } from '../platform/database/by-merchant.js';
import { type SweepProgress, type SweepTask } from '../platform/database/sweep.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { OPERATOR } from '../platform/values/caller.js';
import { newId } from '../platform/values/ids.js';
import { after, Clock, HOUR_MS, MINUTE_MS } from '../platform/values/time.js';

/**
 * IDs begin with the time, so the latest grants are a range of the primary key. Those of a sandbox's clock that stands
 * ahead are later than now.
 */
const GRANTED = `/* ${ALL_MERCHANTS} */
  SELECT COALESCE(SUM(c.amount_cents), 0) AS cents
    FROM cashback_grants g JOIN cashback_credits c ON c.id = g.credit_id AND c.merchant_id = g.merchant_id
   WHERE g.credit_id > ? AND g.credit_id < ? AND g.created_by = '${OPERATOR}'`;

/** Adds up what operators granted. The command line is a process of its own, whose metrics nobody reads. */
@Injectable()
export class OperatorGrantsService implements SweepTask {
  /** What they granted within an hour before this instance last looked, in centavos. */
  cents = 0;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async run(): Promise<SweepProgress> {
    const now = this.clock.now();
    const period = [-HOUR_MS, MINUTE_MS].map((ms) => newId(after(now, ms)));
    const [row] = await this.unitOfWork.statement((manager) => manager.query<{ cents: string }[]>(GRANTED, period));
    this.cents = Number(row?.cents);
    return { hasMore: false };
  }
}
