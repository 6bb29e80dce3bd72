import type { By } from '../platform/values/caller.js';

/** What causes entries: the order, the refund and the debit, if there are, who did it, and where. */
export interface EntryCause {
  orderId: string | null;
  refundId?: string | null;
  debitId?: string | null;
  by: By;
  store: string | null;
}

/** What causes entries of an order. */
export type Cause = EntryCause & { orderId: string };
export type RefundCause = Cause & { refundId: string };
export type DebitCause = EntryCause & { debitId: string };

/** What a refund takes back of the credit of its order as soon as other orders do not hold it any more. */
export type Claim = RefundCause & { amountCents: number };

/** Nobody expires cashback, also if a request happens to write it. */
export const BY_DATE: EntryCause = { orderId: null, by: null, store: null };
