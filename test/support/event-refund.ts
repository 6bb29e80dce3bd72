import type { Refund } from './shop.js';

/** A refund as events have it: they do not say whether it can be undone, because that changes. */
export const withoutVoidable = ({ voidable: _, ...refund }: Refund): Omit<Refund, 'voidable'> => refund;
