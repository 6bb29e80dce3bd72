import { GRANT_SUMS, LEDGER_SUMS } from '../cashback/sums.js';
import { type SumsName } from '../merchants/merchant.entity.js';
import { REFUND_SUMS, REFUND_VOID_SUMS, SALES_SUMS } from '../orders/sums.js';
import { type AnyDaySums } from '../platform/database/day-sums.js';

/** All sums by their name. */
export const ALL_SUMS: Readonly<Record<SumsName, AnyDaySums>> = {
  ledger: LEDGER_SUMS,
  grants: GRANT_SUMS,
  sales: SALES_SUMS,
  refunds: REFUND_SUMS,
  refund_voids: REFUND_VOID_SUMS,
};
